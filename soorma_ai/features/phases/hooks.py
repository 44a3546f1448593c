"""Hooks of a phase agent's author: the graph, its phases, their tools, prompts and checkpoints."""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct

from soorma_ai.agents.planner_base import BasePlanner
from soorma_ai.agents.tool import Tool
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.features.phases.engine import JourneyInHand
from soorma_ai.features.phases.records import BasePhaseContext, Checkpoint, PhaseTransition, SSEEvent
from soorma_ai.features.phases.rules import PhaseGraph, name_of
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import SchemaSource
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.runtime.handling.handling import Handling, current_handling

PhaseTool: TypeAlias = Tool | EventDefinition | str

_FIELDS = "keep the data in fields of the context, made by _create_phase_context"
_HISTORY = "the plan's log keeps the transitions; read transition_history"

# Helpers of the documents' base agent without a call here, each with the hook in its place.
REPLACED_HELPERS: Mapping[str, str] = {
    "_evaluate_transitions": "give the condition of each transition by _evaluate_transition_condition, the order by "
    "phase_transitions",
    "_is_backward_transition": "give is_backward with each of phase_transitions",
    "_record_transition": _HISTORY,
    "get_phase_prompt": "give the prompt by _get_phase_prompt",
    "_execute_checkpoint": "give the checkpoint of a phase by _get_checkpoint",
    "_wait_for_user_response": "give the checkpoint of a phase by _get_checkpoint; platform.answer ends its wait",
    "_serialize_phase_context": _FIELDS,
    "_restore_phase_context": _FIELDS,
    "_restore_transition_history": _HISTORY,
    "_get_mode_data": _FIELDS,
    "_restore_mode_data": _FIELDS,
}


class JourneyTurn(Struct):
    """Present journey, the agent's knowledge, and the latest event."""

    journey: JourneyInHand
    context: BasePhaseContext
    trigger: Trigger


class PhaseHooks(BasePlanner):
    """Methods called by `PhaseFlow` during a journey's handling."""

    Phase: ClassVar[type[Enum]] = Enum
    message_event: str
    max_actions_in: Mapping[str, int]
    visits_in: Mapping[str, int | None]
    _hands: "WeakKeyDictionary[Handling, JourneyTurn]"

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a class with a helper of the documents without a call here."""
        super().__init_subclass__(**options)
        found = [name for name in REPLACED_HELPERS if name in dir(cls)]
        if found:
            cures = "; ".join(f"{name}: {REPLACED_HELPERS[name]}" for name in found)
            raise ConfigError(f"{cls.__name__} has {', '.join(found)}, never called here. Wanted are hooks. {cures}")

    @cached_property
    def graph(self) -> PhaseGraph:
        """The phases as they were when they were first asked for."""
        phases = tuple(map(name_of, self.Phase))
        ways = tuple(self.phase_transitions)
        return PhaseGraph(phases, ways, name_of(self.initial_phase), name_of(self.complete_phase))

    @property
    @abstractmethod
    def phase_transitions(self) -> list[PhaseTransition]: ...

    @property
    @abstractmethod
    def initial_phase(self) -> Enum: ...

    @property
    @abstractmethod
    def complete_phase(self) -> Enum: ...

    @abstractmethod
    def _execute_phase(self, phase: Enum) -> AsyncGenerator[SSEEvent]: ...

    @abstractmethod
    def _evaluate_transition_condition(self, transition: PhaseTransition) -> bool: ...

    @abstractmethod
    def _get_phase_prompt(self, phase: Enum, visit_count: int) -> str: ...

    @abstractmethod
    def _get_phase_tools(self, phase: Enum) -> Sequence[PhaseTool]: ...

    def _get_work_schema(self, phase: Enum) -> SchemaSource | None:
        """Return the form of a phase's work, a type or a JSON Schema; None for any object."""
        return None

    def _get_checkpoint(self, phase: Enum) -> Checkpoint | None:
        """Return where people are asked before the journey goes on from this phase, as things are now."""
        return None

    def _create_phase_context(self) -> BasePhaseContext:
        return BasePhaseContext()

    def _take_work(self, phase: Enum, work: JsonObject) -> Iterable[SSEEvent]:
        """Put the final work of a visit into the phase context; return its summary for people."""
        return ()

    async def _check_work(self, phase: Enum, work: JsonObject) -> str:
        """Return the fault of a phase's work, in words for the model; it is asked again. Empty for none."""
        return ""

    def _apply_user_modifications(self, modifications: JsonObject) -> None:
        """Put a person's changes at a checkpoint into the phase context; the phase goes on with it."""

    def _tell_context(self, phase: Enum) -> JsonObject:
        """Return the text for the model in this phase beside the history."""
        return {}

    def _get_trigger_detail(self, transition: PhaseTransition) -> str:
        """Return the exact work for a true condition."""
        return ""

    def _generate_completion_summary(self) -> Json:
        """Return the answer of the journey; by itself the last work of each phase."""
        done = {name: [*self._turn.journey.works_of(name).values()] for name in self.graph.phases}
        return {name: works[-1] for name, works in done.items() if works}

    @property
    def _turn(self) -> JourneyTurn:
        handling = current_handling()
        hand = self._hands.get(handling) if handling is not None else None
        if hand is None:
            raise LocalProtocolError("no journey is in hand here; this is for the methods that a phase calls")
        return hand
