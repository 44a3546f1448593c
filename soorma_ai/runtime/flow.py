"""The flow, all seven words: an event arrives, is routed, a handler gets a context and decides; the decision is
validated, executed in one transaction, and published."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from soorma_ai.core.ending import Failure
from soorma_ai.core.route import route
from soorma_ai.core.settle import MAX_ATTEMPTS, Settled, settle, spent
from soorma_ai.domain.effects import Ack, RetryAfter
from soorma_ai.domain.events import EventTopic
from soorma_ai.errors import LeaseLost, NotFound, Reject, Retry, SoormaError, VersionConflict
from soorma_ai.ports import Delivery
from soorma_ai.runtime.context import Handling, Services, in_hand
from soorma_ai.runtime.execute import execute, validate
from soorma_ai.runtime.logs import warn
from soorma_ai.runtime.replies import tell_requester


@dataclass(frozen=True)
class Route:
    """One handler of an agent. `decide` records what is to happen; `failed` records what the requester is told."""

    topic: EventTopic | None
    event_type: str
    decide: Callable[[Handling], Awaitable[None]]
    failed: Callable[[Handling, Failure], Awaitable[None]]
    continues: bool = False


async def handle(delivery: Delivery, routes: Sequence[Route], services: Services) -> None:
    """One delivery, which has arrived: it is in the inbox, claimed, and its claim is on disk."""
    found = route(routes, delivery.event, agent=delivery.agent, owner=delivery.owner)
    handling = Handling(delivery, services)
    settled = Settled(Ack())
    try:
        if found is None:
            raise NotFound(f"{delivery.agent} has no handler for {delivery.event.type!r} any more")
        if delivery.attempt > MAX_ATTEMPTS:
            settled = spent(delivery.attempt)
        else:
            with in_hand(handling):
                await found.decide(handling)
            await validate(handling)
    except Exception as error:
        settled = settle(error, delivery.attempt)
        handling.forget()
        expected = isinstance(error, SoormaError | Retry | Reject)
        warn("delivery_failed", bug=None if expected else error, **_fields(delivery, repr(error)))
    if settled.failure:
        tell = found.failed if found else tell_requester
        await tell(handling, settled.failure)
    try:
        await execute(handling, settled.disposition)
    except LeaseLost:
        warn("lease_lost", **_fields(delivery, "another owner handles it"))
    except VersionConflict as conflict:
        handling.forget()
        await execute(handling, RetryAfter(timedelta(0), str(conflict)))


def _fields(delivery: Delivery, reason: str) -> dict[str, Any]:
    return {
        "agent": delivery.agent,
        "event_type": delivery.event.type,
        "event_id": delivery.event.id,
        "attempt": delivery.attempt,
        "reason": reason,
    }
