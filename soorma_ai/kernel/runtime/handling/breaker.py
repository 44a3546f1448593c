"""The breaker at work on a handling: its events are paid for, and carry the remaining limits."""

from collections.abc import Iterable, Sequence

from soorma_ai.kernel.domain.effects import Effect, Publish, Spend
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.rules.breaker import (
    Means,
    check_depth,
    cost_of,
    grant,
    kinds_of,
    ledger_of,
    means_of,
    most_drawn,
    spread,
)
from soorma_ai.kernel.runtime.handling.handling import Handling


async def keep_within(handling: Handling) -> None:
    """Pay for the recorded events. Raise LimitExceeded with the name of the limit."""
    recorded = handling.recorded
    events = _published(recorded)
    if not events:
        return
    means, kinds = _means_of(handling), kinds_of(events)
    if means.nesting == 0 or means.hops == 0:
        check_depth(events, means, await _limits_of(handling))
    left, drawn = means.share - cost_of(kinds, means), tuple[Effect, ...]()
    if left < 0:
        granted, drawn = await _draw(handling, means, -left, len(events))
        left += granted
    _stamp(handling, recorded, spread(events, kinds, means, left), drawn)


def hand_back(handling: Handling) -> None:
    """Put the rest of the share on a failure reply, which is never refused."""
    recorded = handling.recorded
    if events := _published(recorded):
        means, kinds = _means_of(handling), kinds_of(events)
        left = means.share - cost_of(kinds, means)
        _stamp(handling, recorded, spread(events, kinds, means, left))


def _published(recorded: Iterable[Effect]) -> list[EventEnvelope]:
    events = list[EventEnvelope]()
    for effect in recorded:  # loops without calls: they run in every handling
        match effect:
            case Publish(event):
                events.append(event)
            case _:
                pass
    return events


def _means_of(handling: Handling) -> Means:
    delivery, limits, task = handling.delivery, handling.services.limits, handling.task
    event, copies = delivery.event, delivery.copies
    if handling.has_plan:
        plan = handling.plan
        return means_of(event, plan.lineage, plan.limits, is_owned=True, copies=copies)
    return means_of(event, task.lineage if task else event.lineage, limits, is_owned=task is not None, copies=copies)


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


def _stamp(
    handling: Handling, recorded: Iterable[Effect], stamped: Sequence[EventEnvelope], more: Sequence[Effect] = ()
) -> None:
    effects, at = list[Effect](), 0
    for effect in recorded:
        match effect:
            case Publish(is_cleared=is_cleared):
                effects.append(Publish(stamped[at], is_cleared))
                at += 1
            case _:
                effects.append(effect)
    handling.rewrite((*effects, *more))
