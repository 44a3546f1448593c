"""The only doer: one transaction for everything a handling recorded."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError, Reject, StoreUnavailable, TransientError
from soorma_ai.kernel.domain.effects import AppendStep, Disposition, Effect, Expect, Publish, RetryAfter, Schedule
from soorma_ai.kernel.domain.events import CLIENT, EventTopic
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.schemas import describe
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Clock, Delivery, Settlement, Work
from soorma_ai.kernel.rules.waits.gates import approval_for, hold_recorded
from soorma_ai.kernel.rules.waits.opening import LONGEST_WAIT, Moment, Waiter
from soorma_ai.kernel.rules.waits.replies import CANCELLED, is_cancelled
from soorma_ai.kernel.runtime.handling.breaker import keep_within
from soorma_ai.kernel.runtime.handling.charges import Charges
from soorma_ai.kernel.runtime.handling.check_ahead import check
from soorma_ai.kernel.runtime.handling.handling import Handling, Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.counters import CounterName, outcome_of
from soorma_ai.kernel.runtime.handling.process.signals import questions_of

COMMIT_TRIES = 6
FIRST_PAUSE = 0.2


async def must_be_wanted(handling: Handling) -> None:
    """Refuse to begin a request no longer wanted by its plan or its client; a begun one is seen through."""
    event, store = handling.event, handling.services.store
    if handling.is_in_doubt:
        return
    if event.plan_id is None:
        expected = await store.plans.expectation(event.correlation_id or event.id) if event.source == CLIENT else None
        if expected is not None and is_cancelled(expected):
            raise _no_longer_wanted(handling, "the request is cancelled")
        return
    standing = await store.plans.plan_status(event.plan_id)
    if standing is None:
        return
    status, cancel_requested = standing
    is_stopped = cancel_requested is not None or status is PlanStatus.CANCELLED
    # What nobody expects an answer to was not asked for the plan's own sake.
    has_failed = status is PlanStatus.FAILED and await store.plans.expectation(event.correlation_id or "")
    if is_stopped or has_failed:
        ending = "is cancelled" if is_stopped else "has failed"
        raise _no_longer_wanted(handling, f"the plan that asked for it {ending}")


def _no_longer_wanted(handling: Handling, reason: str) -> Reject:
    has_begun = handling.delivery.fence > 1
    begun = "whether it was done is not known, since it had begun" if has_begun else "it was not begun"
    return Reject(f"{reason}; {begun}", code=CANCELLED)


async def validate(handling: Handling) -> None:
    """Check requests against their receivers' schema before publication (facts are not checked), and hold those in need
    of an approval. A request without a taker is marked, and checked at its delivery. All of it has to be within the
    limits."""
    services = handling.services
    if services.is_remote:
        return
    await keep_within(handling)
    for effect in handling.recorded:
        match effect:
            case Publish(event) if event.topic is EventTopic.ACTION_REQUESTS:
                pass
            case _:
                continue
        definition = await handling.request_type(event.type)
        if definition is None:
            marked = replace(effect, event=event.model_copy(update={"unchecked": True}))
            handling.rewrite(marked if one is effect else one for one in handling.recorded)
            continue
        if faults := await check(event.tenant_id, definition.payload_schema, event.data):
            raise LocalProtocolError(f"request {event.type!r} does not fit its receiver's schema: {describe(faults)}")
        if effect.is_cleared:
            continue
        approval = approval_for(definition, event.data, await _goal_data(handling, event.plan_id))
        if approval:
            moment = Moment(handling.event, handling.agent, services.clock.now(), count())
            waiter = Waiter(
                handling.agent, event.lineage, event.deadline, task_id=handling.task_id, longest=LONGEST_WAIT
            )
            handling.rewrite(hold_recorded(handling.recorded, event, definition, approval, waiter, moment))


async def _goal_data(handling: Handling, plan_id: str | None) -> JsonObject | None:
    """The data of the goal that something is asked for."""
    if plan_id is None:
        return None
    if handling.has_plan and handling.plan.plan_id == plan_id:
        return handling.plan.goal_data
    plan = await handling.services.store.plans.plan(plan_id)
    return plan.goal_data if plan else None


async def execute(handling: Handling, disposition: Disposition, outcome: str | None = None) -> None:
    """Commit the recorded effects. Raise LeaseLost, VersionConflict, StoreUnavailable; then nothing of it happened."""
    services, (first, *following) = handling.services, handling.deliveries
    bill, in_vain, effects = handling.bill.settlements, handling.in_vain, handling.effects
    for observer in services.observers:
        effects = observer.prepare(handling, effects)
    work = Work(first, disposition, effects, bill, tuple(following), in_vain, outcome)
    await patiently(services.clock, lambda: services.store.queue.commit(work, services.clock.now()))
    for observer in services.observers:
        observer.committed(handling, disposition, effects, (*handling.bill.settled, *bill))
    handling.bill.clear()
    _count(handling, disposition, bill)
    if handling.has_plan and handling.plan.status.is_final:
        services.signals.signal([handling.plan.plan_id])
    if isinstance(disposition, RetryAfter):
        services.signals.timers.set()
    _signal(handling, effects)


def _signal(handling: Handling, effects: Sequence[Effect]) -> None:
    """Tell those that wait in this process of committed effects, and the log of a plan that sleeps."""
    signals = handling.services.signals
    for effect in effects:
        match effect:
            case Expect(expectation) if expectation.ask and expectation.root_plan_id:
                signals.signal([questions_of(expectation.root_plan_id)])
            case AppendStep(step) if step.kind is StepKind.PARKED:
                warn("plan_parked", plan_id=step.plan_id, agent=handling.agent, reason=step.note)
            case Schedule():
                signals.timers.set()
            case _:
                pass


def _count(handling: Handling, disposition: Disposition, bill: Sequence[Settlement]) -> None:
    tallies, tenant_id = handling.services.signals.tallies, handling.working_lineage.tenant_id
    tallies.add(tenant_id, CounterName.COMMITS, outcome_of(disposition), count=len(handling.deliveries))
    for settlement in bill:
        tallies.count_settlement(tenant_id, settlement)


async def settle_alone(services: Services, bill: Charges, delivery: Delivery) -> None:
    """Write models' answers without the commit of their effects, before anything runs again. Reservations for calls
    without an answer stay spent: whether that commit was made may be unknown."""
    for settlement in bill.take_owed():
        if settlement.entry is not None:
            with suppress(TransientError):
                await services.store.plans.settle(settlement, delivery)
                services.signals.tallies.count_settlement(delivery.event.tenant_id, settlement)
                bill.settled.append(settlement)


async def patiently(clock: Clock, write: Callable[[], Awaitable[object]]) -> None:
    """Write, again after a short absence of the store or on a full disk: no work of a model or a person is lost by
    that. A write done and reported as failed shows at its repetition."""
    for tries in range(1, COMMIT_TRIES + 1):
        try:
            await write()
        except StoreUnavailable as error:
            if tries == COMMIT_TRIES:
                raise
            warn("store_unavailable", reason=error, tries=tries)
            await clock.sleep(FIRST_PAUSE * 2 ** (tries - 1))
        else:
            return
