"""A plan in hand of one process is that of its rows, whatever another process has done meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest
from postgres_server import LEAVE, Server
from store_kit import (
    NOW,
    answer,
    claim_all,
    do,
    end,
    expectation,
    fact,
    later,
    open_store,
    plan,
    reply,
    save_running_plan,
    state_of,
    step,
    wait,
)

from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import VersionConflict
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.kernel.domain.effects import AppendStep, Close, DropValue, Expect, Postpone, SavePlan, SaveValue
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import PlanStatus, ValueKind
from soorma_ai.kernel.sql import apply, plan_states
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.plan_states import PlanChanges
from soorma_ai.kernel.sql.tables import expectations, plans

Pair = tuple[PostgresStore, PostgresStore]
Change = Callable[[PostgresStore], Awaitable[object]]

AT = ("plan-1", ValueKind.STATE, "a")


@pytest.fixture
async def url(postgres: Server) -> str:
    return postgres.empty()


@pytest.fixture
async def both(url: str) -> AsyncIterator[Pair]:
    async with (
        open_store(PostgresStore(url, ALL_FEATURES)) as one,
        open_store(PostgresStore(url, ALL_FEATURES)) as other,
    ):
        yield one, other


def place_in(url: str) -> int:
    with psycopg.connect(url) as looking:
        looking.execute("SELECT set_config('soorma.house', 'on', true)")
        found = looking.execute("SELECT place FROM soorma.plan WHERE plan_id = 'plan-1'").fetchone()
    assert found is not None
    return int(found[0])


async def begun(store: PostgresStore) -> None:
    """A plan with a step of this process, a request, a wait and a value."""
    await save_running_plan(store, expectation("q-1"), wait("w-1"))
    await do(store, AppendStep(step(0)), SaveValue(*AT, 1))


def is_from_hand(state: PlanState) -> bool:
    """Tell whether this process has folded its own steps: they are none of a state that was read."""
    return len(state.recent) > 0


async def test_a_process_goes_on_with_the_state_of_its_own_commits(both: Pair) -> None:
    one, _ = both
    await begun(one)
    await do(one, AppendStep(step(1)), SavePlan(plan(version=1), 0), SavePlan(plan(version=2), 1))
    await do(one, Close("q-1", ExpectationStatus.CLOSED, NOW))
    state = await state_of(one)
    assert [taken.ordinal for taken in state.recent] == [0, 1]
    assert (state.plan.version, [*state.open]) == (2, ["w-1"])


async def stop(store: PostgresStore) -> None:
    assert await store.plans.cancel("plan-1", "no more", NOW)


async def answer_it(store: PostgresStore) -> None:
    assert await store.plans.answer("w-1", answer("a-1"), fact("wake-1", plan_id="plan-1"), NOW)


async def reply_to_it(store: PostgresStore) -> None:
    await store.queue.arrive([reply("r-1", "q-1")], NOW)


async def replace_reply(store: PostgresStore) -> None:
    await store.database.write(lambda db: expectations.replace_met(db, "q-0", "r-0", "r-1"))


async def forget_a_part(store: PostgresStore) -> None:
    await store.part(UPKEEP).begin_forgetting("default", "local", NOW)
    await store.part(UPKEEP).forget(1)


CHANGES: dict[str, Change] = {
    "a step": lambda store: do(store, AppendStep(step(1))),
    "the plan's row": lambda store: do(store, SavePlan(plan(version=1, status=PlanStatus.PAUSED), 0)),
    "a value": lambda store: do(store, SaveValue(*AT, 2)),
    "a dropped value": lambda store: do(store, DropValue(*AT)),
    "an opened expectation": lambda store: do(store, Expect(expectation("q-2"))),
    "a closed expectation": lambda store: do(store, Close("q-1", ExpectationStatus.EXPIRED, NOW)),
    "a moved deadline": lambda store: do(store, Postpone("plan-1", NOW, later(7200))),
    "a reply": reply_to_it,
    "an answer": answer_it,
    "a cancellation": stop,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_state_that_another_process_has_changed_is_read_again(both: Pair, change: Change) -> None:
    one, other = both
    await begun(one)
    before = await state_of(one)
    await change(other)
    for event_id in ("", "r-1", "wake-1"):
        assert await state_of(one, event_id=event_id) == await state_of(other, event_id=event_id)
    after = await state_of(one)
    assert is_from_hand(before) and not is_from_hand(after)


async def test_a_state_is_taken_from_hand_again_once_it_was_read(both: Pair) -> None:
    one, other = both
    await begun(one)
    await do(other, AppendStep(step(1)))
    assert not is_from_hand(await state_of(one))
    await do(one, AppendStep(step(2)))
    assert [taken.ordinal for taken in (await state_of(one)).recent] == [2]


async def test_a_reply_that_came_by_another_process_is_met_in_hand(both: Pair) -> None:
    one, other = both
    await save_running_plan(one, expectation("q-1"), expectation("q-2"))
    await other.queue.arrive([reply("r-1", "q-1"), reply("r-2", "q-2")], NOW)
    for number in (1, 2):
        state = await state_of(one, event_id=f"r-{number}")
        assert state.met[f"r-{number}"].id == f"q-{number}"


async def test_a_reply_that_takes_the_place_of_another_is_read(both: Pair) -> None:
    one, other = both
    await save_running_plan(one, expectation("q-0"))
    await one.queue.arrive([reply("r-0", "q-0")], NOW)
    assert [*(await state_of(one, event_id="r-0")).met] == ["r-0"]
    await replace_reply(other)
    assert [*(await state_of(one, event_id="r-1")).met] == ["r-1"]


async def test_an_erasure_in_parts_is_seen_after_each_of_them(both: Pair) -> None:
    one, other = both
    lineage = Lineage(tenant_id="default", user_id="local", plan_id="plan-1", root_plan_id="plan-1")
    await do(one, SavePlan(plan(lineage=lineage), None), *(AppendStep(step(number)) for number in range(4)))
    await do(one, Expect(expectation("q-1")))
    assert [*(await state_of(one)).open] == ["q-1"]
    await forget_a_part(other)
    after = await state_of(one)
    assert (is_from_hand(after), [*after.open]) == (False, [])


async def test_a_plan_begun_again_after_its_erasure_is_no_earlier_one(both: Pair, url: str) -> None:
    one, other = both
    lineage = Lineage(tenant_id="default", user_id="local", plan_id="plan-1", root_plan_id="plan-1")
    await do(one, SavePlan(plan(lineage=lineage), None), SaveValue(*AT, "secret"))
    place = place_in(url)
    await other.part(UPKEEP).begin_forgetting("default", "local", NOW)
    while not (await other.part(UPKEEP).forget(250)).is_done:
        pass
    await do(other, SavePlan(plan(lineage=lineage), None))
    while place_in(url) < place:
        await do(other, AppendStep(step(place_in(url))))
    assert place_in(url) == place
    assert (await state_of(one)).values == {}


async def test_the_end_of_a_handling_moves_no_place(both: Pair, url: str) -> None:
    one, _ = both
    await save_running_plan(one, expectation("q-1"))
    await one.queue.arrive([reply("r-1", "q-1")], NOW)
    (delivery,) = await claim_all(one, "planner")
    place = place_in(url)
    await end(one, delivery)
    assert place_in(url) == place
    assert (await state_of(one)).met == {}


async def test_a_commit_moves_a_place_once_however_much_it_changes(both: Pair, url: str) -> None:
    one, _ = both
    await begun(one)
    place = place_in(url)
    await do(one, AppendStep(step(1)), SaveValue(*AT, 2), Expect(expectation("q-2")))
    assert place_in(url) == place + 1


async def test_a_failed_operation_of_a_group_changes_no_plan_in_hand(both: Pair) -> None:
    one, _ = both
    await begun(one)
    done = await asyncio.gather(
        do(one, AppendStep(step(1))),
        do(one, SaveValue(*AT, "never"), AppendStep(step(0))),
        do(one, SaveValue(*AT, 3)),
        return_exceptions=True,
    )
    assert [type(result) for result in done] == [type(None), VersionConflict, type(None)]
    state = await state_of(one)
    assert ([taken.ordinal for taken in state.recent], state.values[AT[1:]]) == ([0, 1], 3)


async def test_a_move_undone_with_its_event_is_made_again_by_the_commit(both: Pair) -> None:
    one, other = both
    await begun(one)

    def stop_in_vain_and_close(db: Connection) -> None:
        place = db.place()
        db.savepoint("event", "default")
        apply.stop(db, "plan-1", "no more", NOW)
        db.execute("ROLLBACK TO event")
        db.give_back_since(place)
        db.execute("RELEASE event")
        apply.close(db, "q-1", ExpectationStatus.EXPIRED, NOW)
        db.published.clear()

    await other.database.write(stop_in_vain_and_close)
    state = await state_of(one)
    assert (state.plan.cancel_requested, [*state.open]) == (None, ["w-1"])


async def test_the_amounts_of_a_tree_are_read_with_every_state(both: Pair) -> None:
    one, other = both
    await begun(one)
    assert (await state_of(one)).spent.actions == 0
    await other.database.write(lambda db: db.execute("UPDATE budget SET actions = 5").rowcount and None)
    with_budget = (
        "INSERT INTO budget (root_plan_id, actions, llm_calls, tokens, cost_usd) VALUES ('plan-1', 5, 0, 0, 0)"
    )
    await other.database.write(lambda db: db.execute(with_budget).rowcount)
    state = await state_of(one)
    assert (state.spent.actions, is_from_hand(state)) == (5, True)


async def test_a_plan_in_hand_is_given_up_with_a_connection(both: Pair, url: str) -> None:
    one, _ = both
    await begun(one)
    assert is_from_hand(await state_of(one))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(LEAVE)
    assert not is_from_hand(await state_of(one))


def move_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are moved by no commit."""
    monkeypatch.setattr(plans, "_SAVE", plans._SAVE.replace(", place = place + 1", ""))
    move_no_others(monkeypatch)


def move_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are moved with the plan's row alone."""
    monkeypatch.setattr(PlanChanges, "unmoved", lambda self: [])


class AnyPlace:
    """Equals every place."""

    def __ne__(self, other: object) -> bool:
        return False


def compare_no_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state in hand is used whatever another process has changed."""
    monkeypatch.setattr(plans, "PlanPlace", lambda seq, number: AnyPlace())


@pytest.mark.parametrize("planted", [move_none, compare_no_places])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_stale_hand_is_found(
    both: Pair, monkeypatch: pytest.MonkeyPatch, change: Change, planted: Callable[[pytest.MonkeyPatch], None]
) -> None:
    one, other = both
    await begun(one)
    planted(monkeypatch)
    await change(other)
    with pytest.raises(AssertionError, match="in hand"):
        await state_of(one)


async def test_a_closed_expectation_that_moves_no_place_is_found(both: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = both
    await begun(one)
    move_no_others(monkeypatch)
    await answer_it(other)
    with pytest.raises(AssertionError, match="in hand"):
        await state_of(one)


async def test_a_place_that_moves_without_its_hand_is_found(both: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = both
    await begun(one)
    monkeypatch.setattr(plan_states, "fold", lambda state, rows: state)
    await answer_it(one)
    with pytest.raises(AssertionError, match="in hand"):
        await state_of(one)


async def test_a_row_that_its_hand_does_not_note_is_found(both: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = both
    await begun(one)
    note = Connection.note

    def note_no_value(db: Connection, plan_id: str | None, row: Any, size: int = 0) -> None:
        if not isinstance(row, SaveValue):
            note(db, plan_id, row, size)

    monkeypatch.setattr(Connection, "note", note_no_value)
    await do(one, SaveValue(*AT, 2), AppendStep(step(1)))
    with pytest.raises(AssertionError, match="in hand"):
        await state_of(one)
