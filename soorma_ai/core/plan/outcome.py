"""What a plan's move comes to: the plan as it is then, the effects that make it so, and its line of history."""

from dataclasses import dataclass, replace

from soorma_ai.core.expecting.opening import Moment
from soorma_ai.domain.effects import AppendStep, Effect
from soorma_ai.domain.history import Step, StepKind
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.values import Json


@dataclass(frozen=True)
class Outcome:
    """The plan as it is then, and the effects that make it so; saving the plan itself is left to the shell."""

    plan: PlanRecord
    effects: tuple[Effect, ...] = ()

    def then(self, later: "Outcome") -> "Outcome":
        return Outcome(later.plan, self.effects + later.effects)


def step(
    plan: PlanRecord,
    kind: StepKind,
    moment: Moment,
    *,
    name: str = "",
    data: Json = None,
    note: str = "",
    event_id: str | None = None,
    expectation_id: str | None = None,
    mark: str | None = None,
    place: int = 0,
) -> Outcome:
    line = Step(
        plan_id=plan.plan_id,
        ordinal=plan.steps,
        kind=kind,
        at=moment.now,
        name=name,
        data=data,
        note=note,
        event_id=event_id or moment.cause.id,
        expectation_id=expectation_id,
        fingerprint=mark,
        place=place,
    )
    return Outcome(replace(plan, steps=plan.steps + 1), (AppendStep(line),))
