"""The unchanged agents of an example. The ledger books the work of each handler as an effect, under the key of the
delivery; people and models are played.

The option `example` is a folder of examples/, `parallel` is the option of 03_delegation.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from deciding import DecidingModel
from life import Life, live
from people import answer_all

from soorma_ai import Agent, PlatformContext, Tool, Wait

EXAMPLES = Path(__file__).parents[2] / "examples"

Goals = Sequence[tuple[str, dict[str, Any]]]

ORDER: dict[str, Any] = {"order_id": "A1", "sku": "lamp", "quantity": 2, "amount": "160.00", "card": "valid"}
ORDERS: Goals = [("order.received", ORDER), ("order.received", {**ORDER, "order_id": "A2", "card": "expired"})]
TOPICS: Goals = [("research.goal", {"topic": topic}) for topic in ("jaguar", "storms")]
QUESTIONS: Goals = [("advice.wanted", {"question": "Which bicycle with a motor should I buy?"})]


def delegation(life: Life, main: Any) -> tuple[list[Agent], Goals]:
    return [main.desk(), main.fulfilment(parallel=life.options["parallel"]), *main.shop()], ORDERS


def state_machine(life: Life, main: Any) -> tuple[list[Agent], Goals]:
    return [main.researcher(600), main.library(), main.reader()], TOPICS


def research_advisor(life: Life, main: Any) -> tuple[list[Agent], Goals]:
    step = step_by("advice")
    planners = [main.advisor(), main.researcher()]
    for planner in planners:
        planner.reasoner = DecidingModel(life, step)
    return [*planners, main.archive()], QUESTIONS


def research(life: Life, main: Any) -> tuple[list[Agent], Goals]:
    step = step_by("owls")
    agent = main.researcher()
    agent.reasoner = DecidingModel(life, step)
    folder = main.make_archive(life.folder / "archive")
    return [agent, main.archive(folder)], [("research.wanted", {"brief": main.BRIEF.model_dump()})]


STORIES = {
    "03_delegation": delegation,
    "04_state_machine": state_machine,
    "05_research_advisor": research_advisor,
    "07_research": research,
}


def step_by(rules: str) -> Callable[[str], dict[str, Any]]:
    """Return the step function of the recordings' rules."""
    record = import_module("record")
    decide = getattr(record, rules)

    def step(told: str) -> dict[str, Any]:
        decided: tuple[str, dict[str, Any]] = decide(told, record.facts_in(told))
        return decided[1]

    return step


def answers(wait: Wait) -> dict[str, Any]:
    if wait.reason.startswith("checkpoint:"):
        return {"approved": True}
    return {"use": "tours"} if wait.expected_event == "user.clarified" else {"details": "car"}


async def story(life: Life) -> None:
    main = import_example(life, life.options["example"])
    agents, goals = STORIES[life.options["example"]](life, main)
    async with life.platform() as platform:
        await platform.start(*agents)
        people = asyncio.create_task(answer_all(platform, life, answers))
        try:
            life.point("submit.before")
            plans = [
                await platform.submit(goal, data, idempotency_key=f"goal {number}")
                for number, (goal, data) in enumerate(goals)
            ]
            life.point("submit.after")
            for plan in plans:
                await plan.result()
        finally:
            people.cancel()


def import_example(life: Life, example: str) -> Any:
    """Import the example's main module with agents made by our `Agent` and `Tool`."""
    sys.path[:0] = [str(EXAMPLES / example), str(EXAMPLES)]
    agents = import_module("agents")
    agents.Agent, agents.Tool = booking(life)
    return import_module("main")


def booking(life: Life) -> tuple[type[Agent], type[Tool]]:
    def book(handler: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(handler)
        async def handle_and_book(request: Any, context: PlatformContext) -> Any:
            result = await handler(request, context)
            event = context.handling.event
            life.outside.effect(event.type, context.idempotency_key, **event.data)
            return result

        return handle_and_book

    class BookedAgent(Agent):
        def on_event(self, *which: Any, **options: Any) -> Any:
            register = super().on_event(*which, **options)
            return lambda handler: register(book(handler))

    class BookedTool(Tool):
        def on_invoke(self, *which: Any, **options: Any) -> Any:
            register = super().on_invoke(*which, **options)
            return lambda handler: register(book(handler))

    return BookedAgent, BookedTool


if __name__ == "__main__":
    live(story)
