"""Events, requests, the registry, memory and letters, each as its Python call."""

from typing import Any

import pytest
from http_kit import Keys, caller, client_as, local
from kit import payments, planner, stock, the_wait, until
from msgspec.structs import force_setattr

from soorma_ai import (
    AgentCapability,
    Approval,
    EventDefinition,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.server import app
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, wait

RESERVE = {"event_type": "inventory.reserve.requested", "data": {"order_id": "A1"}}
CHARGE = {"event_type": "payment.charge.requested", "data": {"amount": 9}}
ORDER = {"goal": "order.received", "data": {"order_id": "A1"}}


def desk() -> Worker:
    """Return a worker waiting for the answer to a request of its own."""
    worker = Worker("desk")

    @worker.on_task("order.pack.requested")
    async def pack(task: TaskContext[Any], context: PlatformContext) -> None:
        await task.delegate("nobody.takes.it", {"order_id": "A1"}, "never.comes", timeout=600)

    @worker.on_result("never.comes")
    async def join(result: ResultContext, context: PlatformContext) -> None: ...

    return worker


def broken() -> Tool:
    tool = Tool("broken")

    @tool.on_invoke("till.open.requested")
    async def open_till(request: InvocationContext, context: PlatformContext) -> None:
        raise ValueError("it is jammed")

    return tool


async def test_a_request_is_answered_at_once_or_later_by_its_id(platform: Platform) -> None:
    await platform.start(stock())
    async with local(platform) as http:
        at_once = await http.post("/v1/requests?wait=10", json=RESERVE)
        assert (at_once.status_code, at_once.json()["result"]) == (200, {"reserved": "A1"})
        taken = await http.post("/v1/requests", json=RESERVE)
        assert taken.status_code == 202
        reply = await http.get(f"/v1/requests/{taken.json()['request_id']}?wait=10")
        assert (reply.status_code, reply.json()["result"]) == (200, {"reserved": "A1"})
        assert (await http.get("/v1/requests/nobody")).status_code == 404
        none = await http.post("/v1/requests", json={"event_type": "nobody.takes.it"})
        assert (none.status_code, none.json()["code"]) == (404, "not_found")
        unfit = await http.post("/v1/requests", json={"event_type": RESERVE["event_type"], "data": {}})
        assert unfit.status_code == 422


async def test_a_request_under_one_key_is_one_request(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(payments(charged=charged))
    async with local(platform) as http:
        for _ in range(3):
            reply = await http.post("/v1/requests?wait=10", json=CHARGE, headers={"Idempotency-Key": "k"})
            assert reply.json()["result"] == {"charged": 9}
        assert charged == [9]
        for key in (b"", "ä".encode(), b"x" * 201):
            assert (await http.post("/v1/requests", json=CHARGE, headers={"Idempotency-Key": key})).status_code == 422


@pytest.mark.parametrize("way", ["requests", "events", "plans"])
async def test_a_call_in_need_of_approval_is_held_and_names_its_wait(platform: Platform, way: str) -> None:
    gate = Approval(approvers=("manager",))
    goal = EventDefinition(event_name="order.received", approval=gate)
    await platform.start(planner([complete({})], goals=[goal]), payments(gate), stock())
    bodies = {"requests": CHARGE, "events": {"topic": "action-requests", **CHARGE}, "plans": ORDER}
    keys = Keys(jo=caller("default", "jo"), boss=caller("default", "boss", "manager"))
    served = app(platform, auth=keys)
    async with client_as(served, "jo") as jo, client_as(served, "boss") as boss:
        held = await jo.post(f"/v1/{way}", json=bodies[way])
        assert held.status_code == 202
        wait_id = held.json()["wait_id"]
        refused = await jo.post(f"/v1/waits/{wait_id}/answer", json={"payload": {"approved": True}})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
        assert (await boss.post(f"/v1/waits/{wait_id}/answer", json={"payload": {"approved": True}})).status_code == 200
        if way == "requests":
            reply = await jo.get(f"/v1/requests/{held.json()['request_id']}?wait=10")
            assert reply.json()["result"] == {"charged": 9}
        passed = await boss.post(f"/v1/{way}", json={**bodies[way], "approve": True})
        assert passed.status_code in (201, 202) and passed.json().get("wait_id") is None


async def test_an_event_is_published_and_found_in_the_log(platform: Platform) -> None:
    async with local(platform) as http:
        fact = {"topic": "business-facts", "event_type": "shop.opened", "data": {"hour": 9}}
        made = await http.post("/v1/events", json=fact, headers={"Idempotency-Key": "today"})
        again = await http.post("/v1/events", json=fact, headers={"Idempotency-Key": "today"})
        assert made.status_code == 201 and made.json() == again.json()
        for hour in range(4):
            await http.post("/v1/events", json={**fact, "data": {"hour": hour}})
        first = (await http.get("/v1/events?limit=2")).json()
        rest = (await http.get(f"/v1/events?after={first['next']}")).json()
        assert [row["event"]["data"]["hour"] for row in first["items"] + rest["items"]] == [9, 0, 1, 2, 3]
        assert rest["next"] is None
        assert (await http.get("/v1/events?event_type=shop.closed")).json()["items"] == []
        forged = await http.post(
            "/v1/events", json={"topic": "notification-events", "event_type": "notification.human_input"}
        )
        assert forged.status_code == 422


async def test_agents_and_their_events_are_found_and_exported(platform: Platform, clock: VirtualClock) -> None:
    tool = stock()
    tool.capabilities = (
        *tool.capabilities,
        AgentCapability(
            task_name="reservation", consumed_event=EventDefinition(event_name="inventory.reserve.requested")
        ),
    )
    await platform.start(tool, payments())
    async with local(platform) as http:
        agents = (await http.get("/v1/agents?limit=1")).json()
        assert [one["name"] for one in agents["items"]] == ["payments"]
        assert [one["name"] for one in (await http.get("/v1/agents?after=payments")).json()["items"]] == ["stock"]
        assert (await http.get("/v1/agents/stock")).json()["kind"] == "tool"
        assert (await http.get("/v1/agents/nobody")).status_code == 404
        found = (await http.post("/v1/discover", json={"requirements": ["reservation"]})).json()["agents"]
        assert [one["name"] for one in found] == ["stock"]
        owned = (await http.get("/v1/events/definitions?owner=payments")).json()["items"]
        assert [one["definition"]["event_name"] for one in owned] == ["payment.charge.requested"]
        shown = await http.get("/v1/events/definitions/payment.charge.requested")
        assert shown.json()["payload_schema"]["required"] == ["amount"]
        assert (await http.get("/v1/events/definitions/nothing")).status_code == 404
        lives = await http.delete("/v1/agents/stock")
        assert lives.status_code == 403  # all tenants share it
        document = (await http.get("/v1/asyncapi.json")).json()
        assert document["asyncapi"] == "3.1.0" and len(document["channels"]) == 2


async def test_memory_of_a_plan_is_written_read_and_removed(platform: Platform) -> None:
    await platform.start(planner([wait("user.replied")], external_events=["user.replied"]))
    async with local(platform) as http:
        made = (await http.post("/v1/plans", json={**ORDER, "session_id": "s1"})).json()
        plan_id, way = made["plan_id"], f"/v1/working-memory/{made['plan_id']}"
        await the_wait(platform)
        assert (await http.post(way, json={"key": "a/b", "value": [1]})).status_code == 200
        assert (await http.get(f"{way}/a/b")).json() == {"key": "a/b", "value": [1]}
        await http.post(way, json={"key": "none", "value": None})
        assert (await http.get(f"{way}/none")).json()["value"] is None
        assert (await http.get(f"{way}/nothing")).status_code == 404
        context = {"plan_id": plan_id, "context": {"x": 1, "y": 2}}
        assert (await http.post("/v1/memory/plan-context", json={**context, "session_id": "s2"})).status_code == 422
        assert (await http.post("/v1/memory/plan-context", json=context)).status_code == 200
        assert (await http.get(way)).json()["keys"] == ["a/b", "none", "x", "y"]
        shown = (await http.get(f"/v1/memory/plan-context/{plan_id}")).json()
        assert (shown["status"], shown["state"]["y"]) == ("paused", 2)
        by_key = await http.get(f"/v1/memory/plan-context/by-correlation/{made['goal_id']}")
        assert by_key.json()["plan_id"] == plan_id
        assert (await http.get("/v1/memory/plan-context/by-correlation/nobody")).status_code == 404
        assert [await was_deleted(http, f"{way}/x"), await was_deleted(http, f"{way}/x")] == [True, False]
        assert [one["plan_id"] for one in (await http.get("/v1/memory/plans?status=active")).json()["items"]] == [
            plan_id
        ]
        wanted = {"goal_event": "order.received", "goal_data": {}, "response_event": "shop.answered"}
        keyed = {"Idempotency-Key": "click"}
        own = [await http.post("/v1/memory/plans", json=wanted, headers=keyed) for _ in range(2)]
        assert [one.status_code for one in own] == [201, 201]
        assert own[0].headers["location"] == f"/v1/plans/{own[1].json()['plan_id']}"
        talk = await http.post("/v1/memory/sessions", json={"name": "talk"})
        assert talk.status_code == 201
        sessions = (await http.get("/v1/memory/sessions")).json()["items"]
        assert {one["session_id"] for one in sessions} == {"s1", talk.json()["session_id"]}
        plans = (await http.get("/v1/tracker/sessions/s1/plans")).json()["items"]
        assert [one["plan_id"] for one in plans] == [plan_id]


async def was_deleted(http: Any, path: str) -> bool:
    return (await http.delete(path)).json()["deleted"]


async def test_a_task_is_read_and_written_and_ended_by_its_worker_only(platform: Platform) -> None:
    await platform.start(desk())
    async with local(platform) as http:
        task_id = (await http.post("/v1/requests", json={"event_type": "order.pack.requested"})).json()["request_id"]
        (open_now,) = await until(platform, lambda: platform.tracker.untaken(task_id=task_id))
        shown = (await http.get(f"/v1/memory/task-context/{task_id}")).json()
        assert shown["task_id"] == task_id and len(shown["sub_tasks"]) == 1
        (sub_task_id,) = shown["sub_tasks"]
        asked = await http.get(f"/v1/memory/task-context/by-subtask/{sub_task_id}")
        assert asked.json()["task_id"] == task_id
        untaken = (await http.get(f"/v1/tracker/untaken?task_id={task_id}")).json()["items"]
        assert [one["request_id"] for one in untaken] == [open_now.request_id]
        written = await http.post("/v1/memory/task-context", json={"task_id": task_id, "context": {"x": 1}})
        assert (written.status_code, written.json()) == (200, {"stored": True})
        assert (await http.get(f"/v1/memory/task-context/{task_id}")).json()["state"] == {"x": 1}
        assert (await http.delete(f"/v1/memory/task-context/{task_id}")).status_code == 409
        assert (await http.delete("/v1/memory/task-context/nobody")).status_code == 404
        for path in ("task-context/nobody", "task-context/by-subtask/nobody"):
            assert (await http.get(f"/v1/memory/{path}")).status_code == 404
        assert (await http.get("/v1/tracker/groups/nobody")).status_code == 404


async def test_a_dead_letter_is_listed_redriven_and_discarded(platform: Platform) -> None:
    await platform.start(broken())
    async with local(platform) as http:
        failed = await http.post("/v1/requests?wait=10", json={"event_type": "till.open.requested"})
        assert failed.json()["success"] is False
        (letter,) = (await http.get("/v1/dead-letters")).json()["items"]
        way = f"/v1/dead-letters/{letter['letter_id']}"
        assert (await http.get(way)).json()["reason"].startswith("handler_error: ValueError")
        assert (await http.post(f"{way}/redrive")).json() == {"redriven": True}
        await until(platform, platform.dead_letters)
        assert (await http.post(f"{way}/discard", json={"note": "scrapped"})).json() == {"discarded": True}
        assert (await http.post(f"{way}/discard", json={})).json() == {"discarded": False}
        assert (await http.get("/v1/dead-letters")).json()["items"] == []
        assert (await http.get("/v1/dead-letters/999")).status_code == 404
        assert (await http.get(f"/v1/dead-letters/{10**30}")).status_code == 422
        assert (await http.get("/v1/doubts")).json()["items"] == []


async def test_an_overloaded_platform_answers_with_a_retry_after(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    await platform.start(stock())
    force_setattr(platform.services, "max_backlog", 0)
    async with local(platform) as http:
        refused = await http.post("/v1/requests", json=RESERVE)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
