"""Keys of a commit: the plan trees and requests whose rows it may change.

Commits without a common key may run at the same time. A key is the id of a root plan, or of a plan with a line of its
own; for an event outside of plans, that of its request, else its own. A commit about anything else, such as the
registry, waits by key, sessions or memory, has no keys, and runs alone.
"""

from collections.abc import Iterable

from soorma_ai.kernel.domain import effects as recorded
from soorma_ai.kernel.domain.effects import Effect
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.memory import AppendMemory, DropMemory, IncrementMemory, OpenSession, StoreMemory
from soorma_ai.kernel.ports import Delivery, Work

_ALONE = (
    *(StoreMemory, DropMemory, IncrementMemory, AppendMemory, OpenSession),
    *(recorded.Declare, recorded.FeatureEffect, recorded.Postpone),
)


def keys_of_work(work: Work) -> frozenset[str] | None:
    """Return the keys of a handling's commit; None: it must be alone."""
    if any(isinstance(effect, _ALONE) or _is_in_session(effect) for effect in work.effects):
        return None
    trees = (one.reserved.root_plan_id for one in work.bill)
    return keys_of_delivery(work.delivery, *trees).union(*map(_keys_of_effect, work.effects))


def keys_of_delivery(delivery: Delivery, *trees: str) -> frozenset[str]:
    """Return the keys of a commit about a delivery: of its line, of its event, and of the trees that it charges."""
    return frozenset({delivery.owner, *_keys_of(delivery.event), *trees})


def keys_of_events(events: Iterable[EventEnvelope], expected: Expectation | None = None) -> frozenset[str]:
    """Return the keys of a commit that publishes these and expects this reply, and changes nothing else."""
    keys = {key for event in events for key in _keys_of(event)}
    return frozenset(keys | {key_of_expectation(expected)} if expected is not None else keys)


def key_of_expectation(expected: Expectation) -> str:
    """Return the key under which it is opened and closed."""
    return expected.root_plan_id or expected.plan_id or expected.task_id or expected.id


def _keys_of(event: EventEnvelope) -> tuple[str, ...]:
    """Return the keys of its tree and of the line that it may come to: its plan's, see `matching.owner_of`."""
    if event.plan_id is not None and event.plan_id != event.root_plan_id:
        return event.root_plan_id or event.plan_id, event.plan_id
    return (event.root_plan_id or event.correlation_id or event.id,)


def _keys_of_effect(effect: Effect) -> tuple[str, ...]:
    match effect:
        case recorded.Publish(event):
            return _keys_of(event)
        case recorded.SavePlan(plan):
            return (plan.root_plan_id,)
        case recorded.Expect(expectation):
            return (key_of_expectation(expectation),)
        case recorded.Spend(root_plan_id):
            return (root_plan_id,)
        case recorded.SaveTask(task):
            return (task.lineage.root_plan_id or task.task_id,)
        case _:
            return ()


def _is_in_session(effect: Effect) -> bool:
    """Tell whether it counts as an activity of a session, which many plans share."""
    return isinstance(effect, recorded.SavePlan) and effect.plan.lineage.session_id is not None
