"""Each wire is the provider's own: the product's client writes requests in it, and reads its answers."""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from typing import Any, Self

import pytest
from offered import branches_of
from wires import WIRES
from wires.form import End, FailedRequest, Question, Reply, ScriptedAnswer
from wires.gemini import as_json_schema
from wires.loopback import Loopback

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.errors import RateLimited, SoormaError
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Message, ModelAnswer, ModelQuestion
from soorma_ai.kernel.ports.model import Mode

WHOLE: JsonObject = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
STEP: JsonObject = {"type": "object", "properties": {"action": {"const": "complete"}, "result": WHOLE}}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "step": {"anyOf": [{**STEP, "required": ["action", "result"], "additionalProperties": False}]},
    },
    "required": ["reasoning", "step"],
    "additionalProperties": False,
}
DECISION: JsonObject = {"reasoning": "done", "step": {"action": "complete", "result": {"total": 3}}}
SAID = json.dumps(DECISION)
TEXTS: dict[str, Any] = {
    f"```json\n{SAID}\n```": DECISION,
    f"Well: {SAID}": DECISION,
    '{"step": "{}"}': {"step": "{}"},
    SAID[:20]: None,
    SAID.replace('"', "'"): None,
    "": None,
}
ASKED = (Message("system", "You decide."), Message("user", "What next?"))
FORMS = ("json_schema", "tools")
every_wire = pytest.mark.parametrize("name", WIRES)
every_form = pytest.mark.parametrize("form", FORMS)


class Provider:
    """A provider, and the product's client of it: `questions` are the requests as read by the model."""

    def __init__(self, name: str, form: Mode) -> None:
        self.wire = WIRES[name]
        self.questions: list[Question] = []
        self._form: Mode = form
        self._replies: Iterator[Reply] = iter(())
        self._server = Loopback(self._reply)

    def __enter__(self) -> Self:
        self._server.__enter__()
        self._reasoner = LiteLLMReasoner(
            self.wire.model,
            api_base=self._server.address("m", self.wire),
            api_key="any",
            mode=self._form,
            sleep=_never,
            **self.wire.options,
        )
        return self

    def __exit__(self, *ended: Any) -> None:
        self._server.__exit__(*ended)

    def _reply(self, model: str, question: Question) -> Reply:
        assert model == "m"
        self.questions.append(question)
        return next(self._replies)

    async def ask(self, *replies: Reply, more: tuple[Message, ...] = ()) -> ModelAnswer:
        self._replies = iter(replies)
        return await self._reasoner.ask(ModelQuestion((*ASKED, *more), SCHEMA))


async def _never(seconds: float) -> None:
    assert seconds == 0


@every_wire
@every_form
async def test_a_question_and_its_answer_pass_each_wire_unchanged(name: str, form: Mode) -> None:
    with Provider(name, form) as provider:
        answer = await provider.ask(ScriptedAnswer(SAID, tokens=(70, 5)))
        await provider.ask(ScriptedAnswer(SAID), more=(Message("assistant", "x"), Message("user", "No.")))
    assert (answer.value, answer.ending, answer.fault) == (DECISION, Ending.GOOD, "")
    assert (answer.prompt_tokens, answer.completion_tokens) == (70, 5)
    question, again = provider.questions
    assert question.messages == (("system", "You decide."), ("user", "What next?"))
    assert branches_of(question.schema).keys() == {"complete"}
    assert (question.tool is not None) == (form == "tools")
    assert question.size > len(SAID)
    assert [text for _, text in again.messages] == ["You decide.", "What next?", "x", "No."]
    assert again.shown == "You decide.\nWhat next?\nNo."


@every_wire
@every_form
async def test_a_cut_or_malformed_answer_arrives_in_the_providers_form(name: str, form: Mode) -> None:
    with Provider(name, form) as provider:
        cut = await provider.ask(ScriptedAnswer(SAID[:9], End.CUT))
        answers = [await provider.ask(ScriptedAnswer(text)) for text in TEXTS]
    assert (cut.value, cut.ending) == (None, Ending.CUT)
    for text, question, answer in zip(TEXTS, provider.questions[1:], answers, strict=True):
        assert answer.text.strip() == provider.wire.carry(ScriptedAnswer(text), question).strip()
        assert answer.value == TEXTS[text]
        assert answer.value is not None or answer.fault


@every_wire
@every_form
async def test_each_way_of_a_provider_to_decline_is_understood(name: str, form: Mode) -> None:
    with Provider(name, form) as provider:
        for declined in provider.wire.declines:
            if declined.insists:
                answer = await provider.ask(declined.reply)
                assert (answer.value, answer.ending) == (None, Ending.GOOD)
                assert re.search(declined.because, answer.fault)
                continue
            with pytest.raises(SoormaError, match=declined.because) as told:
                await provider.ask(declined.reply)
            assert told.value.code == declined.code


@every_wire
async def test_a_failed_request_is_repeated_at_once_within_its_limit(name: str) -> None:
    with Provider(name, "json_schema") as provider:
        for asked, status in enumerate((429, 500, 502, 503), 1):
            assert (await provider.ask(FailedRequest(status, "try again"), ScriptedAnswer(SAID))).value == DECISION
            assert len(provider.questions) == 2 * asked
        with pytest.raises(RateLimited, match="Too many"):
            await provider.ask(*[FailedRequest(429, "Too many")] * 3)


@pytest.mark.parametrize(
    ("schema", "meant"),
    [
        ({"type": "STRING", "enum": ["A"]}, {"type": "string", "enum": ["A"]}),
        ({"type": "INTEGER", "nullable": True}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ({"type": "ARRAY", "items": {"type": "BOOLEAN"}}, {"type": "array", "items": {"type": "boolean"}}),
        (
            {"type": "OBJECT", "properties": {"type": {"type": "NUMBER"}}, "required": ["type"]},
            {"type": "object", "properties": {"type": {"type": "number"}}, "required": ["type"]},
        ),
    ],
)
def test_a_schema_in_openapis_dialect_is_read_as_json_schema(schema: JsonObject, meant: JsonObject) -> None:
    assert as_json_schema(schema) == meant


def test_a_client_hanging_up_in_its_request_is_no_fault() -> None:
    with Loopback(lambda model, question: ScriptedAnswer("x")) as server:
        port = int(server.address("m", WIRES["openai"]).split("/")[2].partition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(b"POST /m/v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""


def test_a_path_without_a_wire_is_a_fault_of_the_test() -> None:
    def post(address: str) -> None:
        connection = http.client.HTTPConnection(address.split("/")[2], timeout=5)
        connection.request("POST", "/m/v1/embeddings", "{}")
        with pytest.raises(http.client.HTTPException):
            connection.getresponse()
        connection.close()

    with (
        pytest.raises(ValueError, match="which is no path of openai"),
        Loopback(lambda model, question: ScriptedAnswer("x")) as server,
    ):
        post(server.address("m", WIRES["openai"]))
