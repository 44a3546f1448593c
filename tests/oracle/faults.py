"""The ways in which a model gets an answer wrong. Each kind makes one wrong answer out of the right one."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema
from material import Payload
from offered import ASKS
from wires.form import End, Failed, Reply, Said


@dataclass(frozen=True)
class Case:
    """The right answer of one step: `answer` as it goes over the wire, `schema` its event's own, if it has one.

    `strangers` are requests for events that are not offered here. `texts` are the fields that go over the wire as JSON
    in a text. `blind` is the request for an event of which no more than a line is shown.
    """

    answer: Payload
    schema: Payload | None
    offered: frozenset[str]
    strangers: list[tuple[str, Payload]]
    draw: random.Random
    texts: frozenset[str] = frozenset()
    blind: Payload | None = None

    @property
    def step(self) -> Payload:
        return copy.deepcopy(self.answer["step"])

    @property
    def action(self) -> str:
        return self.answer["step"]["action"]

    def instead(self, step: Any) -> str:
        return json.dumps({**self.answer, "step": step})

    @property
    def text(self) -> str:
        return json.dumps(self.answer)


@dataclass(frozen=True)
class Fault:
    """`again` is a reply after which the client itself repeats its request; nobody has to be told anything."""

    kind: str
    reply: Reply
    again: bool = False


Made = str | Reply | None


def fault(case: Case) -> Fault:
    """Of a kind that is drawn from those that apply to this step; where an event would be published blindly, that is
    what is wrong with half of the answers."""
    if case.blind and case.draw.random() < 0.5:
        return Fault(BLIND, Said(case.instead(case.blind)))
    kinds = list(KINDS)
    case.draw.shuffle(kinds)
    return next(made for kind in kinds if (made := fault_of(kind, case)) is not None)


def fault_of(kind: str, case: Case) -> Fault | None:
    """None when this kind of fault cannot be made of this step."""
    made = KINDS[kind](case)
    if made is None:
        return None
    return Fault(kind, Said(made) if isinstance(made, str) else made, again=kind in REPEATED)


def _unknown_event(case: Case) -> Made:
    known = sorted(case.offered) or ["order.created"]
    name = case.action.removeprefix("publish:") if case.action.startswith("publish:") else case.draw.choice(known)
    wrong = case.draw.choice(
        [f"{name}.v2", name[:-1], name.upper(), name.replace(".", "_"), "order.teleport.requested"]
    )
    data = case.step.get("data", {})
    return None if wrong in case.offered else case.instead({"action": f"publish:{wrong}", "data": data})


def _event_of_another_plan(case: Case) -> Made:
    if not case.strangers:
        return None
    name, data = case.draw.choice(case.strangers)
    return case.instead({"action": f"publish:{name}", "data": data})


def _missing_field(case: Case) -> Made:
    step = case.step
    if case.action == "wait":
        del step[case.draw.choice(["expected_event", "message"])]
    elif case.action == "complete":
        if case.draw.random() < 0.5:
            del step["result"]
        else:
            step["result"].popitem()
    elif case.action in ASKS:
        del step[case.draw.choice([name for name in step if name != "action"])]
    else:
        required = [name for name in (case.schema or {}).get("required", []) if name in step["data"]]
        if required:
            del step["data"][case.draw.choice(required)]
        else:
            del step["data"]
    return case.instead(step)


def _wrong_type(case: Case) -> Made:
    step = case.step
    if case.action == "wait":
        wrong: list[Any] = [17, None, ["what", "now"], {"text": step["message"]}]
        late: list[Any] = ["600", "soon", True, [600]]
        changed = case.draw.choice([{"message": case.draw.choice(wrong)}, {"timeout_seconds": case.draw.choice(late)}])
        return case.instead(step | changed)
    if case.action == "complete":
        step["result"] = case.draw.choice(["done", 1, [step["result"]], {"message": 17}, None])
        return case.instead(step)
    if case.action in ASKS:
        return case.instead({name: value if name == "action" else {"any": value} for name, value in step.items()})
    return _first_unfit(case, _retyped(case))


def _retyped(case: Case) -> Iterator[Payload]:
    names = list(case.step["data"])
    case.draw.shuffle(names)
    for name in names:
        wrong: list[Any] = [17, "seventeen", True, ["x"], {"value": "x"}, None]
        case.draw.shuffle(wrong)
        for value in wrong:
            yield {**case.step["data"], name: value}


def _outside_an_enum(case: Case) -> Made:
    step = case.step
    if case.action == "wait":
        step["expected_event"] = case.draw.choice(["user.vanished", "", "user.replied.completed"])
        return case.instead(step)
    if case.action == "complete" or case.action in ASKS:
        return None
    properties = (case.schema or {}).get("properties", {})
    names = [name for name in step["data"] if "enum" in properties.get(name, {})]
    case.draw.shuffle(names)
    return _first_unfit(case, ({**step["data"], name: "none of these"} for name in names))


def _extra_field(case: Case) -> Made:
    """Where the event's schema is open, a further field in its data is right; beside it, never. In a question about
    events it changes nothing."""
    if case.action in ASKS:
        return None
    step = case.step
    extra = {"confidence": 0.9}
    if case.action == "complete":
        step["result"] |= extra
        return case.instead(step)
    if case.action == "wait":
        extra = case.draw.choice([extra, {"reason": "x"}, {"approved": True}])
    else:
        extra = case.draw.choice([extra, {"event_type": case.draw.choice(sorted(case.offered))}])
        inside = _first_unfit(case, [step["data"] | extra])
        if inside is not None:
            return inside
    return case.instead(step | extra)


def _arguments_as_a_string(case: Case) -> Made:
    step = case.step
    inner = {"publish": "data", "complete": "result"}.get(case.action.partition(":")[0])
    if inner is None or inner in case.texts or case.draw.random() < 0.25:
        return case.instead(json.dumps(step))
    step[inner] = json.dumps(step[inner])
    return case.instead(step)


def _malformed_json(case: Case) -> Made:
    text = case.text
    wrong = [
        text.replace('"', "'"),
        text.replace('": ', '" ', 1),
        text.replace('"step"', "step", 1),
        text[:-1] + ",}",
        text.replace("}", ")", 1),
        text.replace(", ", " ", 1),
    ]
    case.draw.shuffle(wrong)
    return next(attempt for attempt in wrong if not _is_json(attempt))


def _truncated_json(case: Case) -> Made:
    return case.text[: case.draw.randrange(1, len(case.text))]


def _cut_off(case: Case) -> Made:
    return Said(case.text[: case.draw.randrange(1, len(case.text))], End.CUT)


def _fenced(case: Case) -> Made:
    fence = case.draw.choice(["```json\n{}\n```", "```\n{}\n```", "Here it is:\n\n```json\n{}\n```\n\nDone."])
    return fence.replace("{}", case.text)


def _prose_around(case: Case) -> Made:
    prose = case.draw.choice(
        [
            "Sure! The next step is: {}",
            "{}\n\nLet me know if you need anything else.",
            "I thought about {this} first, but then: {} I hope it helps.",
        ]
    )
    return prose.replace("{}", case.text)


def _empty(case: Case) -> Made:
    return case.draw.choice(["", " ", "\n\n"])


def _unknown_decision(case: Case) -> Made:
    step = case.step
    step["action"] = case.draw.choice(["think", "escalate", "publish", "PUBLISH", "", None])
    return case.instead(step)


def _too_many_requests(case: Case) -> Made:
    return Failed(429, "Rate limit reached")


def _server_error(case: Case) -> Made:
    return Failed(case.draw.choice([500, 502, 503]), "The server had an error")


KINDS: dict[str, Callable[[Case], Made]] = {
    "unknown event": _unknown_event,
    "event of another plan": _event_of_another_plan,
    "missing field": _missing_field,
    "wrong type": _wrong_type,
    "outside an enum": _outside_an_enum,
    "extra field": _extra_field,
    "arguments as a string": _arguments_as_a_string,
    "malformed JSON": _malformed_json,
    "truncated JSON": _truncated_json,
    "cut off": _cut_off,
    "fenced": _fenced,
    "prose around": _prose_around,
    "empty": _empty,
    "unknown decision": _unknown_decision,
    "429": _too_many_requests,
    "500": _server_error,
}

BLIND = "seen as a line"
UNANSWERED = frozenset({"429", "500"})
REPEATED = UNANSWERED | {"cut off"}
# Whoever finds the answer in it has the right one; the product takes JSON text for the object that it spells.
RIGHT_INSIDE = frozenset({"fenced", "prose around", "arguments as a string"})


def _first_unfit(case: Case, attempts: Any) -> str | None:
    """The first of these data that the event's schema does not take, where null means left out."""
    schema = case.schema or {}
    judge = jsonschema.Draft202012Validator(schema)
    for data in attempts:
        missing = any(data.get(name, "") is None for name in schema.get("required", []))
        if missing or not judge.is_valid(_without_nulls(data)):
            return case.instead({**case.step, "data": data})
    return None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
