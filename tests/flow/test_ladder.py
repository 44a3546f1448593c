"""An unanswered question: people are reminded, others are asked, and every timer ends with the question."""

from datetime import timedelta
from typing import Any

import pytest
from kit import PATIENCE, order, payments, planner, published_events, stock, the_wait, until

from soorma_ai import Approval, Platform
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.kernel.domain.people import ladder_fault
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


async def announcements(platform: Platform, count: int) -> list[tuple[str, Any]]:
    """Return `count` announcements after the opening: (kind, the reminder's number or the new roles)."""

    async def so_many() -> list[tuple[str, Any]]:
        events = (await published_events(platform, topic="notification-events"))[1:]
        found = [(e.type, e.data.get("reminder") or e.data.get("escalated_to")) for e in events]
        return found if len(found) >= count else []

    return await until(platform, so_many)


FIRST, SECOND, THIRD = [("plan.wait.reminded", n) for n in (1, 2, 3)]
ESCALATED = ("plan.wait.escalated", ["director"])


async def test_people_are_reminded_then_other_roles_are_asked_and_the_plan_stays(
    platform: Platform, clock: VirtualClock
) -> None:
    plan = await order(platform, planner([CHARGE, complete({"ok": 1})]), stock(), payments(LADDER))
    question = await the_wait(platform)
    expected: list[tuple[str, Any]] = []
    for hours, what in ((1, FIRST), (1, SECOND), (22, ESCALATED), (6, THIRD)):
        await clock.advance(hours * HOUR)
        expected.append(what)
        assert await announcements(platform, len(expected)) == expected
    reminder = (await published_events(platform, topic="notification-events"))[1]
    assert (reminder.subject, reminder.data["wait_id"]) == (question.wait_id, question.wait_id)
    assert reminder.data["question"] == question.message
    details = await platform.plan(plan.plan_id)
    assert (details.status, len(details.steps)) == ("paused", 2)
    assert (await the_wait(platform)).wait_id == question.wait_id
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    assert (await platform.plan(plan.plan_id)).waiting_seconds == 30 * 3600


async def test_a_snooze_puts_off_reminders_and_escalation_and_not_the_deadline(
    platform: Platform, clock: VirtualClock
) -> None:
    plan = await order(platform, planner([CHARGE, complete({"ok": 1})]), stock(), payments(LADDER))
    question = await the_wait(platform)
    manager = platform.as_user(tenant_id="default", user_id="ann", roles=["manager"])
    director = platform.as_user(tenant_id="default", user_id="dan", roles=["director"])
    with pytest.raises(NotFound):
        await director.inbox.snooze(question.wait_id, clock.now() + HOUR)
    made = await manager.inbox.snooze(question.wait_id, clock.now() + 26 * HOUR)
    assert (made.user_id, made.until) == ("ann", clock.now() + 26 * HOUR)
    assert (await the_wait(platform)).escalates_at == made.until
    await clock.advance(25 * HOUR)
    assert len(await published_events(platform, topic="notification-events")) == 1
    with pytest.raises(NotFound):
        await director.wait(question.wait_id)
    await clock.advance(HOUR)
    assert sorted(await announcements(platform, 2)) == [ESCALATED, SECOND]
    assert (await director.wait(question.wait_id)).wait_id == question.wait_id
    with pytest.raises(LocalProtocolError, match="is not before the question's deadline"):
        await manager.inbox.snooze(question.wait_id, question.opened_at + timedelta(days=2))
    await clock.advance(4 * HOUR)
    assert THIRD in await announcements(platform, 3)
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    assert await platform.services.store.part(PEOPLE).snoozed(question.wait_id) is None
    with pytest.raises(LocalProtocolError, match="not open any more"):
        await manager.inbox.snooze(question.wait_id, clock.now() + HOUR)


async def test_only_approvers_of_the_tenant_and_their_substitutes_snooze_a_question(
    platform: Platform, clock: VirtualClock
) -> None:
    await order(platform, planner([CHARGE, complete({"ok": 1})]), stock(), payments(LADDER))
    wait_id, then = (await the_wait(platform)).wait_id, clock.now() + 26 * HOUR
    for tenant, role, refusal in (
        ("other", "manager", NotFound),
        ("default", "clerk", NotFound),
        ("default", "auditor", LocalProtocolError),
        ("default", "operator", LocalProtocolError),
    ):
        with pytest.raises(refusal):
            await platform.as_user(tenant_id=tenant, user_id="zoe", roles=[role]).inbox.snooze(wait_id, then)
    manager = platform.as_user(tenant_id="default", user_id="ann", roles=["manager"])
    await manager.inbox.away(clock.now() + HOUR, "zoe")
    substitute = platform.as_user(tenant_id="default", user_id="zoe", roles=[])
    assert (await substitute.inbox.snooze(wait_id, then)).user_id == "zoe"
    with pytest.raises(LocalProtocolError, match="is snoozed until"):
        await manager.inbox.snooze(wait_id, then - HOUR)


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
def test_an_approval_with_a_wrong_ladder_is_refused_at_its_declaration(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Approval"):
        Approval(**wrong)
    assert ladder_fault((HOUR,), HOUR, ("director",)) == ""
