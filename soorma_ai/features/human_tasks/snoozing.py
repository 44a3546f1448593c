"""Snooze: puts off the reminders and the escalation of a question until a moment. The right to answer by then, and the
deadline, stay as they are. All snoozes of a question together last 30 days at most, and none shortens another. The time
left in a pause of the plan bounds a snooze, since the plan may resume at once."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.features.human_tasks.claims import not_open_fault
from soorma_ai.features.human_tasks.records import Snooze
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.states import RESUMED
from soorma_ai.kernel.rules.plans.pausing import deadline_if_resumed

LONGEST_SNOOZE = timedelta(days=30)


def snooze_fault(
    asked: Expectation, found: Snooze | None, until: datetime, now: datetime, returning: datetime | None = None
) -> str:
    """Return why a question cannot be snoozed until this moment; empty where it can. `found` is its snooze so far,
    `returning` its earliest deadline after a pause."""
    if until.tzinfo is None:
        return f"the moment {until.isoformat()} has no time zone; give an aware datetime"
    if fault := not_open_fault(asked, now):
        return fault
    spelled = until.isoformat(timespec="seconds")
    if until <= now:
        return f"{spelled} is over; give a moment from now on"
    if asked.deadline is not None and until >= asked.deadline:
        deadline = asked.deadline.isoformat(timespec="seconds")
        return f"{spelled} is not before the question's deadline, {deadline}; give an earlier moment"
    if returning is not None and until >= returning:
        deadline = returning.isoformat(timespec="seconds")
        return (
            f"{spelled} is not before {deadline}, the deadline if the paused plan resumes now; give an earlier moment"
        )
    begun = found.at if found is not None else now
    if until > begun + LONGEST_SNOOZE:
        first = "now" if found is None else f"the first snooze, {begun.isoformat(timespec='seconds')}"
        return f"{spelled} is more than {LONGEST_SNOOZE.days} days from {first}; give an earlier moment"
    if found is not None and until < found.until:
        return f"the question is snoozed until {found.until.isoformat(timespec='seconds')}; give no earlier moment"
    return ""


def returning_deadline(asked: Expectation, root: PlanRecord | None, now: datetime) -> datetime | None:
    """Return the earliest deadline of a question without one in the tree of a paused plan. The question of the pause
    itself has none: its answer ends the pause."""
    if root is None or root.paused is None or asked.deadline is not None:
        return None
    ends_pause = asked.plan_id == root.plan_id and asked.event_type == RESUMED
    return None if ends_pause else deadline_if_resumed(root.paused, now)


def current_snooze(snooze: Snooze | None, now: datetime) -> Snooze | None:
    """Return a snooze that lasts on; None for none, and for one that is over."""
    return snooze if snooze is not None and now < snooze.until else None


def put_off(asked: Expectation, until: datetime, now: datetime) -> Expectation:
    """Return the question with one reminder at `until` in the place of those due from now to then, and with its
    escalation then at the earliest. An escalation that has come stands."""
    ask = asked.ask
    if ask is None:
        return asked
    passed, span = now - asked.opened_at, until - asked.opened_at
    left = [after for after in ask.reminders if not passed < after < span]
    moved = [span] if len(left) < len(ask.reminders) else []
    escalate_after = ask.escalate_after
    if escalate_after is not None and escalate_after > passed:
        escalate_after = max(escalate_after, span)
    return replace(asked, ask=replace(ask, reminders=tuple(sorted({*left, *moved})), escalate_after=escalate_after))
