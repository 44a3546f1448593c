"""The task endpoint of the seed documents: a task is posted, and posted again to answer its question."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a_kit import PATIENCE, serve_gateway
from http_kit import Keys, caller
from kit import payments, planner

from soorma_ai import Agent, Approval, EventDefinition, Platform
from soorma_ai.adapters.tokens import FirstOf
from soorma_ai.kernel.domain.identity import Caller, TokenSources
from soorma_ai.testing.scripted import complete, publish

CHARGE = publish("payment.charge.requested", amount=12)
DONE = complete({"paid": 12})
KEYS = Keys(maria=caller())
DISCOVERY = "https://issuer.example/.well-known/openid-configuration"


def shop(*script: Any, **options: Any) -> tuple[Agent, Agent]:
    return planner(list(script) or [CHARGE, DONE], **options), payments(Approval())


@asynccontextmanager
async def drawn_endpoint(
    platform: Platform, *agents: Agent
) -> AsyncGenerator[Callable[..., Awaitable[httpx.Response]]]:
    """Yield a function to post message parts to the drawn endpoint, all of one task."""
    async with (
        serve_gateway(platform, *agents, auth=KEYS) as url,
        httpx.AsyncClient(base_url=url, headers={"authorization": "Bearer maria"}, timeout=PATIENCE) as http,
    ):

        async def send(*parts: Any, **fields: Any) -> httpx.Response:
            message = {"role": "user", "parts": list(parts)}
            return await http.post("/tasks/send", json={"id": "t1", "message": message, **fields})

        yield send


class Issued:
    """Authenticator of one issuer's tokens."""

    token_sources = TokenSources(("https://issuer.example/",), has_keys=False)

    async def authenticate(self, token: str) -> Caller:
        return await KEYS.authenticate(token)


@pytest.mark.parametrize(
    ("auth", "early", "names"),
    [
        (None, {"schemes": ["none"]}, None),
        (KEYS, {"schemes": ["apiKey"]}, {"bearer"}),
        (Issued(), {"schemes": ["oauth2"], "credentials": DISCOVERY}, {"bearer", "openid"}),
        (FirstOf(KEYS, Issued()), {"schemes": ["oauth2", "apiKey"], "credentials": DISCOVERY}, {"bearer", "openid"}),
    ],
)
async def test_cards_name_the_issuer_of_signed_tokens_by_its_discovery_url(
    platform: Platform, auth: Any, early: dict[str, Any], names: set[str] | None
) -> None:
    async with serve_gateway(platform, *shop(), auth=auth) as url, httpx.AsyncClient(base_url=url) as http:
        assert (await http.get("/.well-known/agent.json")).json()["authentication"] == early
        card = (await http.get("/.well-known/agent-card.json")).json()
        assert card.get("securitySchemes", {}).keys() == (names or set())
        needed = [set(one["schemes"]) for one in card.get("securityRequirements", [])]
        assert needed == [{name} for name in sorted(names or ())]
        if names and "openid" in names:
            scheme = card["securitySchemes"]["openid"]["openIdConnectSecurityScheme"]
            assert scheme == {"openIdConnectUrl": DISCOVERY}


ORDER = {"type": "data", "data": {"order_id": "A1"}}
YES = {"type": "text", "text": "approve"}


def question_in(answer: httpx.Response) -> dict[str, Any]:
    assert answer.json()["status"] == "input-required"
    return answer.json()["message"]["parts"][-1]["data"]


async def test_the_drawn_endpoint_takes_a_task_and_waits_for_its_answer(platform: Platform) -> None:
    async with drawn_endpoint(platform, *shop()) as send:
        first = await send(ORDER)
        assert (await send(ORDER)).json() == first.json()
        ended = (await send(YES, metadata={"wait_id": question_in(first)["wait_id"]})).json()
        assert (ended["status"], ended["message"]["parts"][0]["data"]["paid"]) == ("completed", 12)
        assert (await send({"type": "file"})).status_code == 400
        assert (await send(message=None)).status_code == 400


async def test_the_drawn_endpoint_approves_only_the_named_question_and_once(platform: Platform) -> None:
    agents = shop(CHARGE, publish("payment.charge.requested", amount=9999), DONE)
    async with drawn_endpoint(platform, *agents) as send:
        first = question_in(await send(ORDER))["wait_id"]
        refused = await send(YES)
        assert refused.status_code == 400
        assert first in refused.text
        again = [question_in(await send(YES, metadata={"wait_id": first})) for _ in range(2)]
        assert [one["proposed_data"] for one in again] == 2 * [{"amount": 9999}]
        assert (await send(YES, metadata={"wait_id": again[0]["wait_id"]})).json()["status"] == "completed"


async def test_the_drawn_endpoint_knows_a_goal_approved_with_an_edit(platform: Platform) -> None:
    goal = EventDefinition(event_name="order.received", approval=Approval())
    async with drawn_endpoint(platform, *shop(goals=[goal])) as send:
        asked = question_in(await send(ORDER))
        edit = {"type": "data", "data": {"approved": True, "data": {"order_id": "B2"}}}
        paying = await send(edit, metadata={"wait_id": asked["wait_id"], "decision": "edit"})
        assert question_in(paying)["proposed_data"] == {"amount": 12}
        assert (await send(ORDER)).json() == paying.json()
