"""Cases are kept by their set, made of reviews once, and go with their user."""

import pytest
from msgspec.structs import replace
from store_kit import NOW, answer, do, entry, gate, later, plan, question, save_running_plan, step, wait

from soorma_ai.features.trials.cases.ports import CASES
from soorma_ai.features.trials.cases.records import CaseKind, DecisionCase, Review
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.effects import Close
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision, Person, Proposal
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.runtime.client.intake import take_answer

ANN = Person(user_id="ann")
CASE = DecisionCase(
    "c-1", "refunds", CaseKind.RIGHT, 1, NOW, plan(), entry(), {"goal": {}}, Showing((), ()), steps=(step(0),)
)
OTHER = replace(CASE, case_id="c-2", name="orders", made_at=later(5), should={"step": {}}, free=("/note",))


async def test_cases_are_found_by_their_set_in_the_order_of_time(store: Store) -> None:
    cases, young = store.part(CASES), replace(CASE, case_id="c-0", made_at=later(1))
    assert await cases.keep_cases([young, CASE, OTHER]) == 3
    assert await cases.cases("default", "refunds", 9) == [CASE, young]
    assert await cases.cases("default", "", 9) == [OTHER, CASE, young]
    assert await cases.cases("default", "", 1) == [OTHER]
    assert await cases.cases("other", "", 9) == []


async def test_a_case_replaces_the_one_with_its_id(store: Store) -> None:
    cases, changed = store.part(CASES), replace(CASE, kind=CaseKind.WRONG)
    assert await cases.keep_cases([CASE]) == 1
    assert await cases.keep_cases([changed]) == 0
    assert await cases.cases("default", "", 9) == [changed]
    assert await cases.remove_case("other", "c-1") is False
    assert await cases.remove_case("default", "c-1") is True
    assert await cases.cases("default", "", 9) == []


@pytest.mark.parametrize(
    ("decision", "reviewed"),
    [(AnswerDecision.EDIT, True), (AnswerDecision.REJECT, True), (AnswerDecision.APPROVE, False), (None, False)],
)
async def test_an_edited_or_rejected_approval_is_a_review(
    store: Store, decision: AnswerDecision | None, *, reviewed: bool
) -> None:
    proposal = Proposal("parcel.wanted", {}, "digest", {"type": "object"})
    asked = replace(question(), allowed_decisions=(*AnswerDecision,), proposal=proposal)
    await save_running_plan(store, gate("a-1", ask=asked))
    if decision is None:
        await do(store, Close("a-1", ExpectationStatus.EXPIRED, NOW))
    else:
        said = answer("x", decision)
        if decision is AnswerDecision.EDIT:
            said = replace(said, payload={"data": {}})
        assert await take_answer(store, "a-1", said, ANN, NOW) == "accepted"
    assert await store.part(CASES).reviews(9) == ([Review("a-1", "default", "plan-1")] if reviewed else [])


async def test_a_review_makes_one_case(store: Store) -> None:
    await save_running_plan(store, gate("a-1"), wait("w-1"))
    for name in ("a-1", "w-1"):
        assert await take_answer(store, name, answer(name, AnswerDecision.REJECT), ANN, NOW) in ("accepted", "invalid")
    cases = store.part(CASES)
    (review,) = await cases.reviews(9)
    assert (await cases.reviews(9, "default"), await cases.reviews(9, "other")) == ([review], [])
    await cases.end_review(review, CASE)
    await cases.end_review(review, OTHER)
    assert (await cases.reviews(9), await cases.cases("default", "", 9)) == ([], [CASE])


async def test_the_cases_of_a_forgotten_user_are_removed(store: Store) -> None:
    cases, bobs = store.part(CASES), plan("plan-2")
    theirs = replace(OTHER, plan=replace(bobs, lineage=replace(bobs.lineage, user_id="bob")))
    mine = replace(CASE, plan=replace(CASE.plan, lineage=replace(CASE.plan.lineage, user_id="ann")))
    await cases.keep_cases([mine, theirs])
    await store.part(UPKEEP).begin_forgetting("default", "ann", NOW)
    while not (await store.part(UPKEEP).forget(100)).is_done:
        pass
    assert await cases.cases("default", "", 9) == [theirs]
