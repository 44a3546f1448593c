"""MCP clients submit goals: the protocol's own client, over a socket, sees goals as tools and plans as resources."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from http_kit import Keys, caller
from kit import payments, planner
from mcp import MCPError
from mcp_kit import PATIENCE, connect_mcp, serve_mcp
from mcp_types import ElicitRequestURLParams, ElicitResult

from soorma_ai import Agent, Approval, EventDefinition, Platform
from soorma_ai.testing import VirtualClock
from soorma_ai.testing.scripted import complete, give_up, publish

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
PAID = {"type": "object", "properties": {"paid": {"type": "integer"}}, "required": ["paid"]}
GOAL = EventDefinition(event_name="order.received", description="Pays.", payload_schema=ORDER, response_schema=PAID)
CHARGE = publish("payment.charge.requested", amount=12)
DONE = complete({"paid": 12})
BY_BOSS = Approval(approvers=("boss",), timeout=timedelta(days=7))
KEYS = Keys(maria=caller(), boss=caller("shop", "bea", "boss"), eve=caller("evil", "eve"))
MODES = ["auto", "legacy"]
A1 = {"order_id": "A1"}


def shop(*script: Any, approval: Approval | None = None, **options: Any) -> tuple[Agent, Agent]:
    options.setdefault("goals", [GOAL])
    return planner(list(script) or [CHARGE, DONE], **options), payments(approval)


class Answers:
    """Elicitation callback: gives one answer to each form, and keeps what it was asked."""

    def __init__(self, action: str, content: Any = None) -> None:
        self.given = ElicitResult.model_validate({"action": action, "content": content})
        self.asked: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return self.given


@pytest.mark.parametrize("mode", MODES)
async def test_a_goal_is_a_tool_with_equal_schemas_and_its_result_is_the_answer(platform: Platform, mode: str) -> None:
    async with serve_mcp(platform, *shop(), auth=KEYS) as url, connect_mcp(url, "maria", mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["order.received", "soorma.plan"]
        offered = tools["order.received"]
        assert (offered.description, offered.input_schema, offered.output_schema) == ("Pays.", ORDER, PAID)
        result = await client.call_tool("order.received", A1)
        assert (result.is_error, result.structured_content) == (False, {"paid": 12})
        assert result.meta is not None
        again = await client.call_tool("soorma.plan", {"plan_id": result.meta["soorma/plan_id"]})
        assert again.structured_content == {"paid": 12}


async def test_a_plain_question_is_a_form_for_the_client(platform: Platform) -> None:
    asks = Answers("accept", {"approved": True})
    async with (
        serve_mcp(platform, *shop(approval=Approval()), auth=KEYS) as url,
        connect_mcp(url, "maria", elicitation_callback=asks) as client,
    ):
        result = await client.call_tool("order.received", A1)
        assert result.structured_content == {"paid": 12}
        (form,) = asks.asked
        assert form.requested_schema["properties"]["approved"] == {"type": "boolean"}
        assert '{"amount":12}' in form.message


async def test_a_declined_form_leaves_the_question_open_and_returns_the_plan(platform: Platform) -> None:
    asks = Answers("decline")
    async with (
        serve_mcp(platform, *shop(approval=Approval()), auth=KEYS) as url,
        connect_mcp(url, "maria", elicitation_callback=asks) as client,
    ):
        result = await client.call_tool("order.received", A1)
        assert (len(asks.asked), result.structured_content["status"]) == (1, "input required")
        maria = platform.as_user(tenant_id="shop", user_id="maria")
        assert [wait.reason for wait in await maria.waits()] == ["confirmation"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_goal_waits_two_days_for_a_person_with_a_role_and_is_asked_again_by_its_id(
    platform: Platform, clock: VirtualClock, mode: str
) -> None:
    asks = Answers("accept")
    async with (
        serve_mcp(platform, *shop(approval=BY_BOSS), auth=KEYS) as url,
        connect_mcp(url, "maria", elicitation_callback=asks, mode=mode) as client,
    ):
        waiting = (await client.call_tool("order.received", A1)).structured_content
        (asked,) = await platform.as_user(tenant_id="shop", user_id="bea", roles={"boss"}).waits()
        assert (waiting["status"], waiting["approvers"]) == ("input required", ["boss"])
        assert waiting["answer_at"] == f"{url}/inbox/{asked.wait_id}"
        links = [one.url for one in asks.asked if isinstance(one, ElicitRequestURLParams)]
        assert links == ([waiting["answer_at"]] if mode == "auto" else [])
        await clock.advance(timedelta(days=2))
        told = (await client.call_tool("soorma.plan", {"plan_id": waiting["plan_id"]})).structured_content
        assert told["status"] == "input required"
        boss = platform.as_user(tenant_id="shop", user_id="bea", roles={"boss"})
        await boss.answer(asked.wait_id, {"approved": True})
        done = await client.call_tool("soorma.plan", {"plan_id": waiting["plan_id"]})
        assert (done.is_error, done.structured_content) == (False, {"paid": 12})


async def test_a_form_cannot_answer_a_question_for_a_role(platform: Platform) -> None:
    asks = Answers("accept", {"approved": True})
    async with (
        serve_mcp(platform, *shop(approval=BY_BOSS), auth=KEYS) as url,
        connect_mcp(url, "maria", elicitation_callback=asks) as client,
    ):
        result = await client.call_tool("order.received", A1)
        assert result.structured_content["status"] == "input required"
        assert len(asks.asked) == 1


async def test_a_goal_with_an_approval_is_asked_again_by_its_own_id(platform: Platform) -> None:
    goal = EventDefinition(event_name="order.received", approval=BY_BOSS)
    async with serve_mcp(platform, *shop(goals=[goal]), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        held = (await client.call_tool("order.received", A1)).structured_content
        boss = platform.as_user(tenant_id="shop", user_id="bea", roles={"boss"})
        (asked,) = await boss.waits()
        await boss.answer(asked.wait_id, {"approved": True})
        done = await client.call_tool("soorma.plan", {"plan_id": held["plan_id"]})
        assert done.structured_content == {"paid": 12}


@pytest.mark.parametrize("mode", MODES)
async def test_goals_and_plans_of_other_tenants_are_invisible(platform: Platform, mode: str) -> None:
    agents = shop(tenant_id="shop")
    async with (
        serve_mcp(platform, *agents, auth=KEYS) as url,
        connect_mcp(url, "maria") as maria,
        connect_mcp(url, "eve", mode=mode) as eve,
    ):
        done = await maria.call_tool("order.received", A1)
        assert done.meta is not None
        plan_id = done.meta["soorma/plan_id"]
        assert [tool.name for tool in (await eve.list_tools()).tools] == ["soorma.plan"]
        with pytest.raises(MCPError, match="there is no tool"):
            await eve.call_tool("order.received", A1)
        seen = await eve.call_tool("soorma.plan", {"plan_id": plan_id})
        assert seen.is_error and "paid" not in str(seen)
        assert (await eve.list_resources()).resources == []
        with pytest.raises(MCPError, match="there is no resource"):
            await eve.read_resource(f"soorma://plans/{plan_id}")


async def test_plans_are_resources_with_their_story(platform: Platform) -> None:
    async with serve_mcp(platform, *shop(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        done = await client.call_tool("order.received", A1)
        (listed,) = (await client.list_resources()).resources
        assert done.meta is not None
        assert listed.uri == f"soorma://plans/{done.meta['soorma/plan_id']}"
        (content,) = (await client.read_resource(listed.uri)).contents
        story = json.loads(content.model_dump()["text"])
        assert (story["goal_event"], story["status"], story["result"]) == ("order.received", "completed", {"paid": 12})
        assert [line["what"] for line in story["lines"]] == ["order.received", "payment.charge.requested"]


async def test_a_failed_plan_and_wrong_data_are_errors_of_the_tool(platform: Platform) -> None:
    async with serve_mcp(platform, *shop(give_up("no stock")), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        failed = await client.call_tool("order.received", A1)
        assert failed.is_error and "no stock" in str(failed.content)
        refused = await client.call_tool("order.received", {"order_id": 7})
        assert refused.is_error and "order_id" in str(refused.content)


async def test_the_same_key_is_the_same_plan(platform: Platform) -> None:
    async with serve_mcp(platform, *shop(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        key: Any = {"soorma/idempotency_key": "once"}
        for _ in range(2):
            await client.call_tool("order.received", A1, meta=key)
        assert len(await platform.as_user(tenant_id="shop", user_id="maria").plans()) == 1


async def test_the_same_call_of_a_rejected_goal_tells_its_rejection(platform: Platform) -> None:
    goal = EventDefinition(event_name="order.received", approval=BY_BOSS)
    boss = platform.as_user(tenant_id="shop", user_id="bea", roles=["boss"])
    async with serve_mcp(platform, *shop(goals=[goal]), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        meta: Any = {"soorma/idempotency_key": "k-1"}
        first = await client.call_tool("order.received", A1, meta=meta)
        [asked] = await boss.waits()
        await boss.answer(asked.wait_id, {"approved": False}, decision="reject", note="too dear")
        again = await client.call_tool("order.received", A1, meta=meta)
        assert (again.is_error, "rejected by bea: too dear" in str(again.content)) == (True, True)
        assert first.meta is not None and again.meta is not None
        assert again.meta["soorma/plan_id"] == first.meta["soorma/plan_id"]


async def test_tools_come_and_go_with_their_agents(platform: Platform, clock: VirtualClock) -> None:
    second = planner([DONE], name="returns", goals=["order.returned"])
    async with serve_mcp(platform, *shop(), auth=KEYS) as url, connect_mcp(url, "maria") as client:
        async with client.listen(tools_list_changed=True) as changes:
            await platform.start(second)
            hearing = asyncio.ensure_future(anext(aiter(changes)))
            async with asyncio.timeout(PATIENCE):
                while not hearing.done():
                    await clock.advance(timedelta(seconds=2))
                    # Real time for the store: the clock does not overtake the heart-beats.
                    await asyncio.wait({hearing}, timeout=0.2)
            assert type(await hearing).__name__ == "ToolsListChanged"
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["order.received", "order.returned", "soorma.plan"]


async def test_only_chosen_goals_are_offered(platform: Platform) -> None:
    agents = shop(goals=[GOAL, "order.returned"])
    async with (
        serve_mcp(platform, *agents, auth=KEYS, goals=["order.returned"]) as url,
        connect_mcp(url, "maria") as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["order.returned", "soorma.plan"]


async def test_a_caller_without_a_token_is_refused(platform: Platform) -> None:
    async with serve_mcp(platform, *shop(), auth=KEYS) as url, httpx.AsyncClient() as http:
        assert (await http.post(f"{url}/mcp", json={})).status_code == 401
