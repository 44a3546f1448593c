"""A handling's effects land together, in order, or not at all."""

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec.structs import replace
from store_kit import (
    NOW,
    answer,
    do,
    end,
    event,
    expectation,
    find,
    find_plan,
    gate,
    hold_delivery,
    later,
    plan,
    question,
    save_running_plan,
    state_of,
    step,
    unsent_ids,
    wait,
)

from soorma_ai.errors import LocalProtocolError, VersionConflict
from soorma_ai.kernel.domain.effects import (
    Ack,
    AppendStep,
    Close,
    DeadLetter,
    Disposition,
    Effect,
    Expect,
    Publish,
    RetryAfter,
    SavePlan,
    SaveValue,
    Schedule,
    Spend,
    Unschedule,
)
from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.expectations import Arrival, Expectation, ExpectationKind, ExpectationStatus, Join
from soorma_ai.kernel.domain.history import JoinProgress
from soorma_ai.kernel.domain.limits import Limits, Spent
from soorma_ai.kernel.domain.people import Ask, Proposal
from soorma_ai.kernel.domain.plan_state import StepMark
from soorma_ai.kernel.domain.plans import PlanStatus, ValueKind
from soorma_ai.kernel.ports import Place, Store, Work
from soorma_ai.kernel.rules.fold import progress_of


@pytest.mark.parametrize("taken", [0, 31, 32, 39])
async def test_of_many_steps_all_are_appended_or_none(store: Store, taken: int) -> None:
    await do(store, SavePlan(plan(version=1), None))
    steps = [step(n) for n in range(40)]
    with pytest.raises(VersionConflict, match="already"):
        await do(store, *map(AppendStep, steps), AppendStep(steps[taken]))
    assert await store.plans.steps("plan-1") == []
    await do(store, *map(AppendStep, steps))
    assert await store.plans.steps("plan-1") == steps


async def test_a_plan_is_read_as_it_was_saved_and_made_once(store: Store) -> None:
    given = plan(
        limits=Limits(max_cost_usd=1.25, deadline=timedelta(days=3, microseconds=7), max_actions=None),
        goal_data={"deep": [1, {"x": None}, 2.0, "ü"]},
        deadline=later(0.000001),
        result=["any", "json"],
        version=7,
    )
    await do(store, SavePlan(given, None))
    with pytest.raises(VersionConflict, match="exists already"):
        await do(store, SavePlan(plan(status=PlanStatus.FAILED), None))
    assert await store.plans.plan("plan-1") == given
    assert await store.plans.plan("nothing") is None


async def test_a_plan_is_saved_over_the_version_it_was_read_at(store: Store) -> None:
    with pytest.raises(VersionConflict):
        await do(store, SavePlan(plan(version=2), 1))
    await do(store, SavePlan(plan(version=1), None))
    await do(store, SavePlan(plan(version=2, current_state="next"), 1))
    with pytest.raises(VersionConflict, match="version 1"):
        await do(store, SavePlan(plan(version=2, current_state="stale"), 1))
    stored = await find_plan(store)
    assert (stored.version, stored.current_state) == (2, "next")


async def test_of_many_saves_at_once_over_one_version_one_counts(store: Store) -> None:
    await do(store, SavePlan(plan(version=1), None))
    plans = [plan(version=2, current_state=f"{n}") for n in range(10)]
    works = [
        Work(await hold_delivery(store), Ack(), (SavePlan(one, 1), Publish(event(one.current_state)))) for one in plans
    ]
    results = await asyncio.gather(*(store.queue.commit(work, NOW) for work in works), return_exceptions=True)
    assert [type(result) for result in results].count(VersionConflict) == 9
    assert await unsent_ids(store) == [(await find_plan(store)).current_state]


async def test_a_failed_commit_leaves_the_delivery_in_hand_and_nothing_else(store: Store) -> None:
    await do(store, SavePlan(plan(version=1), None), AppendStep(step(0)))
    delivery = await hold_delivery(store)
    effects: tuple[Effect, ...] = (
        Publish(event("out")),
        SavePlan(plan(version=2), 1),
        Expect(expectation("q-1")),
        Spend("plan-1", 1, None),
        Schedule("t-1", later(5), event("tick")),
        AppendStep(step(0)),
    )
    with pytest.raises(VersionConflict, match="step 0"):
        await store.queue.commit(Work(delivery, Ack(), effects), NOW)
    assert await unsent_ids(store) == []
    assert await store.plans.expectation("q-1") is None
    assert (await store.plans.read_spent("plan-1")).actions == 0
    assert await store.queue.next_due([], NOW) is None
    assert (await find_plan(store)).version == 1
    await end(store, delivery)


async def test_steps_are_read_in_order_whole_or_from_one_on(store: Store) -> None:
    await do(store, *(AppendStep(step(n, data={"n": n})) for n in (0, 2, 1)), AppendStep(step(0, "plan-2")))
    assert await store.plans.steps("plan-1") == [step(n, data={"n": n}) for n in (0, 1, 2)]
    assert await store.plans.steps("plan-1", 1) == [step(1, data={"n": 1}), step(2, data={"n": 2})]
    assert await store.plans.steps("plan-1", 3) == []
    assert await store.plans.steps("none") == []


async def test_the_steps_of_some_numbers_are_read_of_their_plan_alone(store: Store) -> None:
    mine = [step(n, data={"n": n}) for n in range(5)]
    await do(store, *map(AppendStep, mine), AppendStep(step(3, "plan-2", data="another's")))
    assert await store.plans.steps_at("plan-1", {3, 1, 99, 10**9 - 1, -1}) == [mine[1], mine[3]]
    assert await store.plans.steps_at("plan-1", ()) == []
    assert await store.plans.steps_at("none", range(10_000)) == []


async def test_the_state_of_a_plan_counts_its_steps_by_their_fingerprint_with_the_last_note(store: Store) -> None:
    await save_running_plan(store)
    marks = [("a", "first"), ("b", ""), ("a", "last"), (None, "none")]
    await do(store, *(AppendStep(step(n, fingerprint=mark, note=note)) for n, (mark, note) in enumerate(marks)))
    await do(store, AppendStep(step(0, "plan-2", fingerprint="a")))
    assert (await state_of(store)).marks == {"a": StepMark(2, "last"), "b": StepMark(1)}


async def test_the_state_of_a_plan_has_all_its_values_expectations_and_spending(store: Store) -> None:
    theirs = expectation("q-3", plan_id="plan-2")
    opened = [expectation("q-2"), expectation("q-1", opened_at=later(-1)), expectation("q-4"), theirs]
    saved = [SaveValue("plan-1", ValueKind.STATE, "b", {"n": 1}), SaveValue("plan-1", ValueKind.RESULT, "a", None)]
    others = [SaveValue("plan-2", ValueKind.STATE, "b", 2), Spend("plan-2", 9, None)]
    await save_running_plan(store, *opened)
    await do(store, *saved, Spend("root-1", 3, None), *others, Close("q-4", ExpectationStatus.CLOSED, NOW))
    root = (await find_plan(store)).root_plan_id
    await do(store, Spend(root, 4, None))
    found = await state_of(store)
    assert found.values == {(ValueKind.RESULT, "a"): None, (ValueKind.STATE, "b"): {"n": 1}}
    assert [*found.open.values()] == [opened[1], opened[0]] == await store.plans.expectations(plan_id="plan-1")
    assert found.spent == Spent(actions=4) == await store.plans.read_spent(root)
    assert {(one.kind, one.key): one.value for one in await store.plans.plan_values("plan-1")} == found.values
    assert await store.plans.state("none") is None


async def test_a_state_in_hand_shares_nothing_with_its_writers_and_readers(store: Store) -> None:
    await save_running_plan(store)
    kept, data = {"n": [1]}, {"n": [1]}
    await do(store, SaveValue("plan-1", ValueKind.STATE, "b", kept), AppendStep(step(0, data=data)))
    kept["n"].append(2)
    data["n"].append(2)
    found = await state_of(store)
    assert found.values == {(ValueKind.STATE, "b"): {"n": [1]}}
    assert all(one.data == {"n": [1]} for one in found.recent)


async def test_plans_are_listed_newest_first_and_filtered(store: Store) -> None:
    await do(store, SavePlan(plan("a", tenant="one"), None), SavePlan(plan("b", tenant="two"), None))
    await do(store, SavePlan(plan("a-1", tenant="one", root_plan_id="a", parent_plan_id="a"), None))
    await do(store, SavePlan(plan("a", tenant="one", status=PlanStatus.COMPLETED, version=1), 0))

    async def listed(
        tenant_id: str | None = None, status: PlanStatus | None = None, root: str | None = None, limit: int = 9
    ) -> list[str]:
        found = await store.plans.plans(tenant_id=tenant_id, status=status, root_plan_id=root, limit=limit)
        return [one.plan_id for one in found]

    assert await listed() == ["a-1", "b", "a"]
    assert await listed(limit=1) == ["a-1"]
    assert await listed(tenant_id="one") == ["a-1", "a"]
    assert await listed(status=PlanStatus.COMPLETED) == ["a"]
    assert await listed(root="a") == ["a-1", "a"]
    assert await listed(tenant_id="one", root="a") == ["a-1", "a"]
    assert await listed(tenant_id="one", status=PlanStatus.RUNNING) == ["a-1"]
    assert await listed(status=PlanStatus.COMPLETED, root="a") == ["a"]
    assert await listed(tenant_id="one", status=PlanStatus.RUNNING, root="a") == ["a-1"]


async def test_closing_counts_once_and_takes_its_timers_along(store: Store) -> None:
    await save_running_plan(store, expectation("q-1"), expectation("q-2"))
    await do(
        store,
        Schedule("t-1", later(5), event("t-1"), guards="q-1"),
        Schedule("t-2", later(6), event("t-2"), guards="q-1"),
        Schedule("t-3", later(7), event("t-3"), guards="q-2"),
    )
    await do(store, Close("q-1", ExpectationStatus.CLOSED, later(1)), Close("q-1", ExpectationStatus.MET, later(2)))
    closed = await find(store, "q-1")
    assert (closed.status, closed.closed_at) == (ExpectationStatus.CLOSED, later(1))
    assert await store.queue.next_due([], NOW) == later(7)
    await do(store, Close("nothing", ExpectationStatus.CLOSED, NOW))


async def test_expectations_are_listed_oldest_first_by_plan_and_tenant(store: Store) -> None:
    await save_running_plan(
        store,
        expectation("c", opened_at=later(1)),
        expectation("b", opened_at=NOW),
        wait("a", opened_at=NOW),
        gate("d", plan_id="plan-2", opened_at=NOW),
        expectation("e", plan_id="plan-3", tenant_id="other"),
    )
    await do(store, Close("b", ExpectationStatus.CLOSED, NOW))

    async def listed(plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True) -> list[str]:
        found = await store.plans.expectations(plan_id=plan_id, tenant_id=tenant_id, only_open=only_open)
        return [one.id for one in found]

    assert await listed("plan-1") == ["a", "c"]
    assert await listed("plan-1", only_open=False) == ["a", "b", "c"]
    assert await listed(tenant_id="default") == ["a", "d", "c"]
    assert await listed(tenant_id="other", only_open=False) == ["e"]
    assert await listed("plan-1", "other") == []
    assert await listed() == ["a", "d", "e", "c"]


async def test_questions_are_listed_by_their_deadlines_and_of_the_tenant_alone(store: Store) -> None:
    await save_running_plan(
        store,
        wait("a", deadline=None),
        gate("b", deadline=later(9)),
        wait("c", deadline=later(5).astimezone(timezone(timedelta(hours=9)))),
        expectation("d", ExpectationKind.DOUBT, deadline=later(5), opened_at=later(1)),
        wait("e", tenant_id="other"),
        expectation("f", deadline=NOW),
        wait("g", deadline=later(1)),
    )
    await do(store, Close("g", ExpectationStatus.CLOSED, NOW))

    async def listed(limit: int = 9) -> list[str]:
        return [one.id for one in await store.plans.questions("default", limit)]

    assert await listed() == ["c", "d", "b", "a"]
    assert await listed(2) == ["c", "d"]
    doubts = await store.plans.questions("default", 9, kind=ExpectationKind.DOUBT)
    assert [one.id for one in doubts] == ["d"]
    assert await store.plans.count_questions("default") == 4


async def test_questions_are_read_on_from_each_of_them_in_both_directions(store: Store) -> None:
    def asked(id: str, user: str, *approvers: str, deadline: datetime | None) -> Expectation:
        made = wait(id, user_id=user, deadline=deadline)
        assert made.ask is not None
        return replace(made, ask=replace(made.ask, approvers=approvers))

    order = ["a", "b", "c", "d", "e"]
    dues = [later(1), later(5), later(5), None, None]
    mine = [asked(id, "ann", deadline=due) for id, due in zip(order, dues, strict=True) if id in "ace"]
    bens = [asked(id, "ben", "cfo", deadline=due) for id, due in zip(order, dues, strict=True) if id in "bd"]
    await save_running_plan(store, *bens, *mine)

    async def listed(place: Place | None, limit: int = 9, user: str | None = None, *roles: str) -> list[str]:
        found = await store.plans.questions("default", limit, user_id=user, roles=roles, beyond=place)
        return [one.id for one in found]

    for number, id in enumerate(order):
        behind, before = Place(id), Place(id, is_back=True)
        for who in ((None,), ("ann", "cfo")):
            assert await listed(behind, 9, *who) == order[number + 1 :]
            assert await listed(before, 9, *who) == order[:number]
            assert await listed(behind, 2, *who) == order[number + 1 :][:2]
            assert await listed(before, 2, *who) == order[:number][-2:]
        assert await listed(behind, 9, "ann") == [one for one in order[number + 1 :] if one in "ace"]
    await do(store, Close("c", ExpectationStatus.CLOSED, NOW))
    assert await listed(Place("c")) == ["d", "e"]
    assert await listed(Place("none")) == []
    assert await store.plans.count_questions("default", user_id="ann") == 2
    assert await store.plans.count_questions("default", user_id="ann", roles=["cfo"]) == 4


async def test_held_requests_of_clients_are_counted_by_person_without_those_of_agents(store: Store) -> None:
    def of(user_id: str) -> Ask:
        held = Proposal("pay", {}, "d", {}, request=event(user_id).model_copy(update={"user_id": user_id}))
        return replace(question(), proposal=held)

    loose: dict[str, Any] = {"plan_id": None, "root_plan_id": None, "agent": CLIENT}
    await save_running_plan(
        store,
        *(gate(f"a-{n}", ask=of("ann"), user_id="ann", **loose) for n in range(3)),
        gate("b", ask=of("ben"), user_id="ben", **loose),
        gate("c", ask=of("ann"), user_id="ann", **(loose | {"agent": "shop"})),
        gate("d", ask=of("ann"), user_id="ann"),
        gate("e", ask=of("ann"), user_id="ann", tenant_id="other", **loose),
    )
    await do(store, Close("a-0", ExpectationStatus.CLOSED, NOW))
    assert [await store.plans.count_held("default", user, 9) for user in ("ann", "ben", "eve")] == [2, 1, 0]
    assert await store.plans.count_held("default", "ann", 1) == 1


async def test_open_questions_are_found_by_the_root_of_their_tree_or_the_beginning_of_their_id(store: Store) -> None:
    await save_running_plan(
        store,
        wait("ab-1", opened_at=later(1)),
        gate("ab-2", plan_id="plan-2", root_plan_id="plan-1"),
        wait("ab-3", plan_id=None, root_plan_id="plan-1", task_id="t-1", opened_at=later(2)),
        expectation("ab-4", plan_id="plan-3", root_plan_id="plan-3"),
        wait("ab-5", tenant_id="other", root_plan_id=None),
        gate("b-6"),
    )
    await do(store, Close("ab-1", ExpectationStatus.CLOSED, NOW))
    assert [one.id for one in await store.plans.open_in_tree("plan-1")] == ["ab-2", "b-6", "ab-3"]
    assert await store.plans.open_in_tree("plan-2") == []

    async def beginning(letters: str, limit: int = 9, tenant_id: str = "default") -> list[str]:
        return [one.id for one in await store.plans.questions_beginning(tenant_id, letters, limit)]

    assert await beginning("ab-") == ["ab-2", "ab-3", "ab-1"]
    assert await beginning("") == ["ab-2", "ab-3", "b-6", "ab-1"]
    assert await beginning("ab", 1) == ["ab-2"]
    assert [await beginning(letters) for letters in ("b", "c", "ab-22", "%")] == [["b-6"], [], [], []]
    assert await beginning("a", tenant_id="other") == ["ab-5"]


@pytest.mark.parametrize("kind", ExpectationKind)
async def test_an_expectation_is_read_as_it_was_opened(store: Store, kind: ExpectationKind) -> None:
    given = replace(gate("g-1", producers=("a", "b"), keys=("plan:plan-1",)), kind=kind)
    await save_running_plan(store, given)
    assert await store.plans.expectation("g-1") == given
    assert await store.plans.expectation("nothing") is None


async def test_actions_are_spent_up_to_their_limit_over_the_whole_tree(store: Store) -> None:
    works = [Work(await hold_delivery(store), Ack(), (Spend("plan-1", 1, 4),)) for _ in range(12)]
    results = await asyncio.gather(*(store.queue.commit(work, NOW) for work in works), return_exceptions=True)
    assert sum(isinstance(result, Arrival) for result in results) == 4
    with pytest.raises(VersionConflict, match="4 actions"):
        await do(store, Spend("plan-1", 1, 4))
    await do(store, Spend("plan-1", 5, None), Spend("plan-2", 1, 1))
    assert (await store.plans.read_spent("plan-1")).actions == 9


async def test_effects_apply_in_the_order_they_were_recorded(store: Store) -> None:
    with pytest.raises(LocalProtocolError, match="record the expectation first"):
        await do(store, Schedule("t-1", later(5), event("t-1"), guards="q-1"), Expect(expectation("q-1")))
    await do(
        store,
        Expect(expectation("q-1")),
        Schedule("t-1", later(5), event("t-1"), guards="q-1"),
        Close("q-1", ExpectationStatus.CLOSED, NOW),
        Schedule("t-2", later(6), event("t-2"), guards="q-1"),
        Schedule("t-3", later(7), event("t-3")),
        Unschedule("t-3"),
    )
    assert await store.queue.next_due([], NOW) is None


@pytest.mark.parametrize(
    "how", [Ack(), RetryAfter(timedelta(0), "again"), DeadLetter("no")], ids=["ack", "retry", "dead"]
)
async def test_effects_land_with_every_disposition(store: Store, how: Disposition) -> None:
    delivery = await hold_delivery(store)
    await store.queue.commit(Work(delivery, how, (Publish(event("out")),)), NOW)
    assert await unsent_ids(store) == ["out"]


async def test_an_unstorable_value_is_refused_and_stores_nothing(store: Store) -> None:
    with pytest.raises(LocalProtocolError, match="cannot be stored"):
        await do(store, SavePlan(replace(plan(), version=2**70), None))
    assert await store.plans.plan("plan-1") is None


async def test_a_search_for_invalid_unicode_is_refused(store: Store) -> None:
    with pytest.raises(LocalProtocolError, match="looked for"):
        await store.plans.plan("\ud800")


async def test_the_branches_of_a_join_are_found_in_order_with_the_step_of_its_firing(store: Store) -> None:
    await do(store, SavePlan(plan("p-1"), None))
    joins = ["j", None, "j", "other"]
    await do(store, *(AppendStep(step(n, "p-1", join_id=join)) for n, join in enumerate(joins)))
    assert [found.ordinal for found in await store.plans.branches_that_came("p-1", "j")] == [0, 2]
    state = await state_of(store, "p-1")
    assert (progress_of(state, "j"), progress_of(state, "none")) == (JoinProgress(2), JoinProgress())
    join = expectation("j", ExpectationKind.JOIN, plan_id="p-1", join=Join((("part", {}), ("part", {})), need=2))
    await do(store, Expect(join))
    assert progress_of(await state_of(store, "p-1"), "j") == JoinProgress(2, needed=2)
    fired = step(4, "p-1", join_id="j", fires=True)
    await do(store, AppendStep(fired))
    assert progress_of(await state_of(store, "p-1"), "j") == JoinProgress(2, fired)
    await do(store, Close("j", ExpectationStatus.CLOSED, NOW))
    assert progress_of(await state_of(store, "p-1"), "j") == JoinProgress(2, fired)


async def test_open_questions_are_listed_by_their_user_and_by_their_roles(store: Store) -> None:
    def asked(id: str, user: str, *approvers: str, deadline: float = 60, tenant: str = "default") -> Expectation:
        made = wait(id, user_id=user, tenant_id=tenant, deadline=later(deadline))
        assert made.ask is not None
        return replace(made, ask=replace(made.ask, approvers=approvers, escalate_to=("boss",) if approvers else ()))

    async def ids(user: str, *roles: str, limit: int = 9) -> list[str]:
        return [one.id for one in await store.plans.questions("default", limit, user_id=user, roles=roles)]

    await save_running_plan(
        store,
        asked("anns", "ann", deadline=50),
        asked("bens", "ben", "cfo", "ceo", deadline=40),
        asked("both", "ann", "cfo", deadline=30),
        asked("elsewhere", "ann", "cfo", tenant="other"),
    )
    assert await ids("ann") == ["both", "anns"]
    assert await ids("ann", "cfo", "ceo") == ["both", "bens", "anns"]
    assert await ids("ann", "cfo", limit=2) == ["both", "bens"]
    assert await ids("eve", "boss") == ["both", "bens"]
    assert await ids("eve", "clerk") == []
    ladders = await store.plans.ladders("default", "ben", ["boss", "ceo"], 9)
    assert [one.id for one in ladders] == ["both"]
    assert await store.plans.ladders("default", "ben", [], 9) == []
    assert (await find(store, "bens")).user_id == "ben"
    await do(store, Close("both", ExpectationStatus.CLOSED, NOW))
    assert await ids("ann", "cfo") == ["bens", "anns"]


async def test_an_answer_is_known_in_its_tree_by_its_id(store: Store) -> None:
    await save_running_plan(store, wait("mine", plan_id=None, root_plan_id="plan-1", task_id="t-1"), wait("other"))
    assert await store.plans.answer("mine", answer("act-1"), event("wake", root_plan_id="plan-1"), NOW)
    asked = [("plan-1", "act-1"), ("plan-1", "act-2"), ("plan-2", "act-1")]
    assert [await store.plans.was_answered(*one) for one in asked] == [True, False, False]
    asked = [("t-1", "act-1"), ("t-1", "act-2"), ("t-2", "act-1")]
    assert [await store.plans.task_was_answered(*one) for one in asked] == [True, False, False]
