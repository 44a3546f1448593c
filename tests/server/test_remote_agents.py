"""Agents without a store: their deliveries are leased over HTTP, and their effects committed there."""

import asyncio
from functools import partial
from typing import Any

import httpx
import pytest
from http_kit import Keys, client_as
from kit import ORDER_ID, events, payments, planner, the_wait, until
from remote_kit import PLACE, adder, doubler, start_remote

from soorma_ai import (
    Agent,
    ConfigError,
    InvocationContext,
    Platform,
    PlatformContext,
    RemoteAgents,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.kernel.domain.identity import AgentRights, Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.server import app
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

DOUBLE = "double.requested"


def of_shop(name: str | None, *takes: str, makes: tuple[str, ...] = (), tenant: str = "shop", **more: Any) -> Caller:
    rights = AgentRights(name, frozenset(takes), frozenset(makes)) if name else None
    return Caller(Person(tenant, "maria", frozenset(more.get("roles", ()))), rights)


async def test_a_remote_tool_and_a_remote_worker_answer_like_local_ones(platform: Platform) -> None:
    heard: list[Any] = []
    listener = Agent("listener")

    @listener.on_event("sum.done", "business-facts")
    async def hear(event: Any, context: PlatformContext) -> None:
        heard.append((event.source, event.data, event.user_id))

    async with start_remote(platform, adder(), doubler(), listener):
        reply = await platform.request("sum.requested", {"numbers": [1, 2, 3]}, timeout=20)
        assert reply["result"] == {"total": 12, "asked": [1, 2, 3]}
        await until(platform, lambda: heard)
    assert heard == [("adder@default", {"total": 12}, "local")]


async def test_a_request_to_a_remote_tool_waits_for_its_approval(platform: Platform) -> None:
    script = [publish("payment.charge.requested", amount=9), complete({"paid": True})]
    async with start_remote(platform, payments(approval="always")):
        await platform.start(planner(script))
        plan = await platform.submit("order.received", {"order_id": "A1"})
        wait = await the_wait(platform)
        assert await platform.answer(wait.wait_id, {"approved": True}) == "accepted"
        assert await plan.result(timeout=20) == {"paid": True}


async def test_a_remote_handlers_requests_are_checked_and_held_beside_the_store(platform: Platform) -> None:
    desk = Worker("desk")

    @desk.on_task("bill.requested")
    async def bill(task: TaskContext[Any], context: PlatformContext) -> None:
        await task.delegate("payment.charge.requested", {"amount": task.data["amount"]}, "charged")

    @desk.on_result("charged")
    async def charged(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete(result.result)

    await platform.start(payments(approval="always"))
    async with start_remote(platform, desk):
        unfit = await platform.request("bill.requested", {"amount": "a lot"}, timeout=20)
        assert (unfit["success"], unfit["error"]["code"]) == (False, "local_protocol")
        asked = await platform.ask("bill.requested", {"amount": 5})
        wait = await the_wait(platform)
        assert (wait.proposed_event, wait.agent) == ("payment.charge.requested", "desk")
        assert await platform.answer(wait.wait_id, {"approved": True}) == "accepted"
        assert (await platform.reply(asked, timeout=20))["result"] == {"charged": 5}


async def test_a_remote_handler_reads_and_writes_the_memory_of_its_plan(platform: Platform) -> None:
    stock, found = Tool("stock"), list[Any]()

    @stock.on_invoke("inventory.reserve.requested", payload_schema=ORDER_ID)
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        found.append(await context.memory.retrieve("seen"))
        await context.memory.store("seen", {"order": request.data["order_id"]})
        await context.memory.increment("count")
        found.append(await context.memory.retrieve("count"))
        plan_id = context.lineage.plan_id
        found.append((await context.tracker.plan_progress(plan_id)).plan_id == plan_id if plan_id else None)
        return {}

    script = [publish("inventory.reserve.requested", order_id="A1"), complete({})]
    async with start_remote(platform, stock):
        await platform.start(planner(script))
        plan = await platform.submit("order.received", {"order_id": "A1"})
        await plan.result(timeout=20)
        assert await platform.memory.everything(plan.plan_id) == {"seen": {"order": "A1"}, "count": 1}
    assert found == [None, 1, True]


async def test_planners_run_beside_the_store(platform: Platform) -> None:
    with pytest.raises(ConfigError, match="orders is a planner: planners and state machines run beside the store"):
        async with start_remote(platform, planner([])):
            pass
    with pytest.raises(ConfigError, match="the URL of the server is missing"):
        RemoteAgents()


async def test_a_delivery_with_an_expired_remote_lease_is_leased_again(platform: Platform, clock: VirtualClock) -> None:
    """A delivery with an expired lease is leased again under another fence, and the first fence commits nothing."""
    await platform.start()
    async with client_as(app(platform)) as http:
        await http.post("/v1/agents", json=registration("doubler", DOUBLE))
        asked = await platform.ask(DOUBLE, {"number": 1})
        first = await next_delivery(platform, http)
        assert (first["attempt"], first["fence"]) == (1, 1)
        assert await lease_deliveries(http) == []
        await clock.advance(LEASE.total_seconds() + 1)
        second = await next_delivery(platform, http)
        assert (second["attempt"], second["fence"]) == (2, 2)
        late = await http.post(place(first, "commit"), json=answer(first, 7))
        assert (late.status_code, late.json()["code"]) == (409, "lease_lost")
        for _ in range(2):  # the reply to the first was lost
            assert (await http.post(place(second, "commit"), json=answer(second, 2))).status_code == 204
        assert (await platform.reply(asked, timeout=5))["result"] == {"double": 2}
        events = await platform.services.store.events.events()
        assert len([one for one in events if one.event.source == "doubler@default"]) == 1


async def test_a_lease_response_lost_on_its_way_is_repeated_and_counts_as_no_attempt(platform: Platform) -> None:
    """As often as allowed; a received lease is not handed out twice, and another process takes no delivery of this
    one."""
    await platform.start()
    async with client_as(app(platform)) as http:
        await http.post("/v1/agents", json=registration("doubler", DOUBLE))
        await platform.ask(DOUBLE, {"number": 1})
        await until(platform, partial(platform.services.store.queue.backlog, 1))
        for fence in range(1, 8):
            lost = await lease_response(http, {"process": "one"})
            assert [(held["attempt"], held["fence"]) for held in lost["deliveries"]] == [(1, fence)]
        assert (await lease_response(http, {"process": "two"}))["deliveries"] == []
        assert (await lease_response(http, {"process": "one", "last": lost["loan"]}))["deliveries"] == []
        (held,) = lost["deliveries"]
        await lease_response(http, {"process": "one", "held": [held["seq"]]})
        committed = await http.post(place({**held, "agent": "doubler"}, "commit"), json=answer(held, 2))
        assert committed.status_code == 204, committed.text


async def test_a_renewed_lease_lasts_and_a_released_one_counts_as_no_attempt(
    platform: Platform, clock: VirtualClock
) -> None:
    await platform.start()
    async with client_as(app(platform)) as http:
        await http.post("/v1/agents", json=registration("doubler", DOUBLE))
        await platform.ask(DOUBLE, {"number": 1})
        held = await next_delivery(platform, http)
        for _ in range(3):
            await clock.advance(LEASE.total_seconds() - 1)
            lease = {"seq": held["seq"], "fence": held["fence"]}
            kept = await http.post("/v1/agents/doubler/deliveries/renew", json={"leases": [lease]})
            assert kept.json() == {"leases": [lease]}
        assert await lease_deliveries(http) == []
        await http.post("/v1/agents/doubler/deliveries/release", json={"leases": [lease]})
        again = await next_delivery(platform, http)
        assert (again["attempt"], again["fence"]) == (1, 2)


async def test_a_remote_agent_finds_its_server_again_after_an_outage(platform: Platform) -> None:
    """The agent's effects from the outage are committed once the server is back."""
    served, is_away = app(platform), asyncio.Event()

    async def between(scope: Any, receive: Any, send: Any) -> None:
        if is_away.is_set():
            raise httpx.ConnectError("nobody there")
        await served(scope, receive, send)

    tool, begun = Tool("slow"), asyncio.Event()

    @tool.on_invoke("slow.requested")
    async def slow(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        is_away.set()
        begun.set()
        return {}

    await platform.start()
    transport = httpx.ASGITransport(between, client=("127.0.0.1", 5000))
    async with RemoteAgents(PLACE, transport=transport) as remote:
        await remote.start(tool)
        asked = await platform.ask("slow.requested", {})
        await asyncio.wait_for(begun.wait(), 10)
        is_away.clear()
        assert (await platform.reply(asked, timeout=20))["success"]


@pytest.mark.parametrize(
    ("caller", "status", "said"),
    [
        (of_shop("doubler", DOUBLE), 200, ""),
        (of_shop(None, roles=["operator"]), 200, ""),
        (of_shop(None), 403, "this token is for no agent"),
        (of_shop(None, roles=["auditor"]), 403, "this token is for no agent"),
        (of_shop("tripler", DOUBLE), 403, "this token is for agent 'tripler'"),
        (of_shop("doubler"), 403, "which its key does not name"),
        (of_shop("doubler", DOUBLE, tenant="rival"), 200, ""),
    ],
)
async def test_a_token_registers_only_agents_within_its_rights(
    platform: Platform, caller: Caller, status: int, said: str
) -> None:
    async with client_as(app(platform, auth=Keys(key=caller)), "key") as http:
        found = await http.post("/v1/agents", json=registration("doubler", DOUBLE))
        assert found.status_code == status, found.text
        assert said in found.text
        assert [
            row.tenant_id for row in await platform.services.store.registry.agents(platform.services.clock.now())
        ] == ([caller.person.tenant_id] if status == 200 else [])


@pytest.mark.parametrize("name", ["soorma", "client", "", "a\nb", "orders@acme"])
async def test_a_remote_agent_cannot_take_the_name_of_another_agent(platform: Platform, name: str) -> None:
    await platform.start(planner([]))
    async with client_as(app(platform)) as http:
        assert (await http.post("/v1/agents", json=registration(name, DOUBLE))).status_code in (403, 409, 422)


@pytest.mark.parametrize(
    ("caller", "status"),
    [
        (of_shop("doubler", DOUBLE), 200),
        (of_shop(None, roles=["operator"]), 200),
        (of_shop(None), 403),
        (of_shop("tripler", DOUBLE), 403),
        (of_shop("doubler", DOUBLE, tenant="rival"), 404),
        (of_shop(None, tenant="rival", roles=["operator"]), 404),
    ],
)
async def test_deliveries_of_an_agent_are_leased_to_its_token_only(
    platform: Platform, caller: Caller, status: int
) -> None:
    await platform.start()
    keys = Keys(own=of_shop("doubler", DOUBLE), key=caller)
    served = app(platform, auth=keys)
    async with client_as(served, "own") as own, client_as(served, "key") as http:
        await own.post("/v1/agents", json=registration("doubler", DOUBLE))
        await platform.as_user(tenant_id="shop", user_id="maria").ask(DOUBLE, {"number": 1})
        held = await next_delivery(platform, own)
        lease = {"leases": [{"seq": held["seq"], "fence": held["fence"]}]}
        for path, body in (
            ("deliveries/lease", {}),
            ("deliveries/renew", lease),
            (f"deliveries/{held['seq']}/{held['fence']}/read", {"read": {"what": "agents"}}),
        ):
            found = await http.post(f"/v1/agents/doubler/{path}", json=body)
            assert found.status_code == status, (path, found.text)
        if status != 200:
            assert (await http.post(place(held, "commit"), json=answer(held, 7))).status_code == status
            assert (await http.post("/v1/agents/doubler/leave")).status_code == status


async def test_an_agent_cannot_act_on_a_delivery_of_another_agent(platform: Platform) -> None:
    """By a valid token of its own, with the row and the fence of the other's delivery guessed."""
    await platform.start()
    keys = Keys(own=of_shop("doubler", DOUBLE), thief=of_shop("thief", "steal.requested", makes=("double.done",)))
    served = app(platform, auth=keys)
    async with client_as(served, "own") as own, client_as(served, "thief") as thief:
        await own.post("/v1/agents", json=registration("doubler", DOUBLE))
        await thief.post("/v1/agents", json=registration("thief", "steal.requested"))
        client = platform.as_user(tenant_id="shop", user_id="maria")
        asked = await client.ask(DOUBLE, {"number": 1})
        held = await next_delivery(platform, own)
        stolen = {**held, "agent": "thief"}
        for what, body in (
            ("commit", answer(held, 7)),
            ("begin", None),
            ("read", {"read": {"what": "pending"}}),
            ("progress", {"report_id": "1", "progress": 1}),
        ):
            found = await thief.post(place(stolen, what), json=body)
            assert (found.status_code, found.json()["code"]) == (409, "lease_lost"), found.text
        assert (await own.post(place(held, "commit"), json=answer(held, 2))).status_code == 204
        assert (await client.reply(asked, timeout=5))["result"] == {"double": 2}


async def test_a_namesake_of_another_tenant_reaches_and_learns_nothing(platform: Platform) -> None:
    """It guesses row and fence, and the reply key; the namesakes of other tenants and the shared agent keep their
    state."""
    shared = doubler()
    await platform.start(shared)
    keys = Keys(
        own=of_shop("doubler", DOUBLE),
        rival=of_shop("doubler", DOUBLE, makes=("double.done",), tenant="rival"),
        boss=of_shop(None, tenant="rival", roles=["operator"]),
    )
    served = app(platform, auth=keys)
    async with client_as(served, "own") as own, client_as(served, "rival") as rival, client_as(served, "boss") as boss:
        assert (await own.post("/v1/agents", json=registration("doubler", DOUBLE))).status_code == 200
        told = [await rival.post("/v1/agents", json=registration("doubler", DOUBLE))]
        client = platform.as_user(tenant_id="shop", user_id="maria")
        await client.ask(DOUBLE, {"number": 1})
        held = await next_delivery(platform, own)
        stolen = {**held, "agent": "doubler"}
        assert await lease_deliveries(rival) == []
        lease = {"leases": [{"seq": held["seq"], "fence": held["fence"]}]}
        told += [await rival.post(place(stolen, "commit"), json=answer(held, 7))]
        told += [await rival.post(place(stolen, "begin"))]
        told += [await rival.post("/v1/agents/doubler/deliveries/release", json=lease)]
        told += [await rival.post("/v1/agents/doubler/deliveries/renew", json=lease)]
        told += [await rival.post("/v1/agents/doubler@shop/deliveries/renew", json=lease)]
        told += [await rival.post("/v1/agents/doubler/confirm"), await boss.get("/v1/dead-letters")]
        told += [await rival.post("/v1/agents/doubler/leave"), await rival.delete("/v1/agents/doubler")]
        told += [await boss.delete("/v1/agents/doubler@shop"), await boss.delete("/v1/agents/doubler")]
        assert [one.status_code for one in told] == [200, 409, 409, 204, 200, 409, 204, 200, 204, 200, 404, 403]
        assert told[4].json() == {"leases": []} and not any("shop" in one.text for one in (*told[:5], *told[6:10]))
        rows = await platform.services.store.registry.agents(platform.services.clock.now())
        assert [(row.agent, row.live) for row in rows] == [("doubler", True), ("doubler@shop", True)]
        assert (await own.post(place(held, "commit"), json=answer(held, 2))).status_code == 204
        replies = [one.event for one in await platform.services.store.events.events() if one.event.answers]
        assert {(one.source, one.tenant_id) for one in replies} == {("doubler", "shop"), ("doubler@shop", "shop")}


@pytest.mark.parametrize(
    "other",
    [
        {"acts": [], "ending": {"end": "handled"}},
        {"acts": [], "ending": {"end": "given_up", "reason": "x"}},
        {"acts": [], "ending": {"end": "put_off", "seconds": 1, "reason": "x"}},
        "another answer",
        "one act more",
    ],
    ids=str,
)
async def test_a_repeated_commit_is_accepted_and_other_acts_after_it_are_refused(
    platform: Platform, other: dict[str, Any] | str
) -> None:
    await platform.start()
    rights = of_shop("doubler", DOUBLE, makes=("fact.made",))
    async with client_as(app(platform, auth=Keys(own=rights)), "own") as http:
        await http.post("/v1/agents", json=registration("doubler", DOUBLE))
        client = platform.as_user(tenant_id="shop", user_id="maria")
        asked = await client.ask(DOUBLE, {"number": 1})
        held = await next_delivery(platform, http)
        fact = {"kind": "publish", "ordinal": 5, "topic": "business-facts", "type": "fact.made", "data": {}}
        match other:
            case "another answer":
                other = answer(held, 7)
            case "one act more":
                other = {**answer(held, 2), "acts": [*answer(held, 2)["acts"], fact]}
            case _:
                assert isinstance(other, dict)
        for _ in range(2):
            assert (await http.post(place(held, "commit"), json=answer(held, 2))).status_code == 204
        before = len(await platform.services.store.events.events())
        refused = await http.post(place(held, "commit"), json=other)
        assert (refused.status_code, refused.json()["code"]) == (409, "lease_lost"), refused.text
        assert "with other acts" in refused.json()["detail"]
        assert (await http.post(place(held, "commit"), json=answer(held, 2))).status_code == 204
        assert len(await platform.services.store.events.events()) == before
        assert (await client.reply(asked, timeout=5))["result"] == {"double": 2}


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ({"kind": "publish", "topic": "business-facts", "type": "order.placed", "data": {}}, "does not name"),
        ({"kind": "keep_task", "state": {}}, "no task in hand"),
        ({"kind": "end_task", "answer": {}}, "no task in hand"),
        ({"kind": "remember", "change": "store", "plan_id": "p-1", "key": "k"}, "no plan of the tree"),
        ({"kind": "declare", "definition": {"event_name": "paid", "topic": "business-facts"}}, "does not name"),
        ({"kind": "save_plan"}, "body/acts"),
    ],
)
async def test_a_commit_with_an_act_beyond_the_agents_rights_is_refused_as_a_whole(
    platform: Platform, act: dict[str, Any], said: str
) -> None:
    await platform.start()
    async with client_as(app(platform, auth=Keys(own=of_shop("doubler", DOUBLE))), "own") as http:
        await http.post("/v1/agents", json=registration("doubler", DOUBLE))
        await platform.as_user(tenant_id="shop", user_id="maria").ask(DOUBLE, {"number": 1})
        held = await next_delivery(platform, http)
        before = len(await platform.services.store.events.events())
        counted = {"ordinal": 5, **act} if act["kind"] in ("publish", "end_task") else act
        body = {"acts": [*answer(held, 2)["acts"], counted], "ending": {"end": "handled"}}
        refused = await http.post(place(held, "commit"), json=body)
        assert refused.status_code == 422 and said in refused.text, refused.text
        assert len(await platform.services.store.events.events()) == before
        assert (await http.post(place(held, "commit"), json=answer(held, 2))).status_code == 204


@pytest.mark.parametrize(
    "read",
    [
        {"what": "plan", "id": "PLAN"},
        {"what": "standing", "id": "PLAN"},
        {"what": "goal_of", "id": "PLAN"},
        {"what": "plans", "root_plan_id": "PLAN"},
        {"what": "plans"},
        {"what": "event", "id": "GOAL"},
        {"what": "events", "root_plan_id": "PLAN"},
        {"what": "handed", "ids": ["GOAL"]},
        {"what": "recall", "id": "PLAN", "key": "secret"},
        {"what": "memory_keys", "id": "PLAN"},
        {"what": "untaken", "root_plan_id": "PLAN"},
        {"what": "sessions"},
    ],
    ids=lambda read: " ".join(map(str, read.values())),
)
@pytest.mark.parametrize("whose", [("shop", "otto"), ("rival", "maria")], ids=str)
async def test_a_remote_handler_reads_nothing_of_other_users_and_tenants(
    platform: Platform, read: dict[str, Any], whose: tuple[str, str]
) -> None:
    tenant_id, user_id = whose
    await platform.start(planner(lambda told: publish(DOUBLE, number=1)))
    served = app(platform, auth=Keys(own=of_shop("doubler", DOUBLE)))
    async with client_as(served, "own") as http:
        await http.post("/v1/agents", json=registration("doubler", DOUBLE))
        await platform.as_user(tenant_id="shop", user_id="maria").ask(DOUBLE, {"number": 1})
        held = await next_delivery(platform, http)
        other = platform.as_user(tenant_id=tenant_id, user_id=user_id)
        plan = await other.submit("order.received", {"order_id": "A1"}, session_id="s-1")
        await other.memory.store("secret", "sesame", plan.plan_id)
        known = {"PLAN": plan.plan_id, "GOAL": plan.goal_id}
        asked = {name: known.get(str(value), value) for name, value in read.items()}
        if "ids" in asked:
            asked["ids"] = [plan.goal_id]
        found = await http.post(place(held, "read"), json={"read": asked})
        if found.status_code == 200:
            assert found.json() in ({"value": None}, {"value": []})
        else:
            assert found.status_code == 404 and "sesame" not in found.text


def registration(name: str, *takes: str) -> dict[str, Any]:
    heard = [{"topic": "action-requests", "event_type": one} for one in takes]
    events = [["takes", {"event_name": one}] for one in takes]
    return {"agents": [{"agent": name, "kind": "tool", "events": events, "subscriptions": heard}]}


async def next_delivery(platform: Platform, http: httpx.AsyncClient) -> dict[str, Any]:
    """Return the one delivery as soon as it arrives: a broker takes its time."""
    (only,) = await until(platform, partial(lease_deliveries, http))
    return only


async def lease_deliveries(http: httpx.AsyncClient, name: str = "doubler") -> list[dict[str, Any]]:
    return [{**one, "agent": name} for one in (await lease_response(http, {}, name))["deliveries"]]


async def lease_response(http: httpx.AsyncClient, room: dict[str, Any], name: str = "doubler") -> dict[str, Any]:
    found = await http.post(f"/v1/agents/{name}/deliveries/lease", json={"limit": 5, **room})
    assert found.status_code == 200, found.text
    loan: dict[str, Any] = found.json()
    return loan


def place(held: dict[str, Any], what: str) -> str:
    return f"/v1/agents/{held['agent']}/deliveries/{held['seq']}/{held['fence']}/{what}"


def answer(held: dict[str, Any], double: int) -> dict[str, Any]:
    event = held["event"]
    said = {
        "kind": "publish",
        "ordinal": 0,
        "topic": "action-results",
        "type": event["responseevent"],
        "correlation_id": event["correlationid"],
        "data": {"success": True, "status": "completed", "result": {"double": double}},
        "answers": True,
    }
    return {"acts": [said], "ending": {"end": "handled"}}


async def test_an_effect_above_the_limit_of_a_commit_is_refused_as_it_is_recorded(platform: Platform) -> None:
    went_on, tool = list[str](), Tool("teller", events_produced=["told"])

    @tool.on_invoke("tell.requested")
    async def tell(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        for number in range(20):
            await context.bus.publish("business-facts", "told", {"text": "x" * request.data["bytes"]})
            went_on.append(f"{number}")
        return {}

    async with start_remote(platform, tool):
        small = await platform.request("tell.requested", {"bytes": 40_000}, timeout=5)
        assert small["success"] and len(went_on) == 20
        large = await platform.request("tell.requested", {"bytes": 400_000}, timeout=5)
    assert went_on[20:] == ["0", "1"]
    assert not large["success"]
    assert "1,048,576 are taken of an agent that runs elsewhere" in str(large["error"])
    told = [row.event for row in await platform.services.store.events.events() if row.event.type == "told"]
    assert len(told) == 20


async def test_a_result_too_large_for_a_commit_is_a_failure_with_its_reason(platform: Platform) -> None:
    tool = Tool("teller")

    @tool.on_invoke("tell.requested")
    async def tell(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"text": "x" * (2**20 - 150)}

    async with start_remote(platform, tool):
        reply = await platform.request("tell.requested", {}, timeout=5)
    assert "are taken of an agent that runs elsewhere" in str(reply["error"])


def _relay_worker(name: str, takes: str, asks: str) -> Worker:
    worker = Worker(name)

    @worker.on_task(takes)
    async def begin(task: TaskContext[Any], context: PlatformContext) -> None:
        await task.delegate(asks, {}, "passed")

    @worker.on_result("passed")
    async def done(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).fail(result.error or "")

    return worker


async def test_a_circle_of_two_remote_processes_is_stopped_by_the_nesting_limit(platform: Platform) -> None:
    async with start_remote(platform, _relay_worker("far", "ping", "pong")):
        await platform.start(_relay_worker("near", "pong", "ping"))
        reply: Any = await platform.request("ping", {}, timeout=60)
    assert "limit_exceeded: max_nesting" in reply["error"]["message"]
    asked = [one for one in await events(platform) if one.topic == "action-requests"]
    assert len(asked) == 17
    assert [one.nesting_left for one in asked] == [None, *range(15, -1, -1)]
