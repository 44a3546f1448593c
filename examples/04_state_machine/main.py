"""Research by a state machine, without any model: found, failed and tried again, or nothing found and a user asked.

python examples/04_state_machine/main.py                   asks you for your meaning, on a terminal
python examples/04_state_machine/main.py --answer car      answers for you; none: lets the deadline pass
python examples/04_state_machine/main.py --topic storms    the first search fails, a broader one does not
python examples/04_state_machine/main.py --topic owls      found at once
"""

import argparse
import asyncio
import os
import sys

from agents import library, reader

from soorma_ai import (
    GoalContext,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    StateAction,
    StateConfig,
    StateTransition,
)
from soorma_ai.features.tracking.story import print_trace

SEARCH, FOUND = "web.search.requested", "web.search.completed"
FAILED, NOTHING = "web.search.failed", "web.search.no_results"
CLARIFIED = "user.clarification.provided"


def looking(name: str, query: str, *, broad: bool, failed: str, nothing: str) -> StateConfig:
    """A state that searches; a state of its own reads the findings."""
    return StateConfig(
        state_name=name,
        action=StateAction(event_type=SEARCH, response_event=FOUND, data={"query": query, "broad": broad}),
        transitions=(
            StateTransition(on_event=FOUND, to_state=f"reading_{name}"),
            StateTransition(on_event=FAILED, to_state=failed),
            StateTransition(on_event=NOTHING, to_state=nothing),
        ),
    )


def reading(name: str) -> StateConfig:
    return StateConfig(
        state_name=f"reading_{name}",
        action=StateAction(
            event_type="content.analyze.requested",
            response_event="content.analyze.completed",
            data={"titles": f"{{results.{name}.titles}}"},
        ),
        transitions=(StateTransition(on_event="content.analyze.completed", to_state=f"told_{name}"),),
    )


def told(name: str) -> StateConfig:
    return StateConfig(state_name=f"told_{name}", is_terminal=True, result=f"{{results.reading_{name}.text}}")


def research(patience: float) -> dict[str, StateConfig]:
    question = StateAction(
        event_type="notification.human_input",
        response_event=CLARIFIED,
        data={"question": "Nothing is known about '{goal_data.topic}'. What do you mean?"},
        timeout_seconds=patience,
    )
    topic, detailed = "{goal_data.topic}", "{goal_data.topic} {results.ask_user.details}"
    states = [
        StateConfig(state_name="start", default_next="first"),
        looking("first", topic, broad=False, failed="second", nothing="ask_user"),
        looking("second", topic, broad=True, failed="failed", nothing="ask_user"),
        StateConfig(
            state_name="ask_user",
            action=question,
            transitions=(
                StateTransition(on_event=CLARIFIED, to_state="third", condition="size(payload.details) > 0"),
                StateTransition(on_event=CLARIFIED, to_state="failed"),
                StateTransition(on_event="timeout", to_state="failed"),
            ),
        ),
        looking("third", detailed, broad=True, failed="failed", nothing="failed"),
        *(make(name) for name in ("first", "second", "third") for make in (reading, told)),
        StateConfig(state_name="failed", description="nothing was found", is_terminal=True),
    ]
    return {state.state_name: state for state in states}


def researcher(patience: float) -> Planner:
    planner = Planner("researcher")

    @planner.on_goal("research.goal")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=research(patience))
        await plan.execute_next()

    return planner


async def run(store_url: str, topic: str, answer: str) -> int:
    async with Platform(store_url) as platform:
        await platform.start(researcher(1 if answer == "none" else 600), library(), reader())
        plan = await platform.submit("research.goal", {"topic": topic})
        while answer != "none" and (question := await plan.next_wait()):
            print(question.message)
            details = answer or await asyncio.to_thread(input, "> ")
            outcome = await platform.answer(question.wait_id, {"details": details.strip()})
            print(f"your answer: {outcome} {outcome.detail}".rstrip())
        try:
            print(f"result: {await plan.result(timeout=60)}")
        except PlanFailed as failure:
            print(f"no result: {failure.reason}")
        print_trace(await platform.trace(plan.plan_id))
    return 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--answer", default=None, help="what you mean: animal, car, ..., or none")
    options.add_argument("--topic", default="jaguar")
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///research.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    given = options.parse_args()
    answer = given.answer if given.answer is not None else ("" if sys.stdin.isatty() else "animal")
    return asyncio.run(run(given.store, given.topic, answer))


if __name__ == "__main__":
    sys.exit(main())
