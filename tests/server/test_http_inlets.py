"""Endpoints without tokens: webhooks, and the links of questions."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from http_kit import Keys, client_as
from kit import payments, planner, until
from test_user_agent import ANN, CHARGE, LINKS, RecordingChannel, token_of
from test_webhooks import bank, post_of

from soorma_ai import Approval, Platform
from soorma_ai.gateways.user_agent import UserAgent
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.server import Rate, app
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

PAID = {"kind": "paid", "order": "A1"}


@pytest.fixture
async def http(platform: Platform) -> AsyncIterator[httpx.AsyncClient]:
    hook = bank()
    await platform.start(hook)
    async with client_as(app(platform, auth=Keys(), inlets=[hook], rate=Rate(burst=5, per_second=1))) as opened:
        yield opened


async def post(http: httpx.AsyncClient, told: Any, clock: VirtualClock, path: str = "/v1/hooks/bank") -> httpx.Response:
    signed = post_of(told, clock)
    return await http.post(path, content=signed.body, headers=dict(signed.headers))


async def test_a_hook_needs_no_token_but_the_signature_of_its_sender(
    platform: Platform, http: httpx.AsyncClient, clock: VirtualClock
) -> None:
    first, again = await post(http, PAID, clock), await post(http, PAID, clock)
    assert (first.status_code, first.json()) == (again.status_code, again.json()) == (200, first.json())
    assert await platform.services.store.events.event(first.json()["event_id"])
    unsigned = await http.post("/v1/hooks/bank", json=PAID)
    assert (unsigned.status_code, unsigned.json()["code"]) == (401, "unauthenticated")
    assert (await post(http, {**PAID, "order": "A2"}, clock)).status_code == 422


async def test_an_unknown_hook_or_method_is_refused(http: httpx.AsyncClient, clock: VirtualClock) -> None:
    assert (await post(http, PAID, clock, "/v1/hooks/other")).status_code == 404
    refused = await http.get("/v1/hooks/bank")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


async def test_a_long_body_of_a_hook_is_refused_and_its_rate_is_bounded(
    http: httpx.AsyncClient, clock: VirtualClock
) -> None:
    assert (await http.post("/v1/hooks/bank", content=b"x" * (2**20 + 1))).status_code == 413
    statuses = [(await http.post("/v1/hooks/bank", content=b"x")).status_code for _ in range(9)]
    assert 429 in statuses


async def test_a_question_is_answered_by_its_link_alone(platform: Platform) -> None:
    channel = RecordingChannel()
    agent = UserAgent(channel, lambda wait: [ANN], links=LINKS)
    minds = planner([CHARGE, complete({"paid": 1})])
    await platform.start(agent, minds, payments(Approval(approvers=("manager",), timeout=timedelta(days=2))))
    plan = await platform.submit("order.received", {})
    await until(platform, lambda: channel.questions)
    path = f"/v1/answers/{token_of(channel.questions[0])}"
    yes: JsonObject = {"payload": {"approved": True}, "note": "fine"}
    async with client_as(app(platform, auth=Keys(), inlets=[agent])) as http:
        assert (await http.post(path, json={"payload": True})).status_code == 422
        assert (await http.post("/v1/answers/made.up", json=yes)).status_code == 401
        assert (await http.post(path, json=yes)).json()["outcome"] == "accepted"
        assert (await http.post(path, json=yes)).json()["outcome"] == "duplicate"
    assert await plan.result(timeout=5) == {"paid": 1}
