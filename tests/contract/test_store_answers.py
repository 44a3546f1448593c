"""An answer counts once, and a plan is asked to stop once."""

import asyncio

import pytest
from store_kit import NOW, answer, do, event, expectation, find, gate, later, plan, save_running_plan, unsent_ids, wait

from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.effects import SavePlan, Schedule
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision, Person
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED, CANCEL_REQUESTED, wake_for, wake_plan
from soorma_ai.kernel.runtime.client.intake import take_answer

ANN = Person(user_id="ann")


@pytest.mark.parametrize("asked", [wait("a-1"), gate("a-1")], ids=["wait", "gate"])
async def test_an_accepted_answer_closes_the_question_and_wakes_its_plan(store: Store, asked: Expectation) -> None:
    await save_running_plan(store, asked)
    await do(store, Schedule("t-1", later(3600), event("expiry"), guards="a-1"))
    given = answer("act-1")
    assert await take_answer(store, "a-1", given, ANN, later(5)) == "accepted"
    found = await find(store, "a-1")
    wake = wake_for(ANSWERED, asked, later(5))
    assert (found.status, found.answer, found.closed_at) == (ExpectationStatus.MET, given, later(5))
    assert found.met_by == wake.id
    assert await store.plans.find_met("plan-1", wake.id) == found
    assert [kept.event for kept in await store.queue.unsent(10)] == [wake]
    assert await store.queue.next_due([], NOW) is None


@pytest.mark.parametrize("count", [2, 25])
async def test_of_several_people_at_once_one_counts(store: Store, count: int) -> None:
    await answered_at_once(store, count)


async def answered_at_once(store: Store, count: int) -> None:
    await save_running_plan(store, gate("a-1"))
    decisions = (AnswerDecision.APPROVE, AnswerDecision.REJECT)
    crowd = [answer(f"act-{n}", decisions[n % 2], user=f"user-{n}") for n in range(count)]
    outcomes = await asyncio.gather(
        *(take_answer(store, "a-1", given, Person(user_id=given.user_id), NOW) for given in crowd)
    )
    assert sorted(outcomes) == ["accepted"] + ["duplicate"] * (count - 1)
    assert (await find(store, "a-1")).answer == crowd[[*map(str, outcomes)].index("accepted")]
    assert len(await unsent_ids(store)) == 1


async def test_an_answer_and_the_expiry_at_once_leave_one_outcome(store: Store) -> None:
    await save_running_plan(store, *(gate(f"a-{n}") for n in range(10)))
    await do(store, *(Schedule(f"t-{n}", NOW, event(f"x-{n}"), guards=f"a-{n}") for n in range(10)))
    results = await asyncio.gather(
        *(take_answer(store, f"a-{n}", answer(f"act-{n}"), ANN, NOW) for n in range(5)),
        store.queue.fire(NOW, 50),
        *(take_answer(store, f"a-{n}", answer(f"act-{n}"), ANN, NOW) for n in range(5, 10)),
    )
    for n in range(10):
        found = await find(store, f"a-{n}")
        outcome = results[n if n < 5 else n + 1]
        assert (outcome == "accepted") is (found.status is ExpectationStatus.MET)
        assert (found.answer is not None) is (found.status is ExpectationStatus.MET)


@pytest.mark.parametrize(
    ("wait_id", "person"),
    [("nothing", ANN), ("a-1", Person(tenant_id="other")), ("q-1", ANN), ("a-", ANN)],
    ids=["unknown", "another tenant", "no question", "a prefix"],
)
async def test_an_id_without_a_question_to_this_tenant_is_not_found(store: Store, wait_id: str, person: Person) -> None:
    await save_running_plan(store, gate("a-1"), expectation("q-1"))
    with pytest.raises(NotFound, match=f"{wait_id} .*{person.tenant_id}"):
        await take_answer(store, wait_id, answer("act-1"), person, NOW)


async def test_cancelling_asks_the_plan_to_stop_and_wakes_it_once_for_the_first_reason(store: Store) -> None:
    await do(store, SavePlan(plan(version=3), None))
    reasons = ["too dear", *(f"reason {n}" for n in range(4))]
    assert await asyncio.gather(*(store.plans.cancel("plan-1", reason, later(5)) for reason in reasons)) == [True] * 5
    asked = plan(version=4, cancel_requested="too dear", updated_at=later(5))
    assert await store.plans.plan("plan-1") == asked
    assert [kept.event for kept in await store.queue.unsent(10)] == [wake_plan(CANCEL_REQUESTED, asked, later(5))]
