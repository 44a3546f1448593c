"""Build: first the knowledge for a thing, then the thing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import ClassVar, cast

from pydantic import Field
from typing_extensions import Unpack

from soorma_ai.features.phases.agent import PERSON_REPLIED, PhaseOptions
from soorma_ai.features.phases.hooks import PhaseTool
from soorma_ai.features.phases.records import BasePhaseContext, Checkpoint, DataEvent, PhaseTransition, SSEEvent
from soorma_ai.forge.base import NAMES, BaseForgeAgent, Work, changes_of
from soorma_ai.kernel.domain.values import Json, JsonObject

CHANGES = changes_of(steps=NAMES)


class Phase(StrEnum):
    GROUNDING = "GROUNDING"
    MAKING = "MAKING"
    COMPLETE = "COMPLETE"


class Concept(Work):
    name: str
    explanation: str


class Artifact(Work):
    name: str
    content: str


class Grounding(Work):
    """The work of GROUNDING: concepts that are new, and all steps of making the thing."""

    concepts: list[Concept]
    steps: list[str] = Field(min_length=1)


class Making(Work):
    """The work of MAKING."""

    artifacts: list[Artifact]
    conceptual_gap: str = Field(description="what turned out not to be understood; empty for nothing")


WORKS: Mapping[Enum, type[Work]] = {Phase.GROUNDING: Grounding, Phase.MAKING: Making}


@dataclass
class BuildPhaseContext(BasePhaseContext):
    concepts: dict[str, str] = field(default_factory=dict[str, str])
    steps: list[str] = field(default_factory=list[str])
    artifacts: dict[str, str] = field(default_factory=dict[str, str])
    conceptual_gap: str = ""


class BuildAgent(BaseForgeAgent):
    """Makes a thing with a person; the person says when the ground is laid. `making_tools` are events for the
    making."""

    Phase: ClassVar[type[Enum]] = Phase
    prompts = "forge/build"

    def __init__(
        self,
        name: str = "build",
        description: str = "Makes a thing, after what it needs is understood.",
        *,
        making_tools: Sequence[str] = (),
        **options: Unpack[PhaseOptions],
    ) -> None:
        self._making_tools = tuple(making_tools)
        super().__init__(name, description, **options)

    @property
    def phase_transitions(self) -> list[PhaseTransition]:
        return [
            PhaseTransition(Phase.GROUNDING, Phase.MAKING, "ground_is_laid", False),
            PhaseTransition(Phase.MAKING, Phase.COMPLETE, "thing_is_made", False),
            PhaseTransition(Phase.MAKING, Phase.GROUNDING, "conceptual_gap_discovered", True),
        ]

    @property
    def initial_phase(self) -> Enum:
        return Phase.GROUNDING

    @property
    def complete_phase(self) -> Enum:
        return Phase.COMPLETE

    @property
    def _context(self) -> BuildPhaseContext:
        return cast("BuildPhaseContext", self.phase_context)

    def _create_phase_context(self) -> BasePhaseContext:
        return BuildPhaseContext()

    def _get_phase_tools(self, phase: Enum) -> Sequence[PhaseTool]:
        return [PERSON_REPLIED] if phase.value == Phase.GROUNDING else [PERSON_REPLIED, *self._making_tools]

    def _get_work_schema(self, phase: Enum) -> type[Work] | None:
        return WORKS.get(phase)

    def _evaluate_transition_condition(self, transition: PhaseTransition) -> bool:
        known = self._context
        match transition.condition:
            case "conceptual_gap_discovered":
                return bool(known.conceptual_gap)
            case "ground_is_laid":
                return bool(known.steps)
            case _:
                return bool(known.artifacts)

    def _get_trigger_detail(self, transition: PhaseTransition) -> str:
        return self._context.conceptual_gap if transition.is_backward else ""

    def _get_checkpoint(self, phase: Enum) -> Checkpoint | None:
        if phase.value != Phase.GROUNDING:
            return None
        about: JsonObject = {"concepts": [*self._context.concepts], "steps": [*self._context.steps]}
        return Checkpoint("ready_to_make", "Is this clear, and are you ready to go on?", about=about, changes=CHANGES)

    def _tell_context(self, phase: Enum) -> JsonObject:
        known = self._context
        concepts: JsonObject = {**known.concepts}
        return {**self._brief(), "concepts": concepts, "steps": [*known.steps], "made": [*known.artifacts]}

    def _take_work(self, phase: Enum, work: JsonObject) -> Iterable[SSEEvent]:
        known, made = self._context, WORKS[phase].model_validate(work)
        match made:
            case Grounding():
                known.conceptual_gap = ""
                known.concepts |= {one.name: one.explanation for one in made.concepts}
                known.steps = made.steps
                return [DataEvent(name="concept.added", value=one.model_dump()) for one in made.concepts]
            case Making():
                known.conceptual_gap = made.conceptual_gap
                known.artifacts |= {one.name: one.content for one in made.artifacts}
                return [DataEvent(name="artifact.made", value={"name": one.name}) for one in made.artifacts]
            case _:
                return []

    def _apply_user_modifications(self, modifications: JsonObject) -> None:
        """Apply a person's changes. `steps` are the wanted ones."""
        steps = modifications.get("steps")
        if isinstance(steps, list):
            self._context.steps = [str(one) for one in steps]

    def _generate_completion_summary(self) -> Json:
        known = self._context
        artifacts: JsonObject = {**known.artifacts}
        return {"topic": self._brief().get("topic"), "steps": [*known.steps], "artifacts": artifacts}
