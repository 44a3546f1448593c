"""Answers that real providers gave, sent again as they were: each is understood, and only our errors come out."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from model_kit import always, question, reasoner

from soorma_ai.domain.history import Ending
from soorma_ai.errors import ConfigError, ContentFiltered, ModelRefused, ModelUnavailable, RateLimited, SoormaError
from soorma_ai.testing.model_server import ModelServer, Reply

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "recordings-dev"
FILE = FOLDER / "recordings.jsonl.gz"
ANSWER = "answer"
BY_STATUS = {401: ConfigError, 403: ConfigError, 404: ConfigError, 429: RateLimited}

needs_recordings = pytest.mark.skipif(not FILE.exists(), reason=f"no recorded answers at {FILE}")


def recordings() -> list[dict[str, Any]]:
    """Those in the OpenAI wire format; each comes as its url says."""
    if not FILE.exists():
        return []
    with gzip.open(FILE, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if "/chat/completions" in (row["url"] or "")]


def has_own_shape(row: dict[str, Any]) -> bool:
    """Snowflake's calls are custom calls as well: litellm reads them only as the provider they are from."""
    return row["provider"] == "snowflake" and "tool_call" in row["expect"]["features"]


def expected(row: dict[str, Any]) -> set[object]:
    """The classes a reader of the recording would accept; ANSWER is an answer, of whatever use."""
    features = set(row["expect"]["features"])
    if row["status"] != 200:
        return {BY_STATUS[row["status"]]}
    if "refusal" in features:
        return {ModelRefused}
    if "filtered_or_refused" in features:
        return {ContentFiltered}
    if "error_object" in features:
        return {ContentFiltered, ModelUnavailable}
    if features & {"sse_stream", "sse_error_event", "not_json"}:
        return {ModelUnavailable}
    return {ANSWER, ModelUnavailable} if has_own_shape(row) else {ANSWER}


def reply_of(row: dict[str, Any]) -> Reply:
    kind = "text/event-stream" if "event-stream" in str(row["content_type"]) else "application/json"
    return Reply(status=row["status"], raw=row["response"], headers={"content-type": kind})


@needs_recordings
@pytest.mark.parametrize("mode", ["json_schema", "tools"])
@pytest.mark.parametrize("row", recordings(), ids=lambda row: row["source"].rpartition("/")[2])
async def test_a_recorded_answer_is_understood(row: dict[str, Any], mode: str) -> None:
    features = set(row["expect"]["features"])
    with ModelServer(always(reply_of(row))) as server:
        try:
            answer = await reasoner(server, mode=mode).ask(question())
        except SoormaError as error:
            assert type(error) in expected(row), error
            return
    assert ANSWER in expected(row)
    assert (answer.value is None) == bool(answer.fault)
    if "truncated" in features:
        assert "cut off" in answer.fault
    elif answer.ending is Ending.ODD:
        assert "absent" in answer.fault
    elif mode == "json_schema" and "json_text" in features:
        assert answer.value == json.loads(answer.text)
    elif mode == "json_schema" or not row["expect"]["calls"]:
        assert answer.fault or answer.found
    else:
        assert repr(row["expect"]["calls"][0][0]) in answer.fault


@needs_recordings
async def test_the_arguments_of_recorded_calls_are_found() -> None:
    found = 0
    for row in recordings():
        if len(row["expect"]["calls"]) != 1 or row["status"] != 200 or has_own_shape(row):
            continue
        try:
            body = json.loads(row["response"])
        except ValueError:
            continue
        function = body["choices"][0]["message"]["tool_calls"][0]["function"]
        function["name"] = "Decision"
        with ModelServer(always(Reply(raw=json.dumps(body)))) as server:
            answer = await reasoner(server, mode="tools").ask(question())
        assert answer.value == json.loads(function["arguments"]), row["source"]
        found += 1
    assert found >= 10
