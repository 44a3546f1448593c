import json
from typing import Any

import pytest

from soorma_ai.api.clients.messages import HttpResponse, Page, delete, get, post, spell
from soorma_ai.errors import LocalProtocolError, RemoteProtocolError
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.values import Json


def test_a_query_leaves_out_missing_values() -> None:
    asked = spell({"live": False, "limit": 5, "after": None, "wait": 29.99999999, "name": ""})
    assert asked == {"live": "false", "limit": "5", "wait": "30.000", "name": ""}


@pytest.mark.parametrize(
    ("request_", "is_safe"),
    [
        (get("plans"), True),
        (delete("agents", "stock"), False),
        (post("plans", "p", "cancel", body={}), False),
        (post("plans", body={}, key="click"), True),
        (post("discover", body={}, is_safe=True), True),
    ],
)
def test_only_a_read_or_a_request_with_a_key_may_be_sent_again(request_: Any, is_safe: bool) -> None:
    assert request_.is_safe is is_safe


def test_a_body_is_sent_as_json_and_a_key_as_a_header() -> None:
    request = post("plans", body={"goal": "é", "planner": None}, key="click")
    assert json.loads(request.body or b"") == {"goal": "é", "planner": None}
    assert request.headers == {"content-type": "application/json", "idempotency-key": "click"}


@pytest.mark.parametrize("key", ["", "a\nb", "é", "x" * 201])
def test_a_key_unfit_for_a_header_is_refused(key: str) -> None:
    with pytest.raises(LocalProtocolError, match="idempotency_key"):
        post("plans", body={}, key=key)


def deep(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [float("inf"), float("nan"), "\ud800", deep(2_000)], ids=["inf", "nan", "text", "deep"]
)
def test_a_value_no_server_can_store_is_not_sent(value: Json) -> None:
    with pytest.raises(LocalProtocolError, match="cannot be kept"):
        post("plans", body={"data": value})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"items": 5}',
        b'{"items": [{"plan_id": 1}]}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"items":[]',
    ],
)
def test_an_unreadable_answer_is_a_remote_protocol_error(body: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="none that this version reads"):
        HttpResponse(200, {}, body).read(Page[PlanSummary])


def test_unknown_fields_of_a_newer_servers_answer_are_ignored() -> None:
    page = HttpResponse(200, {}, b'{"items": [], "next": null, "newer": {"a": 1}}').read(Page[PlanSummary])
    assert page == Page[PlanSummary](items=[])
