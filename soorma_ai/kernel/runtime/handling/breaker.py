"""The breaker at work on a handling: its events are paid for, and carry the remaining limits."""

from collections.abc import Sequence

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Effect, Publish, Spend
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.rules.breaker import Means, check_depth, cost_of, grant, ledger_of, means_of, most_drawn, spread
from soorma_ai.kernel.runtime.handling.handling import Handling


async def keep_within(handling: Handling) -> None:
    """Pay for the recorded events. Raise LimitExceeded with the name of the limit."""
    events = _published(handling)
    if not events:
        return
    means = _means_of(handling)
    if min(means.nesting, means.hops) == 0:
        check_depth(events, means, await _limits_of(handling))
    lacking = cost_of(events, means) - means.share
    granted, drawn = await _draw(handling, means, lacking, len(events)) if lacking > 0 else (0, ())
    _stamp(handling, spread(events, means, granted), drawn)


def hand_back(handling: Handling) -> None:
    """Put the rest of the share on a failure reply, which is never refused."""
    if events := _published(handling):
        _stamp(handling, spread(events, _means_of(handling)))


def _published(handling: Handling) -> list[EventEnvelope]:
    return [effect.event for effect in handling.recorded if isinstance(effect, Publish)]


def _means_of(handling: Handling) -> Means:
    delivery, limits = handling.delivery, handling.services.limits
    if handling.has_plan:
        limits = handling.plan.limits
    is_owned = handling.has_plan or handling.task is not None
    working = handling.working_lineage
    return means_of(delivery.event, working, limits, is_owned=is_owned, copies=delivery.copies)


async def _draw(handling: Handling, means: Means, lacking: int, parts: int) -> tuple[int, tuple[Effect, ...]]:
    """Return the number of events to draw, and the effect that charges the root."""
    limits = await _limits_of(handling, means.origin)
    ledger = ledger_of(means.origin)
    spent = await handling.services.store.plans.read_spent(ledger)
    granted = grant(lacking, parts, spent.actions, limits)
    return granted, (Spend(ledger, granted, most_drawn(limits)),)


async def _limits_of(handling: Handling, origin: str | None = None) -> Limits:
    """Return the limits of the handling's plan tree, or of `origin` if that is another root."""
    services, root = handling.services, handling.working_lineage.root_plan_id
    if root is None or origin not in (None, root):
        return services.limits
    plan = handling.plan if handling.has_plan else await services.store.plans.plan(root)
    return plan.limits if plan else services.limits


def _stamp(handling: Handling, events: Sequence[EventEnvelope], more: Sequence[Effect] = ()) -> None:
    stamped = iter(events)
    recorded = [replace(one, event=next(stamped)) if isinstance(one, Publish) else one for one in handling.recorded]
    handling.rewrite([*recorded, *more])
