"""Understand: a learner's knowledge is found out, then each objective is diagnosed, taught and checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import ClassVar, cast

from pydantic import Field
from typing_extensions import Unpack

from soorma_ai.features.phases.agent import PERSON_REPLIED, PhaseOptions
from soorma_ai.features.phases.hooks import PhaseTool
from soorma_ai.features.phases.records import (
    BasePhaseContext,
    Checkpoint,
    CheckpointKind,
    DataEvent,
    PhaseTransition,
    SSEEvent,
)
from soorma_ai.forge.base import NAMES, BaseForgeAgent, Work, changes_of
from soorma_ai.kernel.domain.values import Json, JsonObject

# Each objective is a visit of DIAGNOSE and of TEACH at least.
MOST_VISITS = 40


# What a learner may change: levels by concepts, and objectives to remove by their ids.
CHANGES = changes_of(knowledge={"type": "object", "additionalProperties": {"type": "string"}}, remove=NAMES)


class Phase(StrEnum):
    CALIBRATE = "CALIBRATE"
    DIAGNOSE = "DIAGNOSE"
    TEACH = "TEACH"
    COMPLETE = "COMPLETE"


class Knowledge(Work):
    concept: str
    level: str = Field(description="none, some or sure")


class Objective(Work):
    """What the learner is able to do afterwards."""

    id: str
    text: str


class Calibration(Work):
    """The work of CALIBRATE: what the learner knows, and objectives that are new."""

    knowledge: list[Knowledge]
    objectives: list[Objective]


class Diagnosis(Work):
    """The work of DIAGNOSE, for the current objective."""

    gaps: list[str]
    check_question: str
    calibration_was_wrong: str = Field(description="what of it; empty where it was right")


class Lesson(Work):
    """The work of TEACH, for the current objective."""

    explanation: str
    passed: bool = Field(description="whether the answer to the check question shows that the objective is reached")
    what_failed: str = Field(description="what the answer shows to be missing; empty where it was passed")
    missing_prerequisite: str = Field(description="what has to be known before all of this; empty for nothing")
    summary: str


WORKS: Mapping[Enum, type[Work]] = {Phase.CALIBRATE: Calibration, Phase.DIAGNOSE: Diagnosis, Phase.TEACH: Lesson}


@dataclass
class UnderstandPhaseContext(BasePhaseContext):
    """`reached` are objectives by their ids, each with the summary that the learner was told; `lesson` is the last."""

    knowledge: dict[str, str] = field(default_factory=dict[str, str])
    objectives: list[Objective] = field(default_factory=list[Objective])
    reached: dict[str, str] = field(default_factory=dict[str, str])
    diagnosis: Diagnosis | None = None
    lesson: Lesson | None = None

    @property
    def current(self) -> Objective | None:
        return next((one for one in self.objectives if one.id not in self.reached), None)


class UnderstandAgent(BaseForgeAgent):
    """Teaches one person a topic, objective by objective. The learner confirms the assessment of their knowledge, is
    asked in the phases, and gets a summary after each objective."""

    Phase: ClassVar[type[Enum]] = Phase
    prompts = "forge/understand"

    def __init__(
        self,
        name: str = "understand",
        description: str = "Teaches a topic, objective by objective.",
        **options: Unpack[PhaseOptions],
    ) -> None:
        often = dict.fromkeys((Phase.DIAGNOSE.value, Phase.TEACH.value), MOST_VISITS)
        options.setdefault("max_visits", {Phase.CALIBRATE.value: 10, Phase.COMPLETE.value: 1, **often})
        super().__init__(name, description, **options)

    @property
    def phase_transitions(self) -> list[PhaseTransition]:
        return [
            PhaseTransition(Phase.CALIBRATE, Phase.DIAGNOSE, "learner_is_known", False),
            PhaseTransition(Phase.DIAGNOSE, Phase.TEACH, "gaps_are_known", False),
            PhaseTransition(Phase.TEACH, Phase.DIAGNOSE, "objectives_remain", False, priority=1),
            PhaseTransition(Phase.TEACH, Phase.COMPLETE, "all_objectives_reached", False),
            PhaseTransition(Phase.DIAGNOSE, Phase.CALIBRATE, "calibration_was_inaccurate", True),
            PhaseTransition(Phase.TEACH, Phase.CALIBRATE, "fundamental_prerequisite_gap", True, priority=1),
            PhaseTransition(Phase.TEACH, Phase.DIAGNOSE, "check_question_failed", True),
        ]

    @property
    def initial_phase(self) -> Enum:
        return Phase.CALIBRATE

    @property
    def complete_phase(self) -> Enum:
        return Phase.COMPLETE

    @property
    def _context(self) -> UnderstandPhaseContext:
        return cast("UnderstandPhaseContext", self.phase_context)

    def _create_phase_context(self) -> BasePhaseContext:
        return UnderstandPhaseContext()

    def _get_phase_tools(self, phase: Enum) -> Sequence[PhaseTool]:
        return [] if phase.value == Phase.DIAGNOSE else [PERSON_REPLIED]

    def _get_work_schema(self, phase: Enum) -> type[Work] | None:
        return WORKS.get(phase)

    def _evaluate_transition_condition(self, transition: PhaseTransition) -> bool:
        known = self._context
        diagnosis, lesson = known.diagnosis, known.lesson
        match transition.condition:
            case "learner_is_known" | "objectives_remain":
                return known.current is not None
            case "all_objectives_reached":
                return known.current is None
            case "calibration_was_inaccurate":
                return diagnosis is not None and bool(diagnosis.calibration_was_wrong)
            case "fundamental_prerequisite_gap":
                return lesson is not None and bool(lesson.missing_prerequisite)
            case "check_question_failed":
                return lesson is not None and not lesson.passed
            case _:
                return diagnosis is not None

    def _get_trigger_detail(self, transition: PhaseTransition) -> str:
        diagnosis, lesson = self._context.diagnosis, self._context.lesson
        match transition.condition:
            case "calibration_was_inaccurate" if diagnosis:
                return diagnosis.calibration_was_wrong
            case "fundamental_prerequisite_gap" if lesson:
                return lesson.missing_prerequisite
            case "check_question_failed" if lesson:
                return lesson.what_failed
            case _:
                return ""

    def _get_checkpoint(self, phase: Enum) -> Checkpoint | None:
        known = self._context
        if phase.value == Phase.CALIBRATE:
            about: JsonObject = {"knowledge": {**known.knowledge}, "objectives": [one.text for one in known.objectives]}
            return Checkpoint(
                "knowledge_state", "Is this what you know, and what you want to learn?", about=about, changes=CHANGES
            )
        if phase.value == Phase.TEACH and known.lesson:
            return Checkpoint("objective_summary", known.lesson.summary, kind=CheckpointKind.INFORMATIONAL)
        return None

    def _tell_context(self, phase: Enum) -> JsonObject:
        known = self._context
        told: JsonObject = {**self._brief(), "the learner knows": {**known.knowledge}}
        if phase.value == Phase.CALIBRATE:
            return {**told, "objectives": {one.id: one.text for one in known.objectives}}
        told["current objective"] = known.current.text if known.current else None
        if phase.value == Phase.TEACH and known.diagnosis:
            told["diagnosis"] = known.diagnosis.model_dump()
        return told

    def _take_work(self, phase: Enum, work: JsonObject) -> Iterable[SSEEvent]:
        known, made = self._context, WORKS[phase].model_validate(work)
        match made:
            case Calibration():
                known.knowledge |= {one.concept: one.level for one in made.knowledge}
                known.objectives += made.objectives
                known.diagnosis = known.lesson = None
                return [DataEvent(name="objective.added", value=one.model_dump()) for one in made.objectives]
            case Diagnosis():
                known.diagnosis, known.lesson = made, None
            case Lesson():
                known.lesson = made
                current = known.current
                if made.passed and not made.missing_prerequisite and current:
                    known.reached[current.id] = made.summary
                    return [DataEvent(name="objective.reached", value=current.model_dump())]
            case _:
                pass
        return []

    async def _check_work(self, phase: Enum, work: JsonObject) -> str:
        made = WORKS[phase].model_validate(work)
        if isinstance(made, Calibration):
            ids = [one.id for one in (*self._context.objectives, *made.objectives)]
            if double := sorted({one for one in ids if ids.count(one) > 1}):
                return f"objective {double[0]!r} is there already: give only new ones, each with an id of its own"
        if isinstance(made, Lesson) and not made.passed and not (made.what_failed or made.missing_prerequisite):
            return "the check was not passed: say what_failed, or which prerequisite is missing"
        return ""

    def _apply_user_modifications(self, modifications: JsonObject) -> None:
        """`knowledge` holds levels by concepts; `remove` names objectives by their ids."""
        known, said, removed = self._context, modifications.get("knowledge"), modifications.get("remove")
        if isinstance(said, dict):
            known.knowledge |= {concept: str(level) for concept, level in said.items()}
        if isinstance(removed, list):
            known.objectives = [one for one in known.objectives if one.id not in removed]

    def _generate_completion_summary(self) -> Json:
        known = self._context
        done = [one for one in known.objectives if one.id in known.reached]
        reached: list[Json] = [{"objective": one.text, "summary": known.reached[one.id]} for one in done]
        return {"topic": self._brief().get("topic"), "reached": reached}
