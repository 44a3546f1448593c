"""What is given wrongly is told at once: what was found, and what is wanted."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from kit import PATIENCE, ended, order, planner, stock, types
from machines import GOAL, research

from soorma_ai import (
    DelegationSpec,
    GoalContext,
    InvocationContext,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    Retry,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import ConfigError, LocalProtocolError, SoormaError
from soorma_ai.testing.scripted import complete, publish

UNHEARD = {"question": "?", "response_event": "nobody.listens", "timeout_seconds": 60}
PART = ("part.requested", {}, "part.done")


async def later(after: Any) -> None:
    raise Retry("busy", after=after)


async def asks(task: TaskContext, **given: Any) -> None:
    await task.delegate(**{"event_type": "part.requested", "data": {}, "response_event": "part.done", **given})


async def leaves_open(task: TaskContext) -> None:
    task.state["waiting"] = True


async def ends_twice(task: TaskContext) -> None:
    await task.complete({})
    await task.fail("no")


async def updates(task: TaskContext) -> None:
    task.update_sub_task_result("nothing", {})


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda t, c: t.fail(None), "fail: message=None: give text, at least one character"),
        (lambda t, c: t.fail("no", code=5), "fail: code=5: give text, at least one character"),
        (lambda t, c: t.delegate(*PART, assigned_to=""), "assigned_to='': give text, at least one character"),
        (lambda t, c: t.delegate_parallel([DelegationSpec(*PART, "")]), "assigned_to='': give text"),
        (lambda t, c: t.delegate_parallel([PART]), "delegate_parallel([('part.requested', {}, 'part.done')]): give a"),
        (lambda t, c: t.delegate_parallel(DelegationSpec(*PART)), "give a list of DelegationSpec(event_type, data, "),
        (lambda t, c: c.registry.register_event("x"), "register_event('x'): give an EventDefinition"),
        (lambda t, c: t.report_progress(50), "report_progress(50): give a share of the whole, from 0 to 1"),
        (lambda t, c: c.bus.request("part.requested", {}, ""), "response_event='': give text, at least one character"),
        (lambda t, c: later("3"), "Retry(after='3'): give a timedelta"),
        (lambda t, c: asks(t, timeout=0), "timeout=0: give a number of seconds above 0"),
        (lambda t, c: asks(t, timeout=1e15), "give a number of seconds above 0, up to"),
        (lambda t, c: asks(t, data=None), "the data of 'part.requested' must be JSON, found None"),
        (lambda t, c: asks(t, event_type=""), "no event '' can be made: type"),
        (lambda t, c: asks(t, event_type="action-requests"), "'action-requests' is a topic"),
        (lambda t, c: asks(t, response_event="nobody.listens"), "register on_result('nobody.listens')"),
        (
            lambda t, c: c.bus.publish("notification-events", "notification.human_input", UNHEARD),
            "register on_result('nobody.listens')",
        ),
        (lambda t, c: leaves_open(t), "left its task open with nothing to wait for"),
        (lambda t, c: ends_twice(t), "has ended; complete() or fail() it once, and last"),
        (lambda t, c: updates(t), "nothing"),
    ],
)
async def test_a_workers_handler_is_told_what_it_gave(
    platform: Platform, act: Callable[[Any, Any], Awaitable[Any]], told: str
) -> None:
    worker = Worker("clerk")

    @worker.on_task("carry.requested")
    async def carry(task: TaskContext, context: PlatformContext) -> None:
        await act(task, context)

    worker.on_result("part.done")(lambda result, context: pytest.fail("it was asked for"))
    await platform.start(worker)
    reply: Any = await platform.request("carry.requested", {}, timeout=PATIENCE)
    assert (reply["success"], reply["error"]["code"]) == (False, "local_protocol")
    assert told in reply["error"]["message"]
    assert await types(platform) == ["carry.requested"], "nothing was asked"


async def test_a_plan_has_a_status_that_there_is(platform: Platform) -> None:
    minds = Planner("researcher")

    @minds.on_goal(GOAL)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await PlanContext.create_from_goal(goal, context, state_machine=research(), status="bogus")

    await platform.start(minds)
    with pytest.raises(PlanFailed, match="status='bogus' is none of pending, running, paused, completed, "):
        await (await platform.submit(GOAL, {})).result(timeout=PATIENCE)


RESERVE = ("inventory.reserve.requested", {"order_id": "A"})


@pytest.mark.parametrize(
    ("act", "kind", "told"),
    [
        (lambda p: p.start("x"), ConfigError, "start('x'): give agents, one after the other"),
        (lambda p: p.start([stock()]), ConfigError, "give agents, one after the other: start(first, second)"),
        *(
            (
                lambda p, timeout=timeout: p.request(*RESERVE, timeout=timeout),
                LocalProtocolError,
                f"timeout={timeout!r}: ",
            )
            for timeout in ("5", None, True, -1, 1e15, float("nan"), timedelta(days=-1))
        ),
        (lambda p: p.prune("30d"), LocalProtocolError, "older_than='30d' is no span; give a timedelta"),
        (lambda p: p.prune(30), LocalProtocolError, "older_than=30 is no span; give a timedelta"),
    ],
)
async def test_a_client_is_told_what_it_gave(
    platform: Platform, act: Callable[[Any], Awaitable[Any]], kind: type[SoormaError], told: str
) -> None:
    await platform.start(planner([complete({})]), stock())
    with pytest.raises(kind) as refused:
        await act(platform)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: Tool("t", handler_timeout=timedelta(0)), "agent t: handler_timeout="),
        (lambda: planner([], handler_timeout="1h"), "agent orders: handler_timeout='1h': give a number of seconds"),
        (lambda: on_invoke(attempts=0), "on_invoke('a.requested'), attempts=0: give a number from 1"),
        (lambda: on_invoke(attempts=True), "attempts=True: give a number from 1"),
        (lambda: on_invoke(retry_on=["ValueError"]), "retry_on=['ValueError']: give classes of exceptions"),
        (lambda: on_invoke(retry_on=(ValueError, KeyboardInterrupt)), "give classes of exceptions"),
        (lambda: Worker("w").on_result("a.done", attempts=0)(print), "on_result('a.done'), attempts=0"),
        (lambda: Planner("p").on_goal("g", attempts=0)(print), "on_goal('g'), attempts=0"),
        (lambda: Planner("p").on_transition(attempts=0)(print), "on_transition(), attempts=0"),
    ],
)
def test_an_author_is_told_what_was_given(act: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        act()
    assert told in str(refused.value)


def on_invoke(**options: Any) -> Any:
    return Tool("t").on_invoke("a.requested", **options)(lambda request, context: None)


@pytest.mark.parametrize("who", [{"tenant_id": ""}, {"user_id": ""}, {"tenant_id": None}])
async def test_somebody_has_a_name_and_a_tenant(platform: Platform, who: Any) -> None:
    ((name, given),) = who.items()
    with pytest.raises(LocalProtocolError, match=f"{name}={given!r}: give text, at least one character"):
        platform.as_user(**({"tenant_id": "default", "user_id": "eve"} | who))


@pytest.mark.parametrize("roles", [None, 5, [None], {"manager", 5}])
async def test_roles_are_names_and_nobody_has_all_of_them_by_none(platform: Platform, roles: Any) -> None:
    with pytest.raises(LocalProtocolError, match="give a set of names, an empty one for somebody without any"):
        platform.as_user(tenant_id="default", user_id="eve", roles=roles)


async def test_waiting_for_a_result_takes_a_span(platform: Platform) -> None:
    plan = await order(platform, planner([complete({"ok": True})]), stock())
    wrong: Any = "5"
    with pytest.raises(LocalProtocolError, match="timeout='5': give a number of seconds, from 0 up to"):
        await plan.result(timeout=wrong)
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


AT_ONCE: list[Callable[[Any, Any], Awaitable[Any]]] = [
    lambda p, plan_id: p.publish("business-facts", "too.soon", {}),
    lambda p, plan_id: p.submit("order.received", {}),
    lambda p, plan_id: p.request("act.requested", {}),
    lambda p, plan_id: p.answer("wait-1", {"approved": True}),
    lambda p, plan_id: p.cancel(plan_id),
    lambda p, plan_id: p.memory.store("k", 1, plan_id),
    lambda p, plan_id: p.create_session(),
    lambda p, plan_id: p.dead_letters(),
    lambda p, plan_id: p.dead_letter(1),
    lambda p, plan_id: p.redrive(1),
    lambda p, plan_id: p.discard(1),
    lambda p, plan_id: p.prune(),
]


async def test_inside_a_handler_nothing_acts_at_once(platform: Platform) -> None:
    tool = Tool("eager")

    @tool.on_invoke("act.requested")
    async def act(request: InvocationContext, context: PlatformContext) -> None:
        for call in AT_ONCE:
            with pytest.raises(LocalProtocolError, match="inside a handler, use its context"):
                await call(platform, context.lineage.plan_id)

    plan = await order(platform, planner([publish("act.requested"), complete({})]), tool)
    (replied,) = [step for step in (await ended(platform, plan.plan_id)).steps if step.kind == "replied"]
    assert replied.note == "ok", replied.data
