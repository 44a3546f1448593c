"""History of a plan: a line for every event and action, append-only."""

from typing import TypedDict, Unpack

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import AppendStep, PlanChange
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.waits.opening import Moment


class StepFields(TypedDict, total=False):
    """Fields of a step beside its kind; `Step` explains them. Without an `event_id` it is that of the cause."""

    name: str
    data: Json
    note: str
    event_id: str
    expectation_id: str | None
    fingerprint: str | None
    join_id: str | None
    fires: bool


def append_step(plan: PlanRecord, kind: StepKind, moment: Moment, **fields: Unpack[StepFields]) -> PlanChange:
    """Append a step, now, to a plan's history."""
    fields.setdefault("event_id", moment.cause.id)
    step = Step(plan_id=plan.plan_id, ordinal=plan.steps, kind=kind, at=moment.now, **fields)
    return PlanChange(replace(plan, steps=plan.steps + 1), (AppendStep(step),))
