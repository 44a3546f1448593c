"""A plan's history: a line appended for whatever happened to it."""

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import AppendStep, Outcome
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.waits.opening import Moment


def append_step(
    plan: PlanRecord,
    kind: StepKind,
    moment: Moment,
    *,
    name: str = "",
    data: Json = None,
    note: str = "",
    event_id: str | None = None,
    expectation_id: str | None = None,
    fingerprint: str | None = None,
    join_id: str | None = None,
    fires: bool = False,
) -> Outcome:
    """`Step` explains the fields. Without an `event_id` it is that of the cause."""
    step = Step(
        plan_id=plan.plan_id,
        ordinal=plan.steps,
        kind=kind,
        at=moment.now,
        name=name,
        data=data,
        note=note,
        event_id=event_id or moment.cause.id,
        expectation_id=expectation_id,
        fingerprint=fingerprint,
        join_id=join_id,
        fires=fires,
    )
    return Outcome(replace(plan, steps=plan.steps + 1), (AppendStep(step),))
