"""The phase context of an agent as rows: one for each field that the agent adds."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.phases.export import CONTEXT, moves_in
from soorma_ai.features.phases.records import BasePhaseContext, DecidedBy, JourneyState, TransitionRecord
from soorma_ai.kernel.domain.values import Json, JsonObject, json_object

_BASE = frozenset(field.name for field in fields(BasePhaseContext))


def rows_of(context: BasePhaseContext) -> JsonObject:
    """Return the agent's own fields as JSON. Raise LocalProtocolError for other values."""
    told: dict[str, Any] = {}
    for name, adapter in _adapters(type(context)).items():
        try:
            told[name] = adapter.dump_python(getattr(context, name), mode="json")
        except PydanticSerializationError as error:
            raise LocalProtocolError(f"{name} of the phase context is no JSON: {error}") from error
    return json_object("the phase context", told)


def take_rows(context: BasePhaseContext, rows: Mapping[str, Json]) -> None:
    """Fill the agent's own fields from stored rows. Raise LocalProtocolError for unfitting ones."""
    for name, adapter in _adapters(type(context)).items():
        if CONTEXT + name in rows:
            try:
                setattr(context, name, adapter.validate_python(rows[CONTEXT + name]))
            except ValidationError as error:
                fault = error.errors(include_url=False)[0]
                place = ".".join(map(str, (name, *fault["loc"])))
                raise LocalProtocolError(f"{place} of the phase context does not fit: {fault['msg']}") from error


def tell_journey_state(
    context: BasePhaseContext, standing: JourneyState, rows: Mapping[str, Json], phases: type[Enum]
) -> None:
    """Say in the context how the journey stands."""
    context.phase_visits = {phases(name): count for name, count in standing.visits.items()}
    context.transition_history = [_record(row, phases) for row in moves_in(rows)]
    context.backward_trigger = standing.trigger
    context.backward_trigger_detail = standing.detail if standing.is_back else None


def _record(row: JsonObject, phases: type[Enum]) -> TransitionRecord:
    """Raise LocalProtocolError for a row that was imported and is no such thing."""
    try:
        return TransitionRecord(
            phases(row["from"]),
            phases(row["to"]),
            str(row["reason"]),
            row["is_backward"] is True,
            datetime.fromisoformat(str(row["timestamp"])),
            str(row.get("detail") or ""),
            DecidedBy(row.get("decided_by", DecidedBy.METHOD)),
        )
    except ValueError as error:
        raise LocalProtocolError(f"a transition of the state cannot be read: {error}") from error


@lru_cache(maxsize=64)
def _adapters(kind: type[BasePhaseContext]) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(kind)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(kind) if field.name not in _BASE}
