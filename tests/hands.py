"""Compares every plan in hand with its rows, at each use."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from msgspec.structs import asdict, replace

from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.plan_states import StateInHand
from soorma_ai.kernel.sql.plans import SqlPlans
from soorma_ai.kernel.sql.tables import plans


def compare() -> None:
    """Compare in all stores of this process, starting now."""
    _compare_alone()
    _compare_beside_others()


def _compare_alone() -> None:
    held = SqlPlans.state

    @wraps(held)
    async def state(self: SqlPlans, plan_id: str, event_id: str = "") -> PlanState | None:
        found = await held(self, plan_id, event_id)
        database = self.database
        if database.states is not None and database.is_settled:
            read, steps = await database.read(lambda db: (plans.state(db, plan_id, event_id), _steps_of(db, found)))
            must_be_equal(found, whole(read), event_id)
            must_be_the_last(found, steps)
        return found

    SqlPlans.state = state  # type: ignore[method-assign]


def _compare_beside_others() -> None:
    since = plans.state_since

    @wraps(since)
    def state_since(
        db: Reader, in_hand: StateInHand | None, plan_id: str, event_id: str = ""
    ) -> tuple[StateInHand, Spent] | None:
        found = since(db, in_hand, plan_id, event_id)
        if in_hand is not None:
            taken = whole(found)
            must_be_equal(taken, whole(plans.state(db, plan_id, event_id)), event_id)
            must_be_the_last(taken, _steps_of(db, taken))
        return found

    plans.state_since = state_since


def _steps_of(db: Reader, state: PlanState | None) -> list[Step]:
    """Return the steps in the rows from the first one in hand on."""
    return plans.steps(db, state.plan.plan_id, state.recent[0].ordinal) if state and state.recent else []


def must_be_the_last(state: PlanState | None, steps: list[Step]) -> None:
    """Raise AssertionError for last steps in hand different from the rows."""
    recent = [*state.recent] if state else []
    told = f"the last steps in hand are not those of the rows: {recent}, {steps}"
    for listener in () if recent == steps else LISTENERS:
        listener(told)
    assert recent == steps, told


def whole(found: tuple[StateInHand, Spent] | None) -> PlanState | None:
    return replace(found[0].state, spent=found[1]) if found else None


# Called with each difference.
LISTENERS: list[Callable[[str], None]] = []


def must_be_equal(held: PlanState | None, read: PlanState | None, event_id: str) -> None:
    """Raise AssertionError for a plan in hand different from its rows."""
    if held is None or read is None:
        is_equal, told = held is read, f"a plan is in hand and not in its rows, or the other way round: {held}, {read}"
    else:
        differences = _differences(_comparable(held, event_id), _comparable(read, event_id))
        is_equal, told = not differences, f"plan {held.plan.plan_id} in hand is not that of its rows: {differences}"
    for listener in () if is_equal else LISTENERS:
        listener(told)
    assert is_equal, told


def _comparable(state: PlanState, event_id: str) -> Mapping[str, Any]:
    """Return the comparable parts of a state. The rows do not contain the events still to be handled."""
    met = {event_id: state.met[event_id]} if event_id in state.met else {}
    return asdict(replace(state, met=met, recent=())) | {"order": [*state.open]}


def _differences(held: Mapping[str, Any], read: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (held[name], read[name]) for name in held if held[name] != read[name]}
