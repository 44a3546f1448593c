"""A small agent of three phases, its tools, and its visible events."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kit import events

from soorma_ai import InvocationContext, Platform, PlatformContext, Reject, Tool
from soorma_ai.features.phases.agent import PERSON_REPLIED, PhaseAgent
from soorma_ai.features.phases.records import BasePhaseContext, Checkpoint, DataEvent, PhaseTransition, SSEEvent
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.scripted import ScriptedReasoner

BRIEF = {"topic": "owls"}


class Phase(StrEnum):
    PLAN = "PLAN"
    FIND = "FIND"
    WRITE = "WRITE"
    COMPLETE = "COMPLETE"


@dataclass
class Notes(BasePhaseContext):
    """The plan and the findings."""

    planned: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    gap: str = ""


class Writer(PhaseAgent):
    """`stops` are its checkpoints by their phases."""

    Phase = Phase
    initial_phase = Phase.PLAN
    complete_phase = Phase.COMPLETE
    phase_transitions = [
        PhaseTransition(Phase.PLAN, Phase.FIND, "planned", False),
        PhaseTransition(Phase.FIND, Phase.WRITE, "found", False),
        PhaseTransition(Phase.FIND, Phase.PLAN, "gap_found", True),
        PhaseTransition(Phase.WRITE, Phase.PLAN, "people_want_more", True, expression="'more' in messages"),
        PhaseTransition(Phase.WRITE, Phase.COMPLETE, "written", False),
    ]

    def __init__(self, script: Any, *, stops: dict[Phase, Checkpoint] | None = None, **options: Any) -> None:
        super().__init__("writer", reasoner=ScriptedReasoner(script), **options)
        self.stops = stops or {}

    async def _execute_phase(self, phase: Any) -> AsyncGenerator[SSEEvent]:
        async for event in self.decide_and_act(phase):
            yield event

    def _evaluate_transition_condition(self, transition: PhaseTransition) -> bool:
        notes = self.phase_context
        match transition.condition:
            case "planned":
                return bool(notes.planned)
            case "found":
                return len(notes.found) >= len(notes.planned)
            case "gap_found":
                return bool(notes.gap)
            case _:
                return True

    def _get_phase_prompt(self, phase: Any, visit_count: int) -> str:
        if visit_count == 1:
            return f"First visit of {phase.value}."
        return self._get_reentry_prompt(phase, visit_count, self.phase_context.backward_trigger)

    def _get_phase_tools(self, phase: Any) -> Sequence[Any]:
        return {"PLAN": [PERSON_REPLIED], "FIND": ["library.search.requested"]}.get(phase.value, [])

    def _get_checkpoint(self, phase: Any) -> Checkpoint | None:
        return self.stops.get(phase)

    def _create_phase_context(self) -> Notes:
        return Notes()

    def _take_work(self, phase: Any, work: JsonObject) -> Iterable[SSEEvent]:
        notes = self.phase_context
        match phase:
            case Phase.PLAN:
                notes.planned += work["questions"]
                notes.gap = ""
                return [DataEvent(name="question.added", value={"text": one}) for one in work["questions"]]
            case Phase.FIND:
                notes.found += work["answers"]
                notes.gap = work.get("gap", "")
        return []

    def _apply_user_modifications(self, modifications: JsonObject) -> None:
        self.phase_context.planned = modifications["questions"]

    def _get_trigger_detail(self, transition: PhaseTransition) -> str:
        return self.phase_context.gap


def library() -> Tool:
    tool = Tool("library")

    @tool.on_invoke("library.search.requested")
    async def search(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if request.data["words"] == "dragons":
            raise Reject("no such book", code="no_book")
        return {"text": f"about {request.data['words']}"}

    return tool


def stranger() -> Tool:
    """A tool outside of every phase."""
    tool = Tool("stranger")

    @tool.on_invoke("rockets.launch.requested")
    async def launch(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {}

    return tool


async def seen(platform: Platform) -> list[EventEnvelope]:
    """Return the events of journeys for people, in order."""
    told = [event for event in await events(platform) if event.topic == "plan-events"]
    return [event for event in told if event.type != "plan.phase.entered"]
