"""Data with costly checks, by A2A: other tenants are served meanwhile."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.utils import proto_utils
from a2a_kit import serve_gateway
from http_kit import Keys, caller
from kit import planner, served_meanwhile, stock
from unit.worst_data import KINDS, UNION, items_of

from soorma_ai import EventDefinition, Platform
from soorma_ai.gateways.a2a.large import MOST_VALUES
from soorma_ai.testing.scripted import complete

KEYS = Keys(maria=caller())
HEADERS = {"authorization": "Bearer maria", "A2A-Version": "1.0"}


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncGenerator[Platform]:
    async with Platform(f"sqlite:///{tmp_path / 'a2a.db'}") as opened:
        yield opened


def agent(schema: Any, *script: Any) -> Any:
    return planner(list(script), goals=[EventDefinition(event_name="order.received", payload_schema=schema)])


def call(part: Any, **more: Any) -> dict[str, Any]:
    """Return the JSON-RPC call to send a message of this part."""
    said = {"role": "ROLE_USER", "messageId": "m-1", "parts": [part], **more}
    return {"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": {"message": said}}


async def post_json(url: str, body: Any, path: str = "/a2a") -> Any:
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as http:
        return (await http.post(url + path, json=body)).json()


@pytest.fixture
def checked_objects(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return one item for each protocol object checked by the library."""
    counted: list[int] = []
    inner = proto_utils._validate_proto_required_fields_internal

    def count(message: Any) -> Any:
        counted.append(1)
        return inner(message)

    monkeypatch.setattr(proto_utils, "_validate_proto_required_fields_internal", count)
    return counted


@pytest.mark.parametrize("kind", ["anyOf of 5", "properties that may not be there"])
async def test_other_tenants_are_served_while_a_large_message_is_refused(
    platform: Platform, checked_objects: list[int], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    schema, make = KINDS[kind]
    async with serve_gateway(platform, agent(schema), stock(), auth=KEYS) as url:
        answer, others = await served_meanwhile(platform, post_json(url, call({"data": make(2**19)})), monkeypatch)
    assert "off its schema" in answer["error"]["message"] and answer["id"] == 7
    assert others == 1
    assert len(checked_objects) < 100


@pytest.mark.parametrize("path", ["/a2a", "/a2a/v1/message:send"])
async def test_large_data_arrives_unchanged_and_returns_as_text(platform: Platform, path: str) -> None:
    data = {"items": [{"kind": "a", "v": "x"}] * 4_000, "big": 2**60, "half": 0.5}
    async with serve_gateway(platform, agent(items_of(UNION), complete(data)), stock(), auth=KEYS) as url:
        body = call({"data": data})
        answer = await post_json(url, body if path == "/a2a" else body["params"], path)
        task = answer.get("result", answer)["task"]
        plan = await platform.as_user(tenant_id="shop", user_id="maria").plan(task["id"])
    assert plan.goal_data == data
    (part,) = task["artifacts"][0]["parts"]
    assert part["mediaType"] == "application/json" and part["text"].startswith('{"big":1152921504606846976,')


async def test_a_message_with_too_many_values_outside_its_data_is_refused(platform: Platform) -> None:
    body = call({"text": "x"}, metadata={"many": list(range(MOST_VALUES))})
    async with serve_gateway(platform, agent({"type": "object"}), auth=KEYS) as url:
        by_rpc, by_rest = await post_json(url, body), await post_json(url, body["params"], "/a2a/v1/message:send")
    assert (by_rpc["id"], by_rpc["error"]["code"]) == (7, -32602)
    assert "at most 1,000 values" in by_rpc["error"]["message"]
    assert by_rest["error"]["code"] == 400
