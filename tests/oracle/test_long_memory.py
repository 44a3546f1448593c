"""Plans of 100 steps with an early fact decisive for the end. The model has no memory of its own: it reads one request,
and may make one lookup."""

import json
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from soorma_ai import (
    ChoreographyPlanner,
    EventDefinition,
    EventTopic,
    InvocationContext,
    Limits,
    Platform,
    PlatformContext,
    Reject,
    Tool,
)
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, wait

STEPS = 100
CHARS_PER_TOKEN = 4
LEAST_THAT_STAYS = 0.9
QUESTION = "Anything that I should know?"
RULE = "never on a Sunday, whatever happens"
REPLIED = EventDefinition(
    event_name="user.replied",
    topic=EventTopic.BUSINESS_FACTS,
    description="The customer said something.",
    payload_schema={"type": "object", "properties": {"text": {"type": "string"}}},
)
FIELDS = {"type": "object", "properties": {"id": {"type": "string"}, "note": {"type": "string"}}, "required": ["id"]}
_ITEM = re.compile(r"item-([0-9]+)")
_AMOUNT = re.compile(r'"amount":([0-9]+),"id":"item-([0-9]+)"')
FIRST_AMOUNT = 1_000
TOTAL = str(sum(range(FIRST_AMOUNT, FIRST_AMOUNT + STEPS)))

Answer = Callable[[int], dict[str, Any]]


def _add_up(shown: str) -> str:
    """Return the sum of the amounts of all items; empty if one is not shown."""
    amounts = {int(number): int(amount) for amount, number in _AMOUNT.findall(shown)}
    return str(sum(amounts.values())) if amounts.keys() >= set(range(STEPS)) else ""


@dataclass(frozen=True)
class Scenario:
    """`answer` is the result for an item. `fact` is the needed value: it is written in a request, or computed from one.
    `words` are a search for it. `most` is the median of tokens in a request before facts were kept."""

    goal: dict[str, Any]
    answer: Answer
    fact: str
    words: str
    most: int
    asks_first: bool = False
    stands_there: bool = False
    compute: Callable[[str], str] | None = None

    def read(self, shown: str) -> str:
        """Return the fact, if this request has it."""
        if self.compute is not None:
            return self.compute(shown)
        return self.fact if self.fact in shown else ""


def _say(size: int, **first: Any) -> Answer:
    """Return results of a number of characters; `first` is in the result of item 3."""
    return lambda number: {"id": f"item-{number}", "detail": "x" * size} | (first if number == 3 else {})


def _refuse_one(number: int) -> dict[str, Any]:
    if number == 3:
        raise Reject("supplier ACME is bankrupt")
    return {"id": f"item-{number}", "detail": "x" * 300}


SCENARIOS = {
    "a person's answer": Scenario(
        {"text": "do all"}, _say(40, state="done"), RULE, "", 4_334, asks_first=True, stands_there=True
    ),
    "an id of an early result": Scenario(
        {"text": "do all"},
        lambda number: {"id": f"item-{number}", "customer": f"CUST-{77_341 + number}", "detail": "x" * 600},
        "CUST-77341",
        "customer of item-0",
        5_554,
    ),
    "the amounts of a total": Scenario(
        {"text": "sum all"},
        lambda number: {"id": f"item-{number}", "amount": FIRST_AMOUNT + number},
        TOTAL,
        "amount",
        3_918,
        compute=_add_up,
    ),
    "an item of a list of 200": Scenario(
        {"items": [{"id": f"sku-{n}", "address": f"Street {n}, City", "note": "n" * 60} for n in range(200)]},
        _say(40, state="done"),
        "Street 90, City",
        "address of sku-90",
        4_823,
    ),
    "a note in a result": Scenario(
        {"text": "do all"}, _say(300, note="supplier ACME is bankrupt"), "ACME is bankrupt", "supplier ACME", 5_047
    ),
    "a failure": Scenario({"text": "do all"}, _refuse_one, "ACME is bankrupt", "", 5_047, stands_there=True),
}


class Reader:
    """Model without a memory: it works through the items in order, by the last one in its request."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.lookups = 0

    def decide(self, question: ModelQuestion) -> dict[str, Any]:
        shown = question.messages[1].content
        if "History:" not in shown and self._scenario.asks_first:
            return wait("user.replied", QUESTION)
        number = 1 + max(map(int, _ITEM.findall(shown)), default=-1)
        return self._end(shown) if number >= STEPS else publish("look.up", id=f"item-{number}")

    def _end(self, shown: str) -> dict[str, Any]:
        fact = self._scenario.read(shown)
        if not fact and self.lookups == 0:
            self.lookups += 1
            return {"reasoning": "", "step": {"action": "find_steps", "words": self._scenario.words}}
        return complete({"fact": fact or "unknown"})


def _desk(answer: Answer) -> Tool:
    tool = Tool("desk")
    for name in ("look.up", "book.room", "order.part", "check.stock", "pay.bill"):

        @tool.on_invoke(name, description=f"{name} for one item", payload_schema=FIELDS)
        async def act(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
            found = _ITEM.fullmatch(request.data["id"])
            assert found is not None
            return answer(int(found[1]))

    return tool


def _tokens(question: ModelQuestion) -> int:
    return len(_spell(question)) // CHARS_PER_TOKEN


def _spell(question: ModelQuestion) -> str:
    """Return a request in the order in which a provider reads it."""
    return "".join((json.dumps(question.schema), *(message.content for message in question.messages)))


def _share_that_stays(questions: Sequence[ModelQuestion]) -> float:
    """Return the mean share of a request that is the beginning of the one before."""
    pairs = pairwise(map(_spell, questions))
    return statistics.mean(_alike(before, text) / len(text) for before, text in pairs)


def _alike(one: str, other: str) -> int:
    """Return the length of their common beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


@pytest.mark.parametrize("name", SCENARIOS)
async def test_an_early_fact_is_shown_or_found_by_one_lookup_at_the_last_of_100_steps(name: str) -> None:
    """Of a request, at least nine tenths are the beginning of the one before."""
    scenario = SCENARIOS[name]
    reader = Reader(scenario)
    model = ScriptedReasoner(reader.decide)
    limits = Limits(max_actions=2 * STEPS, max_llm_calls=4 * STEPS, max_tokens=None, max_repeats=None)
    planner = ChoreographyPlanner(
        "planner", goals=["work.wanted"], reasoner=model, external_events=[REPLIED], limits=limits
    )
    async with Platform("sqlite://") as platform:
        await platform.start(planner, _desk(scenario.answer))
        client = platform.as_user(tenant_id="default", user_id="u")
        plan = await client.submit("work.wanted", scenario.goal)
        if scenario.asks_first:
            asked = await plan.next_wait()
            assert asked is not None
            await client.answer(asked.wait_id, {"text": RULE})
        result = await plan.result(timeout=100)
    assert result == {"fact": scenario.fact}
    assert reader.lookups == (0 if scenario.stands_there else 1)
    assert statistics.median(map(_tokens, model.questions)) <= scenario.most
    assert _share_that_stays(model.questions) >= LEAST_THAT_STAYS
