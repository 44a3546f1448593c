"""Working memory of plans, sessions, and the searches beside them."""

from typing import Any

import pytest
from msgspec.structs import replace
from store_kit import NOW, agent, claim_all, do, end, event, expectation, later, plan

from soorma_ai.errors import LocalProtocolError, VersionConflict
from soorma_ai.features.plan_memory.ports import PLAN_MEMORY
from soorma_ai.kernel.domain.effects import Expect, SavePlan, SaveTask
from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryKey,
    OpenSession,
    SessionSummary,
    StoredValue,
    StoreMemory,
)
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.ports import Store

AT = MemoryKey("default", "plan-1", "k")


async def value(store: Store, at: MemoryKey = AT) -> Json:
    return (await store.memory.recall(at)).value


@pytest.mark.parametrize("given", [None, 0, 1.5, "text", [], [1, [2]], {"a": [None, True]}, "[", "é\n", 2**70])
async def test_a_stored_value_is_read_and_a_never_stored_one_is_not_there(store: Store, given: Json) -> None:
    assert await store.memory.recall(AT) == StoredValue(0, exists=False, value=None)
    assert await store.memory.memory_keys("default", "plan-1") == []
    await do(store, StoreMemory(AT, given))
    assert await store.memory.recall(AT) == StoredValue(1, exists=True, value=given)


async def test_every_change_is_another_version_and_a_deletion_too(store: Store) -> None:
    absent = (await store.memory.recall(AT)).version
    await do(store, StoreMemory(AT, "a"))
    await do(store, DropMemory(AT))
    gone = await store.memory.recall(AT)
    assert (gone.exists, gone.value) == (False, None)
    with pytest.raises(VersionConflict):
        await do(store, StoreMemory(AT, "over what came and went", absent))
    await do(store, StoreMemory(AT, "b"))
    assert (await store.memory.recall(AT)).version == gone.version + 1 == 3


async def test_another_version_than_was_read_is_a_conflict_and_changes_nothing(store: Store) -> None:
    await do(store, StoreMemory(AT, "a"))
    read = (await store.memory.recall(AT)).version
    await do(store, StoreMemory(AT, "b", read))
    for stale in (StoreMemory(AT, "c", read), DropMemory(AT, read), AppendMemory(AT, (1,), read)):
        with pytest.raises(VersionConflict, match="'k'"):
            await do(store, StoreMemory(replace(AT, key="other"), 1), stale)
    with pytest.raises(VersionConflict):
        await do(store, IncrementMemory(replace(AT, key="new"), 1, expected_version=1))
    assert await value(store) == "b"
    assert await store.memory.memory_keys("default", "plan-1") == ["k"]


async def test_increments_add_up_and_an_absent_value_begins_at_zero(store: Store) -> None:
    for by in (1, 2.5, -1):
        await do(store, IncrementMemory(AT, by))
    assert await value(store) == 2.5
    await do(store, DropMemory(AT))
    await do(store, IncrementMemory(AT, 4))
    assert await value(store) == 4


async def test_appended_values_stand_behind_stored_ones(store: Store) -> None:
    await do(store, AppendMemory(AT, ("a",)))
    await do(store, AppendMemory(AT, ("b", ["c"])))
    assert await value(store) == ["a", "b", ["c"]]
    await do(store, StoreMemory(AT, [0]))
    await do(store, AppendMemory(AT, (1,)))
    assert await value(store) == [0, 1]
    await do(store, DropMemory(AT))
    await do(store, AppendMemory(AT, (2,)))
    assert await value(store) == [2]


@pytest.mark.parametrize(
    ("stored", "change"),
    [
        *((stored, IncrementMemory(AT, 1)) for stored in (None, True, "7", {"a": 1}, [1])),
        *((stored, AppendMemory(AT, (1,))) for stored in (None, 7, "[", {"a": 1})),
        (1.7e308, IncrementMemory(AT, 1.7e308)),
    ],
)
async def test_only_a_number_is_incremented_to_a_number_and_only_a_list_is_appended_to(
    store: Store, stored: Json, change: IncrementMemory | AppendMemory
) -> None:
    await do(store, StoreMemory(AT, stored))
    with pytest.raises(LocalProtocolError, match="'k'"):
        await do(store, change)
    assert await value(store) == stored


async def test_plans_and_tenants_do_not_share_their_memory(store: Store) -> None:
    places = [AT, replace(AT, plan_id="plan-2"), replace(AT, tenant_id="other"), replace(AT, key="K")]
    await store.part(PLAN_MEMORY).memorize([StoreMemory(at, n) for n, at in enumerate(places)], NOW)
    assert [await value(store, at) for at in places] == [0, 1, 2, 3]
    assert await store.memory.memory_keys("default", "plan-1") == ["K", "k"]


def session(session_id: str, **changes: Any) -> SessionSummary:
    return replace(SessionSummary(session_id, 0, NOW, NOW, "ann", None, {}), **changes)


def in_session(plan_id: str, session_id: str | None, tenant: str = "default", seconds: float = 0) -> PlanRecord:
    lineage = Lineage(tenant_id=tenant, user_id="bob", session_id=session_id, plan_id=plan_id, root_plan_id=plan_id)
    at = later(seconds)
    return plan(plan_id, lineage=lineage, created_at=at, updated_at=at, answer_key=f"key-{plan_id}")


async def test_the_first_plan_of_a_session_makes_it(store: Store) -> None:
    await do(store, SavePlan(in_session("p-1", "s", seconds=5), None))
    await do(store, SavePlan(in_session("p-2", "s", seconds=9), None), SavePlan(in_session("p-3", None), None))
    assert await store.memory.sessions("default", 9) == [
        session("s", plan_count=2, created_at=later(5), last_activity=later(9), user_id="bob")
    ]
    assert await store.memory.sessions("other", 9) == []
    assert await store.memory.session("other", "s") is None


@pytest.mark.parametrize("begun_by_a_plan", [False, True])
async def test_a_session_keeps_its_first_name(store: Store, begun_by_a_plan: bool) -> None:
    joining = SavePlan(in_session("p-1", "s", seconds=5), None)
    naming = OpenSession("default", session("s", name="Trip", metadata={"to": "Rome"}, user_id="bob"))
    await do(store, *((joining, naming) if begun_by_a_plan else (naming, joining)))
    await do(store, OpenSession("default", session("s", name="Again", metadata={"to": "Oslo"}, user_id="bob")))
    found = await store.memory.session("default", "s")
    assert found is not None and (found.name, found.metadata, found.plan_count) == ("Trip", {"to": "Rome"}, 1)
    assert found.user_id == "bob"


@pytest.mark.parametrize("begun_by_a_plan", [False, True])
async def test_a_session_of_another_user_is_neither_opened_nor_changed(store: Store, begun_by_a_plan: bool) -> None:
    theirs = SavePlan(in_session("p-1", "s"), None) if begun_by_a_plan else OpenSession("default", session("s"))
    await do(store, theirs)
    before = await store.memory.sessions("default", 9)
    mine = OpenSession("default", session("s", name="Mine", user_id="eve"))
    with pytest.raises(VersionConflict, match="another user's"):
        await store.part(PLAN_MEMORY).memorize([mine], NOW)
    with pytest.raises(VersionConflict, match="another user's"):
        await store.queue.send([event("e-1")], None, NOW, session=mine)
    assert await store.memory.sessions("default", 9) == before
    assert await store.events.event("e-1") is None


async def test_an_event_is_sent_with_its_new_session(store: Store) -> None:
    await store.queue.send([event("e-1")], None, NOW, session=OpenSession("default", session("s")))
    await store.queue.send([event("e-2")], None, NOW, session=OpenSession("default", session("s")))
    assert await store.memory.sessions("default", 9) == [session("s")]
    assert len(await store.events.events()) == 2


async def test_the_session_with_the_latest_activity_comes_first(store: Store) -> None:
    for n in range(3):
        await do(store, SavePlan(in_session(f"p-{n}", f"s-{n}", seconds=n), None))
    moved = replace(in_session("p-0", "s-0"), updated_at=later(60), version=1)
    await do(store, SavePlan(moved, 0))
    assert [one.session_id for one in await store.memory.sessions("default", 9)] == ["s-0", "s-2", "s-1"]
    assert [one.session_id for one in await store.memory.sessions("default", 1)] == ["s-0"]


async def test_plans_are_found_by_the_session_of_their_tenant_and_by_status(store: Store) -> None:
    done = replace(in_session("p-2", "s"), status=PlanStatus.COMPLETED)
    theirs = in_session("p-4", "s", tenant="other")
    await do(store, *(SavePlan(one, None) for one in (in_session("p-1", "s"), done, in_session("p-3", "t"), theirs)))
    for tenant, status, expected in (
        ("default", None, ["p-2", "p-1"]),
        ("default", PlanStatus.COMPLETED, ["p-2"]),
        ("default", PlanStatus.FAILED, []),
        ("other", None, ["p-4"]),
    ):
        found = await store.plans.plans(tenant_id=tenant, status=status, root_plan_id=None, limit=9, session_id="s")
        assert [one.plan_id for one in found] == expected
    assert [one.plan_count for one in await store.memory.sessions("other", 9)] == [1]


async def test_a_plan_is_found_by_the_reply_key_of_its_goal(store: Store) -> None:
    for n in (1, 2):
        await do(store, SavePlan(replace(in_session(f"p-{n}", None), answer_key="key"), None))
    found = await store.plans.plan_answering("default", "key")
    assert found is not None and found.plan_id == "p-2", "the newest"
    assert await store.plans.plan_answering("other", "key") is None
    assert await store.plans.plan_answering("default", "no") is None


async def test_expectations_are_found_by_group_and_by_name(store: Store) -> None:
    ours = [expectation(f"q-{n}", plan_id=None, task_id="t", group_id="g") for n in range(3)]
    await do(store, *(Expect(one) for one in (*ours, expectation("alone"))))
    assert await store.plans.group("g") == ours
    assert await store.plans.group("h") == []
    assert await store.plans.expectations_by_id(["q-1", "nobody"]) == [ours[1]]
    assert await store.plans.expectations_by_id([]) == []


async def test_the_progress_of_the_receivers_of_an_event_is_read(store: Store) -> None:
    await store.registry.register([agent("one", "work.asked"), agent("two", "work.asked")], NOW)
    await store.queue.arrive([event("e-1"), event("e-2", "nobody.takes")], NOW)
    (delivery,) = await claim_all(store, "one")
    told = {
        (one.event_id, one.agent): (one.has_begun, one.is_dead)
        for one in await store.events.receivers_of(["e-1", "e-2", "x"])
    }
    assert told == {("e-1", "one"): (True, False), ("e-1", "two"): (False, False)}
    await end(store, delivery)
    assert {one.agent: one.has_begun for one in await store.events.receivers_of(["e-1"])} == {"one": True, "two": False}


async def test_the_workers_of_one_request_are_known(store: Store) -> None:
    for name in ("one", "two"):
        task = TaskRecord("t", name, "work.asked", {}, Lineage(), "t", "done", EventTopic.ACTION_RESULTS, NOW, {})
        await do(store, SaveTask(task, None))
    assert sorted(await store.plans.agents_of_task("t")) == ["one", "two"]
    assert await store.plans.agents_of_task("u") == []
