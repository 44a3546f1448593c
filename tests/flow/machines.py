"""The state machine of the seeds' example, and the agents of its requests."""

from collections.abc import Iterable
from typing import Any

from soorma_ai import (
    Agent,
    EventContext,
    GoalContext,
    InvocationContext,
    PlanContext,
    Planner,
    PlatformContext,
    Reject,
    StateAction,
    StateConfig,
    StateTransition,
    Tool,
)

GOAL = "research.goal"
SEARCH, FOUND = "web.search.requested", "web.search.completed"
ANALYZE, ANALYZED = "content.analyze.requested", "content.analyze.completed"
CLARIFIED = "user.clarification.provided"


def state(name: str, **config: Any) -> StateConfig:
    return StateConfig(state_name=name, description=name, **config)


def on(**ways: str) -> list[StateTransition]:
    """`web_search_failed="there"` is a transition on web.search.failed."""
    return [StateTransition(on_event=event.replace("_", "."), to_state=to) for event, to in ways.items()]


def research(**changes: StateConfig) -> dict[str, StateConfig]:
    machine = {
        "start": state("start", default_next="searching"),
        "searching": state(
            "searching",
            action=StateAction(event_type=SEARCH, response_event=FOUND, data={"query": "{goal_data.topic}"}),
            transitions=[
                *on(web_search_completed="analyzing", web_search_failed="retry_search"),
                StateTransition(on_event="web.search.no_results", to_state="ask_user"),
            ],
        ),
        "retry_search": state(
            "retry_search",
            action=StateAction(
                event_type=SEARCH, response_event=FOUND, data={"query": "{goal_data.topic}", "broad": True}
            ),
            transitions=on(web_search_completed="analyzing", web_search_failed="failed"),
        ),
        "ask_user": state(
            "ask_user",
            action=StateAction(
                event_type="notification.human_input",
                response_event=CLARIFIED,
                data={"question": "No results found. Can you provide more details?"},
            ),
            transitions=on(user_clarification_provided="searching"),
        ),
        "analyzing": state(
            "analyzing",
            action=StateAction(event_type=ANALYZE, response_event=ANALYZED),
            transitions=on(content_analyze_completed="done"),
        ),
        "done": state("done", is_terminal=True),
        "failed": state("failed", is_terminal=True),
    }
    return machine | changes


def researcher(machine: Any, **options: Any) -> Planner:
    """A planner: begins each goal with this machine, and has no other handler."""
    planner = Planner(options.pop("name", "researcher"), goals=options.pop("goals", [GOAL]), **options)

    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=machine, current_state="start")
        await plan.save()
        await plan.execute_next()

    for goal in planner.goals:
        planner.on_goal(goal)(begin)
    return planner


class Web(Agent):
    """Answers searches in order: found, failed, no_results; `asked` holds the searches received."""

    def __init__(self, *answers: str) -> None:
        super().__init__("web")
        self.asked: list[Any] = []
        self._answers = iter(answers)
        self.on_event(SEARCH, topic="action-requests")(self._search)

    async def _search(self, event: EventContext, context: PlatformContext) -> None:
        self.asked.append(event.data)
        answer = next(self._answers)
        key = str(event.correlation_id)
        if answer == "failed":
            raise Reject("the network is down", code="network")
        if answer == "no_results":
            await context.bus.respond("web.search.no_results", {"hits": 0}, correlation_id=key)
        elif answer == "found":
            await context.bus.respond(FOUND, {"success": True, "result": {"pages": [1, 2]}}, correlation_id=key)


def analyst(seen: list[Any] | None = None) -> Tool:
    tool = Tool("analyst")

    @tool.on_invoke(ANALYZE)
    async def analyze(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if seen is not None:
            seen.append(request.data)
        return {"summary": "short"}

    return tool


def requests_for(events: Iterable[Any], event_type: str) -> list[Any]:
    return [event.data for event in events if event.type == event_type]
