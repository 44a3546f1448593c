"""Names and habits of the design documents."""

from typing import Any

import pytest
from kit import PATIENCE, pursue, the_wait, until

from soorma_ai import (
    Agent,
    AgentCapability,
    ConfigError,
    DelegationSpec,
    EventDefinition,
    EventEnvelope,
    GoalContext,
    InvocationContext,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    RemoteProtocolError,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)

DONE: Any = {"start": {"default_next": "done"}, "done": {"is_terminal": True, "result": {"n": 7}}}


async def test_events_consumed_must_have_handlers(platform: Platform) -> None:
    agent = Agent("shop", events_consumed=["order.placed", EventDefinition(event_name="order.paid")])

    @agent.on_event("order.placed", topic="business-facts")
    async def placed(event: EventEnvelope, context: PlatformContext) -> None: ...

    with pytest.raises(ConfigError, match=r"agent shop: events_consumed names 'order\.paid', and no handler takes it"):
        await platform.start(agent)

    @agent.on_event("order.paid", topic="business-facts")
    async def paid(event: EventEnvelope, context: PlatformContext) -> None: ...

    await platform.start(agent)
    assert agent.events_consumed == ["order.placed", "order.paid"]


def test_a_goal_and_a_result_are_among_the_events_consumed() -> None:
    planner, worker = Planner("minds", events_consumed=["plan.wanted"]), Worker("hands", events_consumed=["part.done"])

    @planner.on_goal("plan.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None: ...

    @worker.on_result("part.done")
    async def done(result: ResultContext, context: PlatformContext) -> None: ...

    planner.check()
    worker.check()


@pytest.mark.parametrize(("given", "names"), [(None, []), ([], []), (["search", "read"], ["search", "read"])])
def test_a_goal_lists_its_requirements(given: Any, names: list[str]) -> None:
    data = {} if given is None else {"requirements": given}
    assert GoalContext(event_type="plan.wanted", data=data).requirements == names


@pytest.mark.parametrize("given", ["search", 7, ["search", 7], None])
def test_requirements_other_than_names_are_refused(given: Any) -> None:
    goal = GoalContext(event_type="plan.wanted", data={"requirements": given})
    with pytest.raises(RemoteProtocolError, match="give a list of names of capabilities"):
        _ = goal.requirements


async def test_an_invocation_is_made_by_hand_in_a_unit_test() -> None:
    tool = Tool("calculator")

    @tool.on_invoke("calculate.requested")
    async def calculate(request: InvocationContext, context: PlatformContext | None) -> dict[str, Any]:
        return {"result": sum(request.data["numbers"]), "attempt": request.attempt}

    request = InvocationContext(request_id="r1", event_type="calculate.requested", data={"numbers": [2, 2]})
    assert await calculate(request, None) == {"result": 4, "attempt": 1}


@pytest.mark.parametrize("awaits", [True, False])
async def test_the_results_of_a_group_are_read_with_and_without_await(platform: Platform, awaits: bool) -> None:
    worker, tool = Worker("fulfiller"), Tool("hands")
    seen: list[bool] = []

    @tool.on_invoke("part.requested")
    async def part(request: InvocationContext, context: PlatformContext) -> int:
        return request.data["n"]

    @worker.on_task("all.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        specs = [DelegationSpec("part.requested", {"n": n}, "part.done") for n in range(3)]
        task.state["group"] = await task.delegate_parallel(specs)

    @worker.on_result("part.done")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        gathered: Any = task.aggregate_parallel_results(task.state["group"])
        if awaits:
            gathered = await gathered
        seen.append(bool(gathered))
        if gathered:
            await task.complete([gathered[key]["result"] for key in task.sub_tasks])

    await platform.start(worker, tool)
    reply: Any = await platform.request("all.requested", {}, timeout=PATIENCE)
    assert (reply["result"], seen) == ([0, 1, 2], [False, False, True])


async def test_a_complete_plan_has_its_result_as_final(platform: Platform) -> None:
    planner = Planner("minds")
    seen: list[Any] = []

    @planner.on_goal("plan.wanted", state_machine=DONE)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context)
        assert "final" not in plan.results
        await plan.finalize({"n": 8})
        seen.append(plan.results["final"])

    plan = await pursue(platform, "plan.wanted", {}, planner)
    assert await plan.result(timeout=PATIENCE) == {"n": 8}
    assert seen == [{"n": 8}]


async def test_a_request_over_the_bus_in_a_goal_handler_is_refused_in_favour_of_dispatch(platform: Platform) -> None:
    planner = Planner("minds")

    @planner.on_goal("plan.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await context.bus.request("part.requested", {}, "part.done")

    plan = await pursue(platform, "plan.wanted", {}, planner)
    with pytest.raises(PlanFailed, match=r"whose answer is no plan's: use goal\.dispatch\('part\.requested', data\)"):
        await plan.result(timeout=PATIENCE)


async def test_a_produced_event_is_found_by_name_and_by_owner(platform: Platform) -> None:
    completed = EventDefinition(event_name="calculate.completed", topic="action-results", description="The sum.")
    asked = EventDefinition(event_name="calculate.requested")
    able = AgentCapability(task_name="calculate", consumed_event=asked, produced_events=(completed,))
    tool = Tool("calculator", capabilities=[able], events_produced=["calculator.ready"])

    @tool.on_invoke("calculate.requested")
    async def calculate(request: InvocationContext, context: PlatformContext) -> None: ...

    await platform.start(tool)
    registry = platform.registry
    for name in ("calculate.completed", "calculator.ready"):
        (found,) = await registry.events(name=name)
        assert (found.agent, found.role) == ("calculator", "makes")
        assert [one.name for one in await registry.query(event=name)] == ["calculator"]
    assert await registry.get_event("calculate.completed") == completed
    owned = {one.definition.event_name for one in await registry.events(owner="calculator")}
    assert owned == {"calculate.requested", "calculate.completed", "calculator.ready"}
    assert await registry.events(owner="somebody") == []


async def test_a_task_is_not_complete_while_a_question_is_open(platform: Platform) -> None:
    worker, tool = Worker("reviewer"), Tool("hands")
    seen: list[bool] = []

    @tool.on_invoke("part.requested")
    async def part(request: InvocationContext, context: PlatformContext) -> int:
        return 7

    @worker.on_task("review.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        assert task.is_complete()
        question = {"question": "Fine?", "response_event": "review.answered", "timeout_seconds": 60}
        await context.bus.publish("notification-events", "notification.human_input", question)
        seen.append(task.is_complete())
        await task.delegate("part.requested", {}, "part.done")

    @worker.on_result("part.done")
    @worker.on_result("review.answered")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        seen.append(task.is_complete())
        if task.is_complete():
            await task.complete()

    await platform.start(worker, tool)
    await platform.publish("action-requests", "review.requested", {})
    await until(platform, lambda: len(seen) == 2)
    question = await the_wait(platform)
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    await until(platform, lambda: len(seen) == 3)
    assert seen == [False, False, True]


async def test_a_saved_task_context_is_the_state_of_the_task(platform: Platform) -> None:
    worker = Worker("keeper")

    @worker.on_task("keep.requested")
    async def keep(task: TaskContext, context: PlatformContext) -> None:
        await context.memory.save_task_context(task.task_id, task.plan_id, {"kept": 7})
        await task.complete(task.state)

    await platform.start(worker)
    reply: Any = await platform.request("keep.requested", {}, timeout=PATIENCE)
    assert reply["result"] == {"kept": 7}
