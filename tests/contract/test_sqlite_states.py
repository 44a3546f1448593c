"""A plan in hand equals its rows, also after changes in the copies of its readers."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from time import perf_counter

import pytest
from msgspec.structs import replace
from store_kit import do, expectation, find_plan, gate, open_store, plan, save_running_plan, state_of, step

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.domain.effects import AppendStep, DropValue, SavePlan, SaveValue
from soorma_ai.kernel.domain.expectations import ExpectationKind, Join
from soorma_ai.kernel.domain.people import Ask, Proposal
from soorma_ai.kernel.domain.plans import PlanStatus, ValueKind
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.sql.tables import plans


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        yield store


async def must_be_in_hand(store: SqliteStore) -> None:
    """Compare the plan in hand with its rows; the kit does."""
    assert store.database.states is not None
    assert store.database.states.find("plan-1") is not None
    await state_of(store)


async def test_a_file_changed_by_another_process_meanwhile_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path, ALL_FEATURES)
    async with open_store(store):
        await do(store, SavePlan(plan(), None))
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE plan SET status = 'failed'")
    async with open_store(store):
        assert (await find_plan(store)).status is PlanStatus.FAILED


async def test_a_store_in_memory_is_empty_after_reopening() -> None:
    store = SqliteStore(None, ALL_FEATURES)
    async with open_store(store):
        await do(store, SavePlan(plan(), None))
    async with open_store(store):
        assert await store.plans.plan("plan-1") is None


async def test_a_reader_of_a_plan_changes_a_copy(store: SqliteStore) -> None:
    await do(store, SavePlan(plan(goal_data={"a": [1]}, result={"b": [2]}), None))
    found = await find_plan(store)
    found.goal_data["a"] = found.result["b"] = "changed"  # type: ignore[index,call-overload]
    again = await find_plan(store)
    assert (again.goal_data, again.result) == ({"a": [1]}, {"b": [2]})


async def test_a_writer_of_a_plan_keeps_its_values(store: SqliteStore) -> None:
    data: JsonObject = {"a": 1}
    result: dict[str, Json] = {"b": 2}
    await do(store, SavePlan(plan(), None))
    await do(store, SavePlan(plan(version=1, goal_data=data, result=result), 0))
    data["a"] = result["b"] = "changed"
    await must_be_in_hand(store)


async def test_a_new_plan_keeps_no_value_of_its_writer(store: SqliteStore) -> None:
    result: dict[str, Json] = {"b": 2}
    await do(store, SavePlan(plan(result=result), None))
    result["b"] = "changed"
    await must_be_in_hand(store)


async def test_an_expectation_in_hand_shares_nothing_with_its_writer(store: SqliteStore) -> None:
    asked: JsonObject = {"a": 1}
    join = expectation("j-1", ExpectationKind.JOIN, join=Join((("work.asked", asked),), 1))
    proposal = Proposal(event_type="work.asked", data=asked, digest="d", payload_schema={})
    held = gate("g-1")
    ask: Ask = held.ask  # type: ignore[assignment]
    await save_running_plan(store, join, replace(held, ask=replace(ask, proposal=proposal)))
    asked["a"] = "changed"
    await must_be_in_hand(store)


async def test_the_end_of_a_join_counts_with_its_bytes(store: SqliteStore) -> None:
    long = {"places": "x" * 100_000}
    await do(store, SavePlan(plan(), None), AppendStep(step(0, join_id="j-1", fires=True, data=long)))
    found = await store.database.read(lambda db: plans.state(db, "plan-1"))
    assert found is not None
    assert found[0].size > 100_000


async def test_a_plan_of_many_values_is_changed_in_linear_time(store: SqliteStore) -> None:
    keys = [str(number) for number in range(8_000)]
    await do(store, SavePlan(plan(), None), *(SaveValue("plan-1", ValueKind.STATE, key, 1) for key in keys))
    begun = perf_counter()
    await do(store, *(DropValue("plan-1", ValueKind.STATE, key) for key in keys))
    assert perf_counter() - begun < 1
