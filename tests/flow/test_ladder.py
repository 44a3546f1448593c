"""A question that nobody answers: people are reminded, others are asked, and every timer ends with the question."""

from datetime import timedelta
from typing import Any

import pytest
from kit import PATIENCE, order, payments, planner, published, stock, the_wait, until

from soorma_ai import Approval, Platform
from soorma_ai.domain.people import ladder_fault
from soorma_ai.errors import ConfigError
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

CHARGE = publish("payment.charge.requested", amount=12000)
HOUR = timedelta(hours=1)
LADDER = Approval(
    approvers=("manager",),
    timeout=timedelta(days=2),
    reminders=(HOUR, 2 * HOUR, 30 * HOUR),
    escalate_after=24 * HOUR,
    escalate_to=("director",),
)


async def held(platform: Platform, approval: Approval = LADDER) -> Any:
    plan = await order(platform, planner([CHARGE, complete({"ok": 1})]), stock(), payments(approval))
    return plan, await the_wait(platform)


async def told(platform: Platform) -> list[tuple[str, Any]]:
    """What was announced of the question, after its opening: (what, the reminder's number or the new roles)."""
    events = await published(platform, topic="notification-events")
    return [(e.type, e.data.get("reminder") or e.data.get("escalated_to")) for e in events[1:]]


async def is_told(platform: Platform, count: int) -> list[tuple[str, Any]]:
    async def so_many() -> list[tuple[str, Any]]:
        found = await told(platform)
        return found if len(found) >= count else []

    return await until(platform, so_many)


FIRST, SECOND, THIRD = [("plan.wait.reminded", n) for n in (1, 2, 3)]
ESCALATED = ("plan.wait.escalated", ["director"])


async def test_people_are_reminded_then_others_are_asked_and_nothing_moves(
    platform: Platform, clock: VirtualClock
) -> None:
    plan, question = await held(platform)
    expected: list[tuple[str, Any]] = []
    for hours, what in ((1, FIRST), (1, SECOND), (22, ESCALATED), (6, THIRD)):
        await clock.advance(hours * HOUR)
        expected.append(what)
        assert await is_told(platform, len(expected)) == expected
    reminder = (await published(platform, topic="notification-events"))[1]
    assert (reminder.subject, reminder.data["wait_id"]) == (question.wait_id, question.wait_id)
    assert reminder.data["message"] == question.message
    details = await platform.plan(plan.plan_id)
    assert (details.status, len(details.steps)) == ("paused", 2)
    assert (await the_wait(platform)).wait_id == question.wait_id
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    assert (await platform.plan(plan.plan_id)).waiting_seconds == 30 * 3600


@pytest.mark.parametrize(
    "wrong",
    [
        {"reminders": (timedelta(0),)},
        {"escalate_after": HOUR},
        {"escalate_to": ("director",)},
        {"escalate_after": HOUR, "escalate_to": "director"},
        {"escalate_after": -HOUR, "escalate_to": ("director",)},
    ],
)
def test_an_approval_says_at_once_what_is_wrong_with_its_ladder(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Approval"):
        Approval(**wrong)
    assert ladder_fault((HOUR,), HOUR, ("director",)) == ""
