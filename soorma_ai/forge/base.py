"""Common base of the three agents: the model runs every phase, and prompts are files."""

from collections.abc import AsyncGenerator
from enum import Enum

from pydantic import BaseModel, ConfigDict

from soorma_ai.features.phases.agent import PhaseAgent
from soorma_ai.features.phases.records import SSEEvent
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.values import Json, JsonObject

NAMES: JsonObject = {"type": "array", "items": {"type": "string"}}


def changes_of(**properties: Json) -> JsonObject:
    """Return the JSON Schema of a person's changes at a checkpoint."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


class Work(BaseModel):
    """What a phase comes to, as a model writes it."""

    model_config = ConfigDict(extra="forbid")


class BaseForgeAgent(PhaseAgent):
    """Phase agent with every phase decided by its model, step by step."""

    async def _execute_phase(self, phase: Enum) -> AsyncGenerator[SSEEvent]:
        async for event in self.decide_and_act(phase):
            yield event

    def _get_phase_prompt(self, phase: Enum, visit_count: int) -> str:
        first = self._get_initial_prompt(phase)
        if visit_count == 1:
            return first
        again = self._get_reentry_prompt(
            phase=phase,
            visit_count=visit_count,
            trigger=self.phase_context.backward_trigger,
            existing_work=self._get_phase_work(phase),
        )
        return f"{again}\n\nThe form of the work is as before:\n{first}"

    async def _answers_of(self, event_name: str) -> list[Json]:
        """Return the answers to this journey's requests of this name, oldest first."""
        handling = self._turn.journey.handling
        stored = await handling.services.store.plans.steps(handling.plan.plan_id)
        steps = [*stored, *(step for step in handling.steps_recorded if step.ordinal >= len(stored))]
        kinds = (StepKind.REPLIED, StepKind.LATE)
        return [step.data for step in steps if step.kind in kinds and step.name == event_name and step.note == "ok"]

    def _brief(self) -> JsonObject:
        brief = self.journey_brief
        return brief if isinstance(brief, dict) else {"brief": brief}
