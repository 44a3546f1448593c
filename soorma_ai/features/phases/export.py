"""Export and import of a journey's state: the rows of its plan, in the form of `get_state`."""

from collections.abc import Iterator, Mapping

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.phases.records import JourneyState
from soorma_ai.features.phases.rules import (
    MOST_MESSAGES,
    PhaseGraph,
    check_journey_state,
    keep_message,
    read_journey_state,
    texts_in,
    write_journey_state,
)
from soorma_ai.kernel.domain.values import Json, JsonObject

STANDING, BRIEF, MESSAGES = "standing", "brief", "messages"
MOVE, WORK, CONTEXT = "move:", "work:", "context:"

# Of an imported state: each is a row that every step reads.
MOST_ROWS = 1_000
VISIT_DIGITS = 6

_HISTORY = ("from", "to", "reason", "is_backward", "timestamp")


def move_key(number: int) -> str:
    return f"{MOVE}{number:04}"


def work_key(phase: str, visit: int) -> str:
    return f"{WORK}{phase}:{visit:04}"


def moves_in(rows: Mapping[str, Json]) -> list[JsonObject]:
    return [row for key, row in sorted(rows.items()) if key.startswith(MOVE) and isinstance(row, dict)]


def works_in(rows: Mapping[str, Json], phase: str) -> dict[int, Json]:
    """Return the results of a phase's visits, by their numbers."""
    first = f"{WORK}{phase}:"
    return {int(key[len(first) :]): row for key, row in sorted(rows.items()) if key.startswith(first)}


def export(rows: Mapping[str, Json], agent_type: str, plan_id: str) -> JsonObject:
    standing = read_journey_state(rows.get(STANDING))
    own = {key[len(CONTEXT) :]: row for key, row in rows.items() if key.startswith(CONTEXT)}
    work = {key[len(WORK) :]: row for key, row in sorted(rows.items()) if key.startswith(WORK)}
    visits: JsonObject = dict(standing.visits)
    context: JsonObject = {
        **own,
        "phase_visits": visits,
        "backward_trigger": standing.trigger,
        "backward_trigger_detail": standing.detail if standing.is_back else None,
    }
    mode: JsonObject = {"brief": rows.get(BRIEF), "work": work, "messages": rows.get(MESSAGES) or []}
    return {
        "agent_type": agent_type,
        "plan_id": plan_id,
        "current_phase": standing.phase,
        "phase_context": context,
        "transition_history": [*moves_in(rows)],
        "mode_data": {**mode, "reason": standing.reason},
    }


def read_state(state: JsonObject, agent_type: str, graph: PhaseGraph) -> JsonObject:
    """Return the rows of an exported state. Raise LocalProtocolError for one useless to this agent."""
    if state.get("agent_type") != agent_type:
        raise LocalProtocolError(f"the state is one of {state.get('agent_type')!r}, and this agent is {agent_type!r}")
    context, mode = _object(state, "phase_context"), _object(state, "mode_data")
    history, work = _list(state, "transition_history"), _object(mode, "work")
    if max(len(history), len(work), len(context)) > MOST_ROWS:
        raise LocalProtocolError(f"the state has more than {MOST_ROWS} transitions, works or fields")
    moves = [_move(row) for row in history]
    trigger = context.get("backward_trigger")
    standing = read_journey_state(
        {
            "phase": state.get("current_phase"),
            "visits": context.get("phase_visits"),
            "reason": trigger or mode.get("reason") or "",
            "detail": context.get("backward_trigger_detail") or "",
            "is_back": trigger is not None,
            "moves": len(moves),
        }
    )
    if standing.phase == graph.complete:
        raise LocalProtocolError("the state is that of a journey that is complete; there is nothing to go on with")
    for name in work:
        phase, _, visit = name.rpartition(":")
        if phase not in graph.phases or not (visit.isdecimal() and len(visit) <= VISIT_DIGITS):
            raise LocalProtocolError(f"work {name!r} of the state names no phase and visit, as in 'ANSWER:0001'")
    return dict(_rows(check_journey_state(standing, graph), context, mode, moves))


def _rows(
    standing: JourneyState, context: JsonObject, mode: JsonObject, moves: list[JsonObject]
) -> Iterator[tuple[str, Json]]:
    yield STANDING, write_journey_state(standing)
    yield from ((move_key(number), row) for number, row in enumerate(moves, 1))
    base = ("phase_visits", "transition_history", "backward_trigger", "backward_trigger_detail")
    yield from ((CONTEXT + name, value) for name, value in context.items() if name not in base)
    for name, value in _object(mode, "work").items():
        phase, _, visit = name.rpartition(":")
        yield work_key(phase, int(visit)), value
    kept: list[Json] = []
    for text in texts_in(_list(mode, "messages"))[-MOST_MESSAGES:]:
        kept = keep_message(kept, text)
    if kept:
        yield MESSAGES, kept


def _move(row: Json) -> JsonObject:
    if not isinstance(row, dict) or any(name not in row for name in _HISTORY):
        raise LocalProtocolError(f"a transition of the state must tell {', '.join(_HISTORY)}, found {row!r:.200}")
    return row


def _object(given: JsonObject, name: str) -> JsonObject:
    found = given.get(name) or {}
    if not isinstance(found, dict):
        raise LocalProtocolError(f"{name!r} of the state must be an object, found {found!r:.200}")
    return found


def _list(given: JsonObject, name: str) -> list[Json]:
    found = given.get(name) or []
    if not isinstance(found, list):
        raise LocalProtocolError(f"{name!r} of the state must be a list, found {found!r:.200}")
    return found
