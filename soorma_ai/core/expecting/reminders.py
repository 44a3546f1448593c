"""What happens to a question that nobody answers: people are reminded, then others may answer too.

Both are told by events that move nothing. Who may answer is judged by the question's record and the time, so that it
holds whether or not a timer fired.
"""

from datetime import datetime

from soorma_ai.domain.effects import Schedule
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Expectation
from soorma_ai.domain.values import Json, JsonObject, derived_id

WAIT_REMINDED = "plan.wait.reminded"
WAIT_ESCALATED = "plan.wait.escalated"


def reminders(asked: Expectation, announced: EventEnvelope) -> tuple[Schedule, ...]:
    """Timers that go with the question. What would be due at its deadline or later comes to nothing."""
    ask = asked.ask
    if ask is None:
        return ()
    timers = [
        Schedule(
            f"remind:{asked.id}:{number}",
            asked.opened_at + after,
            _reminder(announced, WAIT_REMINDED, asked, asked.opened_at + after, {"reminder": number}),
            guards=asked.id,
            series="reminder",
        )
        for number, after in enumerate(sorted(ask.reminders), 1)
    ]
    if ask.escalate_after is not None:
        due = asked.opened_at + ask.escalate_after
        roles: list[Json] = [*ask.escalate_to]
        event = _reminder(announced, WAIT_ESCALATED, asked, due, {"escalated_to": roles})
        timers.append(Schedule(f"escalate:{asked.id}", due, event, guards=asked.id, series="escalation"))
    return tuple(timer for timer in timers if asked.deadline is None or timer.due < asked.deadline)


def _reminder(
    announced: EventEnvelope, type: str, asked: Expectation, due: datetime, more: JsonObject
) -> EventEnvelope:
    changed = {
        "id": derived_id(type, asked.id, due.isoformat()),
        "type": type,
        "time": due,
        "data": {**announced.data, **more},
    }
    return announced.model_copy(update=changed)
