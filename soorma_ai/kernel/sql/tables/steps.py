"""Steps of plans, as they are appended."""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain.effects import AppendStep
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.values import Json, JsonObject, copy_json
from soorma_ai.kernel.sql.codec import STEP, spell, write_rows
from soorma_ai.kernel.sql.connection import Connection, Rows
from soorma_ai.kernel.sql.rests import step_flags

# Bytes up to which a step stands whole in its row.
SHORT = 400
# Rows of one statement.
MOST_AT_ONCE = 32
_STEP_COLUMNS = ("plan_id", "ordinal", "fingerprint", "rest", "join_id", "fires", "event_id", "data_at", "same")


def append(db: Connection, steps: Sequence[Step], at_hand: Mapping[str, EventEnvelope]) -> None:
    """Append steps of a plan. Long data of an event, if that is `at_hand`, are not written twice: an event delivered to
    a plan, or published by it, stays as long as the plan."""
    for first in range(0, len(steps), MOST_AT_ONCE):
        some = steps[first : first + MOST_AT_ONCE]
        rows = [_row_of(db, step, at_hand) for step in some]
        write_rows(db, "step", _STEP_COLUMNS, rows, "ON CONFLICT DO NOTHING", partial(_check_new, some))


def _check_new(steps: Sequence[Step], done: Rows) -> None:
    if done.rowcount != len(steps):
        plan_id, ordinal = steps[0].plan_id, steps[0].ordinal
        raise VersionConflict(f"plan {plan_id} has step {ordinal} or a later one already; read it again")


def _row_of(db: Connection, step: Step, at_hand: Mapping[str, EventEnvelope]) -> tuple[object, ...]:
    """Return `_STEP_COLUMNS`, and note the step."""
    same, left_out = step_flags(step)
    rest, data_at = STEP.without(left_out).text(step), None
    own = step if step.data is None else replace(step, data=copy_json(step.data))
    db.note(step.plan_id, AppendStep(own), len(rest))
    if len(rest) > SHORT and (event := at_hand.get(step.event_id or "")) is not None:
        data_at = _place_of(step.data, event.data)
    if data_at is not None:
        rest = STEP.without(f"data {left_out}").text(step)
    mark, event_id, fires = step.fingerprint, step.event_id, int(step.fires)
    return step.plan_id, step.ordinal, mark, rest, step.join_id, fires, event_id, data_at, same


def _place_of(data: Json, of_event: JsonObject) -> str | None:
    """Return where in an event this stands, as a path in its row; None where it does not."""
    if data is None:
        return None
    places = {"$.data": of_event, "$.data.result": of_event.get("result"), "$.data.error": of_event.get("error")}
    spelled = spell(data)
    return next((at for at, found in places.items() if found is not None and spell(found) == spelled), None)
