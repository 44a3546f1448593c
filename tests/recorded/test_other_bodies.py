"""Requests through litellm to Bedrock's Converse and OpenAI's Responses: question, form and token limit."""

import json
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from model_kit import DECISION, SAID, Pauses, question

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import Json, JsonObject, follow

AWS = {"aws_access_key_id": "key", "aws_secret_access_key": "key", "aws_region_name": "us-east-1"}
OLDER = "bedrock/converse/anthropic.claude-3-5-sonnet-20240620-v1:0"
NEWER = "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
RESPONSES = "openai/responses/gpt-5"


def converse(body: JsonObject) -> JsonObject:
    tool = follow(body, ["toolConfig", "tools", 0, "toolSpec", "name"], None)
    said: Json = {"toolUse": {"toolUseId": "t", "name": tool, "input": DECISION}} if tool else {"text": SAID}
    return {
        "output": {"message": {"role": "assistant", "content": [said]}},
        "stopReason": "tool_use" if tool else "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
        "metrics": {"latencyMs": 1},
    }


def respond(body: JsonObject) -> JsonObject:
    called: JsonObject = {"type": "function_call", "id": "f", "call_id": "c", "name": "Decision", "arguments": SAID}
    text: Json = {"type": "output_text", "text": SAID, "annotations": []}
    spoken: JsonObject = {"type": "message", "id": "m", "role": "assistant", "content": [text]}
    item: JsonObject = {**(called if body.get("tools") else spoken), "status": "completed"}
    used = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    kept: JsonObject = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "usage": used}  # type: ignore[dict-item]
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [item],
        **kept,
    }


class Provider:
    """A server with both protocols; `seen` are the request bodies."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                provider.seen.append(body)
                raw = json.dumps(converse(body) if "converse" in self.path else respond(body)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def provider() -> Generator[Provider]:
    found = Provider()
    Thread(target=found.http.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.http.shutdown()
    found.http.server_close()


async def body_for(provider: Provider, model: str, mode: str) -> Any:
    base = provider.url + ("/v1" if model == RESPONSES else "")
    more: Any = {"api_key": "key"} if model == RESPONSES else AWS
    answer = await LiteLLMReasoner(model, api_base=base, mode=mode, sleep=Pauses(), **more).ask(question())
    assert (answer.value, answer.ending, answer.paid[:2]) == (DECISION, Ending.GOOD, (10, 5))
    (body,) = provider.seen
    assert "What next?" in json.dumps(body) and "You decide." in json.dumps(body)
    return body


def is_form(schema: Any) -> bool:
    read = json.loads(schema) if isinstance(schema, str) else schema
    return list(read["properties"]) == ["reasoning", "step"] and read["additionalProperties"] is False


@pytest.mark.parametrize(("model", "mode"), [(OLDER, "json_schema"), (OLDER, "tools"), (NEWER, "tools")])
async def test_converse_gets_a_tool(provider: Provider, model: str, mode: str) -> None:
    body = await body_for(provider, model, mode)
    (tool,) = body["toolConfig"]["tools"]
    assert is_form(tool["toolSpec"]["inputSchema"]["json"]) and body["toolConfig"]["toolChoice"]
    assert body["inferenceConfig"] == {"maxTokens": 4096}


async def test_converse_gets_a_schema_if_its_model_accepts_one(provider: Provider) -> None:
    body = await body_for(provider, NEWER, "json_schema")
    told = body["outputConfig"]["textFormat"]
    assert told["type"] == "json_schema" and is_form(told["structure"]["jsonSchema"]["schema"])


async def test_responses_get_a_strict_schema(provider: Provider) -> None:
    body = await body_for(provider, RESPONSES, "json_schema")
    told = body["text"]["format"]
    assert (told["type"], told["strict"], body["max_output_tokens"]) == ("json_schema", True, 4096)
    assert is_form(told["schema"])


async def test_responses_get_one_required_tool(provider: Provider) -> None:
    body = await body_for(provider, RESPONSES, "tools")
    (tool,) = body["tools"]
    assert (tool["name"], body["tool_choice"], body["parallel_tool_calls"]) == ("Decision", "required", False)
    assert is_form(tool["parameters"])


@pytest.mark.parametrize("model", [OLDER, NEWER, RESPONSES])
async def test_the_markdown_form_needs_neither_tool_nor_schema(provider: Provider, model: str) -> None:
    body = await body_for(provider, model, "md_json")
    assert not {"toolConfig", "outputConfig", "tools", "text"} & {name for name, value in body.items() if value}
