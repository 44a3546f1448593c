"""State machine of a plan: its faults, and the next state for an event."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from difflib import get_close_matches

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.conditions import fault_of, holds
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.replies import ExpectedReply, content_of, failure_reply
from soorma_ai.kernel.domain.states import REJECTED, START, TIMEOUT, USER_INPUT, StateAction, StateConfig, States
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.state_machine.templates import ROOTS, templates_in

_COMPLETED = ".completed"
_FAILED = ".failed"
_SEEN = ("payload", "data", "goal_data", "results", "state")


def check(states: States, initial: str = START) -> None:
    """Raise ConfigError, which names every fault."""
    if faults := faults_of(states, initial):
        raise ConfigError(f"the state machine cannot run: {'; '.join(faults)}")


def faults_of(states: States, initial: str) -> list[str]:
    """Return the faults visible without the registry."""
    return [*_shape_faults(states, initial), *_way_faults(states, initial), *_text_faults(states)]


def _shape_faults(states: States, initial: str) -> Iterator[str]:
    if initial not in states:
        yield f"there is no state {initial!r} to begin in{_hint(initial, states)}"
    for name, config in states.items():
        if config.state_name != name:
            yield f"the state under {name!r} calls itself {config.state_name!r}"
        for target in _targets(config):
            if target not in states:
                yield f"{name!r} leads to {target!r}, which is no state{_hint(target, states)}"
        if config.is_terminal and (config.action or config.transitions or config.default_next):
            yield f"{name!r} is terminal: nothing is asked in it, and nothing leads out of it"
        if not config.is_terminal and (config.outcome or config.result is not None):
            yield f"{name!r} is not terminal: outcome and result belong to the end"
        action = config.action
        if action and not config.default_next and not any(t.on_event == action.answer for t in config.transitions):
            yield f"{name!r} asks {action.event_type!r}, and no transition takes its answer {action.answer!r}"


def _way_faults(states: States, initial: str) -> Iterator[str]:
    onward = {name: [target for target in _targets(config) if target in states] for name, config in states.items()}
    sources = _sources(states)
    reached = _reach(initial, onward.__getitem__) if initial in states else set(states)
    if away := [name for name in states if name not in reached]:
        yield f"no way leads to {_list(away)}"
    ending = {name for end in states if states[end].is_terminal for name in _reach(end, sources.__getitem__)}
    if stuck := [name for name in states if name in reached and name not in ending]:
        yield f"no terminal state can be reached from {_list(stuck)}"
    for name in states:
        if name in _reach_by_default(name, states):
            yield f"{name!r} comes back to itself by default_next alone"


def _text_faults(states: States) -> Iterator[str]:
    for name, config in states.items():
        for transition in config.transitions:
            if transition.condition is not None and (fault := fault_of(transition.condition, _SEEN)):
                yield f"a condition of {name!r} cannot be used: {fault}"
        written: Json = [config.action.data if config.action else None, config.result]
        for path in templates_in(written):
            if fault := _path_fault(path, states):
                yield f"a template of {name!r} names nothing known: {{{path}}} ({fault})"


def _path_fault(path: str, states: States) -> str:
    root, *rest = path.split(".")
    if root not in ROOTS:
        return f"there are {', '.join(ROOTS)}"
    if root == "results" and rest and rest[0] not in (*states, USER_INPUT):
        return f"results are kept by the name of their state{_hint(rest[0], states)}"
    return ""


def _targets(config: StateConfig) -> list[str]:
    return [*(t.to_state for t in config.transitions), *([config.default_next] if config.default_next else [])]


def states_before(name: str, states: States) -> set[str]:
    """The states that can have been left when this one is entered."""
    sources = _sources(states)
    return {one for source in sources[name] for one in _reach(source, sources.__getitem__)}


def _sources(states: States) -> dict[str, list[str]]:
    """Map each state to its predecessors."""
    return {name: [other for other, config in states.items() if name in _targets(config)] for name in states}


def _reach(start: str, onward: Callable[[str], Iterable[str]]) -> set[str]:
    found, ahead = {start}, [start]
    while ahead:
        for name in onward(ahead.pop()):
            if name not in found:
                found.add(name)
                ahead.append(name)
    return found


def _reach_by_default(name: str, states: States) -> set[str]:
    """The states that are reached by default_next alone, through states that ask nothing."""
    passing = {one: [to for to in [states[one].passes_on] if to is not None and to in states] for one in states}
    return {state for after in passing[name] for state in _reach(after, passing.__getitem__)}


def _hint(name: str, states: States) -> str:
    close = get_close_matches(name, list(states), n=1)
    return f"; did you mean {close[0]!r}" if close else ""


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def expected_reply(config: StateConfig, action: StateAction, *, timeout: float | None = None) -> ExpectedReply:
    """The answer of a state's action, and every other event that its transitions name."""
    seconds = action.timeout_seconds or timeout
    others = dict.fromkeys(t.on_event for t in config.transitions if t.on_event != action.answer)
    return ExpectedReply(action.answer, tuple(others), timedelta(seconds=seconds) if seconds else None)


def as_seen(met: Expectation, event: EventEnvelope) -> EventEnvelope:
    """Return the name, for transitions, of a closing event."""
    if met.kind is ExpectationKind.GATE:
        return _rejection(met, event)
    if met.status is ExpectationStatus.EXPIRED:
        words = f"no answer to {met.subject} came in time"
        return _failure(event, f"{base_of(met.event_type)}.{TIMEOUT}", TIMEOUT, words)
    if met.answer is not None:
        return _rename(event, met.event_type, met.answer.payload)
    if is_failure(event) and event.type == met.event_type:
        return _rename(event, base_of(event.type) + _FAILED, event.data)
    return event


def _rejection(met: Expectation, event: EventEnvelope) -> EventEnvelope:
    proposal, said = met.ask.proposal if met.ask else None, met.answer
    answer = proposal.reply.event_type if proposal and proposal.reply else met.event_type
    why = f"nobody let {met.event_type} go in time"
    if said is not None:
        why = f"{said.by} did not let {met.event_type} go" + (f": {said.note}" if said.note else "")
    return _failure(event, f"{base_of(answer)}.{REJECTED}", REJECTED, why)


def _failure(event: EventEnvelope, name: str, code: str, message: str) -> EventEnvelope:
    return _rename(event, name, failure_reply(code, message))


def _rename(event: EventEnvelope, name: str, data: JsonObject) -> EventEnvelope:
    return event.model_copy(update={"type": name, "data": data})


def base_of(event_type: str) -> str:
    return event_type.removesuffix(_COMPLETED)


def names_after(action: StateAction, *, is_gated: bool) -> list[str]:
    """Return the names for a transition after an action, without codes of errors and other answers."""
    base = base_of(action.answer)
    names = [action.answer, base + _FAILED]
    if action.timeout_seconds is not None:
        names += [f"{base}.{TIMEOUT}", f"{action.event_type}.{TIMEOUT}", TIMEOUT]
    return [*names, f"{base}.{REJECTED}", REJECTED] if is_gated else names


def names_of(event: EventEnvelope, config: StateConfig) -> frozenset[str]:
    """Return the names of this event for a transition of this state."""
    if not is_failure(event):
        return frozenset({event.type})
    code = error_of(event)[0]
    names = {event.type, code}
    for ending in (_FAILED, f".{TIMEOUT}", f".{REJECTED}"):
        if event.type.endswith(ending):
            names.add(event.type.removesuffix(ending) + _FAILED)
    if code == TIMEOUT and config.action:
        names.add(f"{config.action.event_type}.{TIMEOUT}")
    return frozenset(names)


def error_of(event: EventEnvelope) -> tuple[str, str]:
    """Code and words of a failure."""
    error = event.data.get("error")
    if isinstance(error, dict):
        return str(error.get("code") or "failed"), str(error.get("message") or "failed")
    return "failed", str(error or "failed")


def is_failure(event: EventEnvelope) -> bool:
    return event.data.get("success") is False


def result_in(event: EventEnvelope) -> Json:
    """Result that is kept under the name of its state; of a failure, the error under that name."""
    said = content_of(event.data)
    return {"error": said} if is_failure(event) else said


def next_state(config: StateConfig, event: EventEnvelope, view: JsonObject) -> str | None:
    """Return the target of the first transition, as written, with this event and a true condition. None: there is no
    way on."""
    names = names_of(event, config)
    seen: JsonObject = {"payload": content_of(event.data), "data": event.data, **view}
    for transition in config.transitions:
        if transition.on_event in names and (transition.condition is None or holds(transition.condition, seen)):
            return transition.to_state
    return None if is_failure(event) else _without_event(config, event)


def _without_event(config: StateConfig, event: EventEnvelope) -> str | None:
    """Return the next state of an answer without a fitting transition."""
    meant = config.action is not None and event.type == config.action.answer
    return config.default_next if meant or config.action is None else None
