"""A plan in hand equals its rows: the comparison in every test finds each of these bugs."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import hands
import pytest
from kit import PATIENCE, planner, pursue, stock, the_wait
from worst import IS_WORST

from soorma_ai import Platform, PlatformContext
from soorma_ai.kernel.domain.effects import AppendStep, Expect, SavePlan, SaveValue
from soorma_ai.kernel.domain.plan_state import Closed, PlanRow
from soorma_ai.kernel.sql import plan_states
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.plan_states import PlanStates
from soorma_ai.kernel.sql.tables import expectations, plans
from soorma_ai.testing.scripted import complete, publish, publish_all, wait

Plant = Callable[[pytest.MonkeyPatch], None]

RESERVE = "inventory.reserve.requested"
SCRIPT = [
    publish(RESERVE, order_id="A"),
    publish_all(publish(RESERVE, order_id="B"), publish(RESERVE, order_id="C")),
    wait("human.word", "Go on?"),
    publish(RESERVE, order_id="D"),
    complete({}),
]


async def pursue_an_order(platform: Platform) -> None:
    """A plan with a request, a join, a question and values: every kind of a change."""
    minds = planner(SCRIPT, external_events=["human.word"])

    @minds.custom_context
    async def context(plan: Any, context: PlatformContext) -> dict[str, Any]:
        plan.state["asked"] = plan.state.get("asked", 0) + 1
        return {}

    plan = await pursue(platform, "order.received", {}, minds, stock())
    question = await the_wait(platform)
    await platform.answer(question.wait_id, {}, decision="respond")
    await plan.result(timeout=5)


def keep_no(*kinds: type[PlanRow]) -> Plant:
    """A row is written, and the hand is not changed."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        note = Connection.note

        def some(db: Connection, plan_id: str | None, row: PlanRow, size: int = 0) -> None:
            is_first = isinstance(row, SavePlan) and row.expected_version is None
            if is_first or not isinstance(row, kinds):
                note(db, plan_id, row, size)

        monkeypatch.setattr(Connection, "note", some)

    return plant


def write_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hand is changed, and the row is not written."""
    monkeypatch.setattr(plans, "save_value", lambda db, effect: db.note(effect.plan_id, effect))


def write_no_expectation(monkeypatch: pytest.MonkeyPatch) -> None:
    real = expectations.insert

    def insert(db: Connection, expectation: Any) -> None:
        if expectation.kind == "join":
            db.note(expectation.plan_id, Expect(expectation))
        else:
            real(db, expectation)

    monkeypatch.setattr(expectations, "insert", insert)


def change_no_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hand stays as its plan began, and counts as that of the rows."""
    monkeypatch.setattr(plan_states, "fold", lambda state, rows: state)


def settle_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hand stays as first read, over every commit of its plan."""
    monkeypatch.setattr(PlanStates, "apply", lambda self, changes: None)
    monkeypatch.setattr(PlanStates, "find_spent", lambda self, root_plan_id: None)


PLANTED: dict[str, Plant] = {
    "steps": keep_no(AppendStep),
    "the plan's row": keep_no(SavePlan),
    "values": keep_no(SaveValue),
    "opened expectations": keep_no(Expect),
    "closed expectations": keep_no(Closed),
    "a value that is in hand alone": write_no_value,
    "an expectation that is in hand alone": write_no_expectation,
    "a hand that is not changed": change_no_hand,
}


def must_keep_hands() -> None:
    """Skip in the worst mode: there no plan is in hand."""
    if IS_WORST:
        pytest.skip("no plan is in hand here")


@pytest.fixture
def differences() -> Generator[asyncio.Queue[str]]:
    """The differences, as they are found."""
    told = asyncio.Queue[str]()
    hands.LISTENERS.append(told.put_nowait)
    yield told
    hands.LISTENERS.remove(told.put_nowait)


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
async def test_a_hand_that_differs_from_its_rows_is_found(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, differences: asyncio.Queue[str], planted: Plant
) -> None:
    must_keep_hands()
    planted(monkeypatch)
    pursuing = asyncio.ensure_future(pursue_an_order(platform))
    async with asyncio.timeout(PATIENCE):
        assert "in hand" in await differences.get()
    pursuing.cancel()
    await asyncio.gather(pursuing, return_exceptions=True)


async def test_a_hand_unchanged_by_commits_is_found(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, differences: asyncio.Queue[str]
) -> None:
    """Beside other processes such a hand is of an earlier place, and is read again."""
    must_keep_hands()
    settle_nothing(monkeypatch)
    pursuing = asyncio.ensure_future(pursue_an_order(platform))
    if not platform.services.store.database.is_alone:  # type: ignore[attr-defined]
        await pursuing
        assert differences.empty()
        return
    async with asyncio.timeout(PATIENCE):
        assert "in hand" in await differences.get()
    pursuing.cancel()
    await asyncio.gather(pursuing, return_exceptions=True)


async def test_without_a_bug_the_hand_equals_its_rows(platform: Platform, differences: asyncio.Queue[str]) -> None:
    await pursue_an_order(platform)
    assert differences.empty()
