"""Each wire is the provider's own: the product's client asks in it, and reads what is written."""

import http.client
import json
from collections.abc import Iterator
from inspect import signature

import pytest
from offered import branches_of
from wires import WIRES
from wires.form import End, Failed, Question, Reply, Said
from wires.gemini import as_json_schema
from wires.loopback import Loopback

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.domain.history import Ending
from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import RateLimited, SoormaError
from soorma_ai.ports import Message, ModelAnswer, ModelQuestion

WHOLE = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
STEP = {"type": "object", "properties": {"action": {"const": "complete"}, "result": WHOLE}}
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
ASKED = (Message("system", "You decide."), Message("user", "What next?"))
FORMS = ("json_schema", "tools")
KNOWN = [name for name, wire in WIRES.items() if wire.options.keys() <= signature(LiteLLMReasoner).parameters.keys()]
every_wire = pytest.mark.parametrize("name", KNOWN)
every_form = pytest.mark.parametrize("form", FORMS)


class Exchange:
    """One question, and what came of it: `questions` is how the model read it, each time."""

    def __init__(self, name: str, form: str, *replies: Reply) -> None:
        self.wire = WIRES[name]
        self.questions: list[Question] = []
        self._form = form
        self._replies: Iterator[Reply] = iter(replies)

    def _reply(self, model: str, question: Question) -> Reply:
        assert model == "m"
        self.questions.append(question)
        return next(self._replies)

    async def ask(self, *messages: Message) -> ModelAnswer:
        with Loopback(self._reply) as server:
            reasoner = LiteLLMReasoner(
                self.wire.model,
                api_base=server.address("m", self.wire),
                api_key="any",
                mode=self._form,
                sleep=_never,
                **self.wire.options,
            )
            return await reasoner.ask(ModelQuestion(messages or ASKED, SCHEMA))


async def _never(seconds: float) -> None:
    assert seconds == 0


@every_wire
@every_form
async def test_a_question_is_read_and_its_answer_understood(name: str, form: str) -> None:
    exchange = Exchange(name, form, Said(SAID, tokens=(70, 5)))
    answer = await exchange.ask()
    assert (answer.value, answer.ending, answer.fault) == (DECISION, Ending.GOOD, "")
    assert (answer.prompt_tokens, answer.completion_tokens) == (70, 5)
    (question,) = exchange.questions
    assert question.messages == (("system", "You decide."), ("user", "What next?"))
    assert branches_of(question.schema).keys() == {"complete"}
    assert (question.tool is not None) == (form == "tools")
    assert question.size > len(SAID)


@every_wire
@every_form
async def test_of_a_conversation_the_model_sees_its_own_answer(name: str, form: str) -> None:
    exchange = Exchange(name, form, Said(SAID))
    await exchange.ask(*ASKED, Message("assistant", "x"), Message("user", "No."))
    (question,) = exchange.questions
    assert [text for _, text in question.messages] == ["You decide.", "What next?", "x", "No."]
    assert question.shown == "You decide.\nWhat next?\nNo."


@every_wire
@every_form
async def test_an_answer_that_is_cut_says_so(name: str, form: str) -> None:
    answer = await Exchange(name, form, Said(SAID[:9], End.CUT)).ask()
    assert (answer.value, answer.ending) == (None, Ending.CUT)


@every_wire
@every_form
@pytest.mark.parametrize(
    "text", [f"```json\n{SAID}\n```", SAID[:20], SAID.replace('"', "'"), "", '{"step": "{}"}', f"Well: {SAID}"]
)
async def test_what_is_no_object_comes_as_the_provider_can_carry_it(name: str, form: str, text: str) -> None:
    exchange = Exchange(name, form, Said(text))
    answer = await exchange.ask()
    assert answer.text.strip() == exchange.wire.carry(Said(text), exchange.questions[0]).strip()
    assert answer.value == {"step": "{}"} if "{}" in text else answer.value in (None, DECISION)
    assert answer.value is not None or answer.fault


@every_wire
@every_form
@pytest.mark.parametrize("number", [0, 1])
async def test_a_provider_declines_in_its_own_way(name: str, form: str, number: int) -> None:
    declines = WIRES[name].declines
    declined = declines[number % len(declines)]
    if declined.insists:
        answer = await Exchange(name, form, declined.reply).ask()
        assert (answer.value, answer.ending) == (None, Ending.GOOD)
        return
    with pytest.raises(SoormaError, match=declined.because) as told:
        await Exchange(name, form, declined.reply).ask()
    assert told.value.code == declined.code


@every_wire
@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_request_that_failed_is_repeated_at_once(name: str, status: int) -> None:
    exchange = Exchange(name, "json_schema", Failed(status, "try again"), Said(SAID))
    assert (await exchange.ask()).value == DECISION
    assert len(exchange.questions) == 2


@every_wire
async def test_a_provider_that_is_asked_too_often_says_so(name: str) -> None:
    with pytest.raises(RateLimited) as told:
        await Exchange(name, "json_schema", *[Failed(429, "Too many")] * 3).ask()
    assert "Too many" in str(told.value)


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
def test_openapis_dialect_is_read_as_json_schema(schema: JsonObject, meant: JsonObject) -> None:
    assert as_json_schema(schema) == meant


def test_a_path_that_no_wire_has_is_a_fault_of_the_test() -> None:
    def post(address: str) -> None:
        connection = http.client.HTTPConnection(address.split("/")[2], timeout=5)
        connection.request("POST", "/m/v1/embeddings", "{}")
        with pytest.raises(http.client.HTTPException):
            connection.getresponse()
        connection.close()

    with (
        pytest.raises(ValueError, match="which is no path of openai"),
        Loopback(lambda model, question: Said("x")) as server,
    ):
        post(server.address("m", WIRES["openai"]))
