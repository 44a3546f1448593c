"""Hand-over of held requests: each is judged again by its present definition."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.rules.choices.offer import held_definition
from soorma_ai.kernel.rules.waits.answers import held_fault
from soorma_ai.kernel.rules.waits.replies import INVALID_REQUEST, refuse


def let_go(
    gate: Expectation | None, held: EventEnvelope, registered: Sequence[RegisteredEvent], now: datetime
) -> EventEnvelope:
    """Return a request that silence lets go; the message of its refusal, if its data is off the present definition."""
    proposal = gate.ask.proposal if gate and gate.ask else None
    definition = held_definition(registered, proposal) if proposal else None
    fault = held_fault(held.data, definition) if definition else ""
    return refuse(held, INVALID_REQUEST, fault, now) if fault else held
