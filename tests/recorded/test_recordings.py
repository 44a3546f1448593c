"""Answers of real providers, sent again unchanged on their own paths: each is read, or is a typed error; and a valid
decision in its place is accepted exactly if its envelope is good."""

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from model_kit import DECISION, SAID, SCHEMA, Pauses, RawServer, question

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.models.direct.transport import Direct
from soorma_ai.adapters.models.faults import BadGeneration, SchemaRejected
from soorma_ai.adapters.models.forms import form_for
from soorma_ai.adapters.models.litellm.transport import ThroughLiteLLM
from soorma_ai.adapters.models.transport import ProviderCall
from soorma_ai.errors import (
    ConfigError,
    ContentFiltered,
    ModelBlocked,
    ModelRefused,
    ModelUnavailable,
    RateLimited,
    SoormaError,
    UnreadableAnswer,
)
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import Json, follow
from soorma_ai.kernel.ports import Message
from soorma_ai.testing.model_server import Reply

FILE = Path(__file__).parents[3] / "shared" / "data" / "recordings-dev" / "recordings.jsonl.gz"
BY_STATUS = {401: ModelBlocked, 403: ModelBlocked, 404: ModelBlocked, 429: RateLimited}
AWS = {"aws_access_key_id": "key", "aws_secret_access_key": "key", "aws_region_name": "us-east-1"}
OPENAI = "openai/gpt-4o"
# Models by the pattern of a recorded URL.
MODELS = {
    r"openai\.azure\.com.*/chat/completions": "azure/gpt-4o",
    r"api\.groq\.com.*/chat/completions": "groq/llama-3.3-70b-versatile",
    r"api\.mistral\.ai.*/chat/completions$": "mistral/mistral-large-latest",
    r"api\.deepseek\.com/chat/completions": "deepseek/deepseek-chat",
    r"openrouter\.ai.*/chat/completions": "openrouter/openai/gpt-4o",
    r"snowflakecomputing.*/chat/completions": "snowflake/mistral-7b",
    r"/chat/completions": OPENAI,
    r"anthropic\.com/v1/messages": "anthropic/claude-sonnet-4-5",
    r":generateContent$": "gemini/gemini-2.5-flash",
    r"/converse$": "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    r"/api/chat$": "ollama_chat/llama3",
}
GOOD = {"stop", "tool_calls", "end_turn", "tool_use", "STOP"}
# litellm returns nothing, or only a start, of a stream of these providers.
UNTOLD = ("azure", "groq", "snowflake")
# Differences of litellm alone: a provider's own tool counts as a call, and one form of calls is not read.
OTHERWISE = {
    "anthropic test_anthropic_advisor_tool_redacted.yaml#0": {"advisor"},
    "snowflake test_snowflake_tool_calling.yaml#0": {ModelUnavailable},
}

needs_recordings = pytest.mark.skipif(not FILE.exists(), reason=f"no recorded answers at {FILE}")


@dataclass(frozen=True)
class Recording:
    row: dict[str, Any]
    model: str
    is_direct: bool

    @property
    def features(self) -> set[str]:
        return set(self.row["expect"]["features"])

    @property
    def reply(self) -> Reply:
        kind = "text/event-stream" if "event-stream" in str(self.row["content_type"]) else "application/json"
        return Reply(status=self.row["status"], raw=self.row["response"], headers={"content-type": kind})

    @property
    def is_stream(self) -> bool:
        return bool(self.features & {"sse_stream", "ndjson_stream"}) or self.row["response"].startswith(": ")

    @property
    def errors(self) -> set[type[BaseException]]:
        """The acceptable error classes of a recording; empty for an answer."""
        if self.row["status"] != 200:
            return {BY_STATUS.get(self.row["status"], ConfigError), SchemaRejected}
        if "refusal" in self.features:
            return {ModelRefused}
        if self.features & {"filtered_or_refused", "prompt_blocked"}:
            return {ContentFiltered}
        if "error_object" in self.features:
            return {ContentFiltered, ModelUnavailable}
        if self.features & {"sse_error_event", "not_json", "empty_body"}:
            return {ModelUnavailable, UnreadableAnswer, BadGeneration}
        if self.is_stream and not self.is_direct and self.model.startswith(UNTOLD):
            return {UnreadableAnswer}
        return set()


def recordings() -> list[Recording]:
    if not FILE.exists():
        return []
    with gzip.open(FILE, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    found: list[Recording] = []
    for row in rows:
        url = (row["url"] or "").partition("#")[0].partition("?")[0]
        model = next((model for part, model in MODELS.items() if re.search(part, url)), None)
        if model is not None:
            found.append(Recording(row, model, is_direct=False))
        if url.endswith("/chat/completions"):
            found.append(Recording(row, OPENAI, is_direct=True))
    return found


def name(recording: Recording) -> str:
    file = recording.row["source"].rpartition("/")[2]
    return f"{recording.model.partition('/')[0]}{' direct' if recording.is_direct else ''} {file}"


def call(recording: Recording, base: str) -> ProviderCall:
    form = form_for("tools", recording.model.partition("/")[0], SCHEMA, direct=recording.is_direct)
    more = AWS if recording.model.startswith("bedrock") else {}
    key = None if more else "key"
    return ProviderCall(recording.model, (Message("user", "x"),), form, base, key, 20.0, 100, more, None, [])


def read(arguments: object) -> object:
    """The arguments of a call: an object, or the same as text."""
    try:
        return json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


@needs_recordings
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("recording", recordings(), ids=name)
async def test_a_recorded_answer_has_its_recorded_calls_or_is_a_typed_error(recording: Recording) -> None:
    transport = Direct() if recording.is_direct else ThroughLiteLLM()
    expect = recording.row["expect"]
    with RawServer(recording.reply) as server:
        try:
            said = await transport.send(call(recording, server.url))
        except (SoormaError, SchemaRejected, BadGeneration) as error:
            assert type(error) in recording.errors | OTHERWISE.get(name(recording), set()), error
            return
    if recording.errors - {ModelRefused, ContentFiltered}:
        assert recording.is_stream, f"read as an answer: {said}"
    besides = OTHERWISE.get(name(recording), set())
    found = [(called, read(arguments)) for called, arguments in said.calls if called not in besides]
    assert found == [(called, read(arguments)) for called, arguments in expect["calls"]]
    assert "sse_stream" not in recording.features or len("".join(said.contents)) == expect["text_chars"]
    told = said.body.finishes if said.body else said.finishes
    assert not isinstance(expect["finish"], str) or expect["finish"] in told


def with_decision(body: Json) -> Json:
    """The answer with a valid decision in place of its content."""
    text: Json = {"text": SAID}
    if follow(body, ["choices", 0, "message"], None) is not None:
        cast(Any, body)["choices"][0]["message"] = {"role": "assistant", "content": SAID}
        cast(Any, body)["choices"] = cast(Any, body)["choices"][:1]
    elif follow(body, ["candidates", 0, "content"], None) is not None:
        cast(Any, body)["candidates"][0]["content"] = {"role": "model", "parts": [text]}
    elif follow(body, ["output", "message"], None) is not None:
        cast(Any, body)["output"]["message"] = {"role": "assistant", "content": [text]}
    elif follow(body, ["stop_reason"], None) is not None:
        cast(Any, body)["content"] = [{"type": "text", "text": SAID}]
    else:
        return None
    return body


@needs_recordings
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("recording", [one for one in recordings() if one.is_direct or one.model != OPENAI], ids=name)
async def test_a_valid_decision_is_accepted_exactly_if_its_envelope_is_good(recording: Recording) -> None:
    try:
        body = with_decision(json.loads(recording.row["response"]))
    except ValueError:
        return
    if body is None:
        return
    is_good = recording.row["status"] == 200 and recording.row["expect"]["finish"] in GOOD
    reply = Reply(status=recording.row["status"], raw=json.dumps(body))
    with RawServer(reply) as server:
        asked = call(recording, server.url)
        way = "direct" if recording.is_direct else "litellm"
        base: dict[str, Any] = {"api_base": asked.base, "api_key": asked.key, **asked.extra}
        model = LiteLLMReasoner(recording.model, transport=way, sleep=Pauses(), **base)
        try:
            answer = await model.ask(question())
        except SoormaError as error:
            assert not is_good, error
            return
    assert (answer.value == DECISION, answer.ending is Ending.GOOD) == (is_good, is_good), answer


@needs_recordings
def test_the_recordings_come_from_many_providers() -> None:
    known = recordings()
    assert len(known) > 120
    assert len({recording.model for recording in known}) >= 10
