"""Rules for a newly opened expectation: an early event, or a later change of the offer, may meet it at once."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.schema_cost import MOST_IN_A_TRANSACTION
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.rules.arrival.effects import Effect, ForgetEarly, Meet, Open, Put, Wake
from soorma_ai.kernel.rules.choices.offer import make_offer
from soorma_ai.kernel.rules.waits.answers import may_meet
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED, OFFER_CHANGED, wake_for


class EarlyEvent(Struct, frozen=True):
    """An event that came before the wait that it fits, and its place in the log."""

    seq: int
    event: EventEnvelope


def owner_of(expectation: Expectation) -> str:
    """Return the owner key of the line for its meeting event."""
    return expectation.plan_id or expectation.task_id or expectation.id


def names_of(expectation: Expectation) -> tuple[tuple[str, str], ...]:
    """Return event types with keys, for outside events to find it. Only an open wait has any: no event opens a gate."""
    if expectation.kind is not ExpectationKind.WAIT or expectation.status is not ExpectationStatus.OPEN:
        return ()
    return tuple((event_type, key) for event_type in expectation.event_types for key in expectation.keys)


def fits(wait: Expectation, event: EventEnvelope) -> bool:
    if wait.ask is None or event.type in wait.others:
        return True
    return not violations(wait.ask.response_schema, event.data, most=MOST_IN_A_TRANSACTION)


def first_to_meet(wait: Expectation, came: Iterable[EarlyEvent]) -> EarlyEvent | None:
    """The first to meet it of events that came early under its names, in this order."""
    return next((early for early in came if may_meet(wait, early.event) and fits(wait, early.event)), None)


def open_met(wait: Expectation, early: EventEnvelope, now: datetime, *, was_handed: bool) -> tuple[Effect, ...]:
    """Open a wait that this event meets at once. `was_handed`: to the agent that waits now, as a subscriber; so only a
    wake-up can still bring it to the plan."""
    handing = (
        Wake(wake_for(ANSWERED, wait, now, causation_id=early.id)) if was_handed else Put(wait.agent, owner_of(wait))
    )
    return Open(_meet(wait, early.id, now)), ForgetEarly(), handing


def park(expectation: Expectation, live: Iterable[RegisteredEvent], now: datetime) -> tuple[Effect, ...]:
    """Wait for an offer. One that came since the plan looked is an answer at once: its registration saw no wait."""
    offer = make_offer(expectation.agent, live, (), None)
    if not any(offer.takes(name) for name in expectation.event_types):
        return (Open(expectation),)
    wake = wake_for(OFFER_CHANGED, expectation, now)
    return Open(_meet(expectation, wake.id, now)), Wake(wake)


def look_again(parked: Iterable[Expectation], tenants: Sequence[str | None], now: datetime) -> Iterator[Effect]:
    """Wake plans parked before a change of the offer to these tenants; None among them is a shared agent."""
    for one in parked:
        if None in tenants or one.tenant_id in tenants:
            wake = wake_for(OFFER_CHANGED, one, now)
            yield Meet(one.id, wake.id)
            yield Wake(wake)


def _meet(expectation: Expectation, met_by: str, now: datetime) -> Expectation:
    return replace(expectation, status=ExpectationStatus.MET, closed_at=now, met_by=met_by)
