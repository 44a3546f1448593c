"""Wrong arguments fail at once: the error names the value found and the values wanted."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from kit import PATIENCE, order, planner, stock, types, wait_for_end
from machines import GOAL, research

from soorma_ai import (
    Agent,
    Approval,
    DelegationSpec,
    GoalContext,
    InvocationContext,
    Limits,
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
async def test_a_wrong_argument_in_a_workers_handler_fails_its_task_and_sends_nothing(
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


async def test_a_plan_with_an_unknown_status_is_refused(platform: Platform) -> None:
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
async def test_a_wrong_argument_of_a_client_is_named_in_the_error(
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
        (lambda: Worker("w").on_result("a.done", attempts=0)(two), "on_result('a.done'), attempts=0"),
        (lambda: Planner("p").on_goal("g", attempts=0)(two), "on_goal('g'), attempts=0"),
        (lambda: Planner("p").on_transition(attempts=0)(two), "on_transition(), attempts=0"),
        (lambda: cast(Any, Tool("t").on_invoke)(two), "on_invoke got the function two; name the event above it, as"),
        (lambda: cast(Any, Worker("w").on_task)(two), "on_task got the function two; name the event"),
        (lambda: cast(Any, Planner("p").on_goal)(two), "on_goal got the function two; name the event"),
        (lambda: on_invoke(one), "on_invoke('a.requested'): one(request: object) -> None is called with 2 arguments"),
        (
            lambda: Worker("w").on_task("a")(one),
            "on_task('a'): one(request: object) -> None is called with 2 arguments",
        ),
        (lambda: Worker("w").on_result("a")(one), "on_result('a'): one(request: object) -> None is called with 2"),
        (
            lambda: Planner("p").on_goal("a")(one),
            "on_goal('a'): one(request: object) -> None is called with 2 arguments",
        ),
        (lambda: Planner("p").on_transition()(one), "on_transition(): one(request: object) -> None is called with 2"),
        (lambda: Planner("p").custom_context(one), "custom_context: one(request: object) -> None is called with 2"),
        (
            lambda: Tool("t").on_event("a", "business-facts")(one),
            "on_event('a'): one(request: object) -> None is called with",
        ),
        (lambda: Tool("t").on_startup(one), "on_startup: one(request: object) -> None is called without arguments"),
        (lambda: Tool("t").on_shutdown(one), "on_shutdown: one(request: object) -> None is called without arguments"),
        (lambda: on_invoke(cast(Any, "text")), "on_invoke('a.requested') decorates 'text', which is no function"),
        (lambda: Tool("t").on_invoke("a b"), "on_invoke('a b'): the name of an event has no blanks; give one like"),
        (lambda: Tool("t").on_invoke(""), "on_invoke(''): give the event's own name, as text"),
        (lambda: Tool("t", events_produced=["a b"]), "event_name='a b': the name of an event has no blanks"),
        (lambda: Approval(timeout=cast(Any, 5)), "Approval, timeout=5: give a span above zero, as in timedelta("),
        (lambda: Approval(timeout=timedelta(0)), "Approval, timeout=datetime.timedelta(0): give a span above zero"),
        (lambda: Approval(reminders=(cast(Any, 60),)), "Approval, reminders=60: give a span above zero"),
        (
            lambda: Approval(escalate_after=cast(Any, 60), escalate_to=("cfo",)),
            "Approval, escalate_after=60: give a span above zero",
        ),
    ],
)
def test_a_wrong_argument_of_an_author_is_named_in_a_config_error(act: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        act()
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (
            lambda: cast(Any, Planner("p").on_event)(two),
            "on_event got the function two; name the event above it, as in",
        ),
        (
            lambda: cast(Any, Planner("p").on_event)("a.b"),
            "on_event('a.b'): give its topic, too: '' is no topic; there",
        ),
        (lambda: Planner("p").on_event("a.b", "bussiness-facts"), "'bussiness-facts' is no topic; there are business"),
        (lambda: cast(Any, Planner("p").on_transition)(two), "write it with parentheses: @on_transition()"),
        (lambda: cast(Any, Planner("p").every)(two), "every got the function two; name the event above it, as in @ev"),
        (lambda: cast(Any, Planner("p").every)("0 9 * * *"), "every(''): give the event's own name, as text"),
        (lambda: Planner("p").every(cast(Any, 5), "g"), "every(5): give a cron expression, or a timedelta"),
        (lambda: Planner("p").every("9 o'clock", "g"), "has no next moment"),
        (lambda: Planner("p").every("0 9 * * *", "g", zone="Mars"), "zone='Mars' is no time zone"),
        (lambda: Planner("p").every("0 9 * * *", "g", cast(Any, [1])), "every(..., 'g'), data must be JSON"),
        (lambda: cast(Any, Worker("w").on_result)(two), "on_result got the function two; name the event above it"),
        (lambda: Planner("p").custom_context(), "custom_context decorates nothing: write it without parentheses"),
        (lambda: Tool("t").on_startup(), "on_startup decorates nothing: write it without parentheses, as in @on_start"),
        (lambda: Tool("t").on_shutdown(), "on_shutdown decorates nothing: write it without parentheses"),
        (lambda: on_invoke(nonsense=5), "on_invoke('a.requested') has no parameter 'nonsense'; it takes retry_on, att"),
        (lambda: on_invoke(irreversable=True), "has no parameter 'irreversable'; did you mean 'irreversible'?"),
        (lambda: Tool("t", verison="2"), "agent t has no parameter 'verison'; did you mean 'version'?"),
        (lambda: Planner("p", goal=["g"]), "Planner has no parameter 'goal'; did you mean 'goals'?"),
        (lambda: Planner("p", price=(1.0, 2.0)), "Planner has no parameter 'price', and no model that could take it"),
        (lambda: on_invoke(approval=True), "'a.requested': approval=True: Input should be"),
        (lambda: on_invoke(irreversible="x"), "'a.requested': irreversible='x': "),
        (lambda: Tool(cast(Any, 5)), "agent 5: name=5: give text on one line"),
        (lambda: Tool("a\nb"), "name='a\\nb': give text on one line"),
        (lambda: Tool("t", version=""), "agent t: version='': give text"),
        (lambda: Tool("t", tenant_id=""), "agent t: tenant_id='': give text"),
        (lambda: Tool("t", cast(Any, 5)), "agent t: description=5: give text"),
        (lambda: Tool("t", max_in_flight=cast(Any, "5")), "agent t: max_in_flight='5': give a whole number from 1"),
        (lambda: Tool("t", capabilities=cast(Any, 5)), "capabilities=5: give a list"),
        (lambda: Tool("t", capabilities=cast(Any, [5])), "agent t: capabilities=[5]: give names, or AgentCapability"),
        (lambda: Tool("t", events_produced=cast(Any, [5])), "events_produced=[5]: give names of events, or EventDefi"),
        (lambda: Tool("t", default_response_event="a b"), "default_response_event='a b': the name of an event has no"),
        (lambda: Planner("p", goals=cast(Any, 5)), "goals=5: give a list"),
        (lambda: Planner("p", limits=cast(Any, {})), "limits={}: give Limits(max_actions=20, ...)"),
        (lambda: Planner("p", max_actions=cast(Any, "5")), "Limits(max_actions='5'): give a number from 0, or None"),
        (lambda: Planner("p", reasoner=cast(Any, "openai/x")), "reasoner='openai/x': give a Reasoner; the name of a m"),
        (lambda: Planner("p", embedder=cast(Any, "openai/x")), "embedder='openai/x': give an Embedder"),
        (lambda: Planner("p", reasoning_model=""), "reasoning_model='': give 'provider/model', or leave it out"),
        (lambda: Planner("p", api_base="http://gpu"), "api_base= is for a model: give reasoning_model='provider/mode"),
        (lambda: Planner("p", offer_tokens=cast(Any, "5")), "planner p: offer_tokens='5': give a whole number from 1"),
        (lambda: Planner("p", memory_tokens=cast(Any, "5")), "planner p: memory_tokens='5': give a whole number"),
        (lambda: Planner("p", earlier_plans=True), "planner p: earlier_plans=True: give a whole number from 0"),
        (lambda: Limits(deadline=cast(Any, 5)), "Limits(deadline=5): give a span above zero, or None"),
        (lambda: Limits(max_cost_usd=cast(Any, "1")), "Limits(max_cost_usd='1'): give a number from 0"),
        (lambda: Approval(cast(Any, 5)), "Approval, when=5: give 'always', or a condition"),
        (lambda: Approval(approvers=cast(Any, (5,))), "Approval, approvers=[5]: give a tuple of names of roles"),
        (lambda: Approval(reminders=cast(Any, timedelta(1))), "Approval, reminders=datetime.timedelta(days=1): give a"),
        (lambda: Approval(response_schema=cast(Any, 5)), "Approval, response_schema=5: give a JSON Schema"),
        (lambda: Platform(store=cast(Any, "sqlite:///x")), "Platform: store='sqlite:///x': give a Store; the place"),
        (lambda: Platform(clock=cast(Any, 5)), "Platform: clock=5: give a Clock"),
    ],
)
def test_a_wrong_option_of_an_agent_or_platform_is_named_where_it_is_given(act: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        act()
    assert told in str(refused.value)


def two(request: object, context: object) -> None: ...


def one(request: object) -> None: ...


def on_invoke(handler: Any = two, **options: Any) -> Any:
    return Tool("t").on_invoke("a.requested", **options)(handler)


@pytest.mark.parametrize("agent", [Agent("idle"), Tool("idle"), Worker("idle")])
async def test_an_agent_without_handlers_and_events_is_refused(platform: Platform, agent: Agent) -> None:
    with pytest.raises(ConfigError, match=f"{agent.kind} idle has no handler and makes no event"):
        await platform.start(agent)


@pytest.mark.parametrize("who", [{"tenant_id": ""}, {"user_id": ""}, {"tenant_id": None}])
async def test_a_user_without_a_name_or_a_tenant_is_refused(platform: Platform, who: Any) -> None:
    ((name, given),) = who.items()
    with pytest.raises(LocalProtocolError, match=f"{name}={given!r}: give text, at least one character"):
        platform.as_user(**({"tenant_id": "default", "user_id": "eve"} | who))


@pytest.mark.parametrize("roles", [None, 5, [None], {"manager", 5}])
async def test_roles_other_than_a_set_of_names_are_refused(platform: Platform, roles: Any) -> None:
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
    (replied,) = [step for step in (await wait_for_end(platform, plan.plan_id)).steps if step.kind == "replied"]
    assert replied.note == "ok", replied.data
