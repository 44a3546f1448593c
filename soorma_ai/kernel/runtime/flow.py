"""The flow, all seven words: an event arrives, is routed, a handler gets a context and decides; the decision is
validated, executed in one transaction, and published. The next deliveries in line of the same plan or task may be
decided in the same way and executed with it: a run."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct

from soorma_ai.errors import (
    ConfigError,
    LeaseLost,
    LimitExceeded,
    NotFound,
    Outage,
    ProtocolError,
    Reject,
    Retry,
    SoormaError,
    TransientError,
    VersionConflict,
)
from soorma_ai.kernel.domain.effects import Ack, Disposition, Hold, InDoubt, RetryAfter
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.values import account_of, clip
from soorma_ai.kernel.ports import LONGEST_RUN, Delivery
from soorma_ai.kernel.rules.delivery.disposition import (
    MAX_ATTEMPTS,
    Disposal,
    again_after_conflict,
    again_after_outage,
    dispose,
    dispose_in_doubt,
    dispose_of_spent,
    outlook,
)
from soorma_ai.kernel.rules.delivery.route import LONGEST_SECONDS, may_be_followed, route
from soorma_ai.kernel.runtime.handling.breaker import hand_back
from soorma_ai.kernel.runtime.handling.doubts import ask_people, last_word
from soorma_ai.kernel.runtime.handling.execute import execute, settle_alone, validate
from soorma_ai.kernel.runtime.handling.handler_task import HandlerTask
from soorma_ai.kernel.runtime.handling.handling import Handling, InHand, Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.counters import CounterName
from soorma_ai.kernel.runtime.handling.replies import tell_for_agent

# Seconds, where a store takes nothing for longer than a commit is patient.
PAUSE_BETWEEN_TRIES = 0.5
LONGEST_TOLD_AGAIN = 60


class Route(Struct, frozen=True):
    """Handler of an agent. `decide` records its effects; `failed` records the failure for the requester.

    `rests` records the absence of a needed service, or the need of an operator. `finds_out`: a handler that must not
    run twice, with a look-up of the outcome at a new delivery. `attempts` is the number of deliveries without an end
    before it counts as a possible killer of the process.
    """

    topic: EventTopic | None
    event_type: str
    decide: Callable[[Handling], Coroutine[Any, Any, None]]
    failed: Callable[[Handling, Failure], Awaitable[None]]
    continues: bool = False
    finds_out: bool = False
    rests: Callable[[Handling, Disposition], Awaitable[None]] | None = None
    attempts: int = MAX_ATTEMPTS


async def handle(hand: HandlerTask, routes: Sequence[Route], services: Services) -> None:
    """Handle one delivery, which has arrived: it is in the inbox, claimed, and its claim is on disk."""
    delivery = hand.delivery
    found = route(routes, delivery.event, agent=delivery.agent, owner=delivery.owner)
    handling = Handling(delivery, services, hand.bill)
    handling.begun = hand.begun
    disposal, failed = Disposal(Ack()), None
    try:
        if found is None:
            raise NotFound(f"{delivery.agent} has no handler for {delivery.event.type!r} any more")
        if delivery.attempt > found.attempts:
            disposal = dispose_of_spent(delivery.attempt, in_doubt=handling.is_in_doubt)
        else:
            await _decide(hand, handling, found)
            await validate(handling)
            handling = await _go_on(hand, handling, found)
    except Exception as error:
        disposal, failed = _dispose(handling, found, error), error
        handling = handling.anew()
    try:
        disposal = await last_word(handling, disposal)
        if failed is not None:
            _report(handling, failed, disposal)
        await _tell(handling, found, disposal)
        await execute(handling, disposal.disposition)
    except LeaseLost as lost:
        await settle_alone(services, hand.bill, delivery)
        _report_lost(handling, lost)
    except VersionConflict as conflict:
        await settle_alone(services, hand.bill, delivery)
        await _put_off(handling, again_after_conflict(conflict, delivery.event.id, delivery.fence))
    except (ProtocolError, ConfigError, LimitExceeded) as refused:
        if len(handling.deliveries) > 1:
            # One of them did it, which is refused when it is handled alone.
            await _put_off(handling, RetryAfter(timedelta(0), str(refused), counts=False))
            return
        warn("effects_refused", **_fields(delivery, refused))
        await _give_up(handling, found, refused)
    except TransientError as away:
        await settle_alone(services, hand.bill, delivery)
        await _put_off(handling, again_after_outage(away, delivery.fence))


async def _put_off(handling: Handling, again: RetryAfter) -> None:
    """Give back an uncommitted delivery as soon as the store takes it: a lease to its end would count as an attempt. A
    process that ends meanwhile gives it back too, or its lease ends."""
    while True:
        try:
            await execute(handling.anew(), again)
            return
        except LeaseLost as lost:
            _report_lost(handling, lost)
            return
        except TransientError as error:
            warn("commit_failed", agent=handling.agent, reason=error)
            await handling.services.clock.sleep(PAUSE_BETWEEN_TRIES)


async def _decide(hand: HandlerTask, handling: Handling, found: Route) -> None:
    """Run the handler; its context ends with it, so that nothing that it left behind records on it any more."""
    try:
        with InHand(handling):
            await hand.run(found.decide(handling), handling.delivery)
        handling.close()
    except BaseException:
        handling.discard()
        raise


async def _go_on(hand: HandlerTask, handling: Handling, found: Route) -> Handling:
    """Handle the next deliveries in line, each on the result of the one before, as long as all goes well and nothing
    has to be committed first. Return the handling of the last good one; it is that of all of them."""
    if not found.continues or handling.is_again or not _may_be_followed(hand, handling):
        return handling
    turn: Handling | None = None
    try:
        for delivery in await handling.services.store.queue.behind(handling.delivery, LONGEST_RUN - 1):
            turn = handling.turn_to(delivery)
            await _decide(hand, turn, found)
            await validate(turn)
            if turn.is_put_off:
                break
            handling, turn = turn, None
            if not _may_be_followed(hand, handling):
                break
    except Exception:
        # What fails is disposed of when it is handled alone: its pauses and its attempts begin there.
        if turn is not None and not turn.is_put_off:
            handling.in_vain = (turn.delivery,)
    return handling


def _may_be_followed(hand: HandlerTask, handling: Handling) -> bool:
    if handling.has_asked or handling.services.clock.monotonic() > hand.begun + LONGEST_SECONDS:
        return False
    return not (handling.has_plan and handling.plan.status.is_final) and may_be_followed(handling.recorded)


def _dispose(handling: Handling, found: Route | None, error: Exception) -> Disposal:
    attempt = handling.delivery.attempt
    if handling.is_in_doubt:
        can_find_out = found is not None and found.finds_out
        return dispose_in_doubt(error, attempt, can_find_out=can_find_out, claims=handling.delivery.fence)
    is_asked = handling.event.topic is EventTopic.ACTION_REQUESTS or handling.has_plan or handling.task is not None
    can_rest = found is not None and found.rests is not None
    claims = handling.delivery.fence
    return dispose(error, attempt, handling.tries, claims=claims, is_asked=is_asked, can_rest=can_rest)


async def _tell(handling: Handling, found: Route | None, disposal: Disposal) -> None:
    if disposal.failure:
        tell = found.failed if found else tell_for_agent
        await tell(handling, disposal.failure)
        hand_back(handling)
    elif isinstance(disposal.disposition, InDoubt):
        await ask_people(handling, disposal.disposition.reason)
        hand_back(handling)
    elif disposal.rests and found and found.rests:
        await found.rests(handling, disposal.disposition)


async def _give_up(handling: Handling, found: Route | None, refused: Exception) -> None:
    """Give up recorded effects impossible to store: they are refused, or their rows are unreadable. The requester is
    told, if that is possible."""
    disposal = await last_word(handling, _dispose(handling, found, refused))
    telling = handling.anew()
    try:
        await _tell(telling, found, disposal)
        await execute(telling, disposal.disposition)
    except (ProtocolError, ConfigError):
        await execute(handling.anew(), disposal.disposition)


def _report(handling: Handling, failed: Exception, disposal: Disposal) -> None:
    """Log a failure, with its consequence. An error expected by the author, or a known one, is no bug while it is tried
    again."""
    delivery = handling.delivery
    is_tried_again = isinstance(disposal.disposition, RetryAfter) and not handling.is_in_doubt
    expected = is_tried_again or isinstance(failed, SoormaError | Retry | Reject)
    then = outlook(disposal.disposition, delivery.seq)
    if isinstance(disposal.disposition, Hold):
        warn("plan_blocked", plan_id=delivery.owner, agent=delivery.agent, reason=failed, then=then)
        return
    if isinstance(failed, Outage):  # whoever called the model has told all of it
        said = clip(str(failed), LONGEST_TOLD_AGAIN)
        warn("plan_rests", plan_id=delivery.owner, agent=delivery.agent, reason=said, then=then)
        return
    warn("delivery_failed", bug=None if expected else failed, **_fields(delivery, failed), then=then)


def _report_lost(handling: Handling, lost: LeaseLost) -> None:
    delivery = handling.delivery
    handling.services.signals.tallies.add(delivery.event.tenant_id, CounterName.LEASES_LOST)
    warn("lease_lost", **_fields(delivery, lost))


def _fields(delivery: Delivery, error: Exception) -> dict[str, Any]:
    return {
        "agent": delivery.agent,
        "event_type": delivery.event.type,
        "event_id": delivery.event.id,
        "attempt": delivery.attempt,
        "reason": account_of(error),
    }
