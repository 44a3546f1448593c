"""Blocked plans: a plan with a refused model rests with its deadline, its reason and its time."""

from datetime import timedelta

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Publish
from soorma_ai.kernel.domain.plans import Blocked, PlanStatus
from soorma_ai.kernel.rules.plans.blocking import LONGEST_REASON, ask_again, block, unblock
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from unit.kit import NOW, moment, of_kind, plan

LATER = NOW + timedelta(hours=1)


def test_each_refusal_notifies_operators_once_and_keeps_the_first_time() -> None:
    first = block(plan(), "no key", moment())
    (told,) = of_kind(Publish, first)
    assert (first.plan.status, first.plan.blocked) == (PlanStatus.PAUSED, Blocked("p-1", "no key", NOW))
    assert first.plan.deadline == plan().deadline
    assert (told.event.type, told.event.source, told.event.plan_id) == ("plan.operator.needed", "soorma", "p-1")
    again = block(ask_again(first.plan, LATER), "no quota", replace(moment(), now=LATER))
    (told_again,) = of_kind(Publish, again)
    assert again.plan.blocked == Blocked("p-1", "no quota", NOW), "blocked since the first refusal"
    assert told.event.id != told_again.event.id
    assert told.event.id == of_kind(Publish, block(plan(), "no key", moment()))[0].event.id


def test_a_long_reason_is_clipped() -> None:
    blocked = block(plan(), "x" * 10_000, moment()).plan.blocked
    assert blocked is not None and len(blocked.reason) <= LONGEST_REASON + 1


def test_a_resumed_plan_stays_blocked_until_its_next_step() -> None:
    resumed = ask_again(block(plan(), "no key", moment()).plan, LATER)
    assert resumed.blocked == Blocked("p-1", "no key", NOW, LATER)
    for trigger in (StatusTrigger.GO, StatusTrigger.FAIL, StatusTrigger.CANCEL):
        assert move(resumed, trigger, LATER).blocked is None
    assert move(resumed, StatusTrigger.REST, LATER).blocked == resumed.blocked
    assert unblock(resumed, LATER).blocked is None
