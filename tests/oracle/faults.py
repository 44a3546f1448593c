"""The ways to get an answer wrong. Each kind makes one wrong answer out of the right one."""

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from judge import without_nulls
from material import Payload
from offered import GIVE_UP, LOOKUPS, PUBLISH_ALL, SEE
from payloads import Json, is_valid
from wires.form import End, FailedRequest, Reply, ScriptedAnswer


@dataclass(frozen=True)
class Case:
    """The right answer of one step: `answer` in its form on the wire, `schema` its event's own, if any.

    `strangers` are requests for events not offered here. `texts` are the fields sent as JSON in a text. `blind` is the
    request for an event shown only as a line. `schemas` are those of all requests, by action.
    """

    answer: Payload
    schema: Payload | None
    offered: frozenset[str]
    strangers: list[tuple[str, Payload]]
    draw: random.Random
    texts: frozenset[str] = frozenset()
    blind: Payload | None = None
    schemas: Mapping[str, Payload] = field(default_factory=dict[str, Payload])

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
    """`again` is a reply after which the client itself repeats its request, without a re-ask."""

    kind: str
    reply: Reply
    again: bool = False


Made = str | Reply | None


def fault(case: Case) -> Fault:
    """Make a fault of a random kind among those possible for this step; if an event can be published blindly, half of
    the answers do so."""
    if case.blind and case.draw.random() < 0.5:
        return Fault(BLIND, ScriptedAnswer(case.instead(case.blind)))
    kinds = [kind for kind in KINDS if _is_possible(kind, case)]
    case.draw.shuffle(kinds)
    return next(made for kind in kinds if (made := fault_of(kind, case)) is not None)


def _is_possible(kind: str, case: Case) -> bool:
    """Tell whether a kind known to few actions can be made of this one."""
    match kind:
        case "impossible join":
            return case.action == PUBLISH_ALL
        case "wrong reference":
            return case.action == SEE or FROM in case.text
        case _:
            return True


def fault_of(kind: str, case: Case) -> Fault | None:
    """Return None if this kind of fault cannot be made of this step."""
    is_within = case.action == PUBLISH_ALL and kind in _OF_ONE_REQUEST
    made = _in_one_request(case, KINDS[kind]) if is_within else KINDS[kind](case)
    if made is None:
        return None
    return Fault(kind, ScriptedAnswer(made) if isinstance(made, str) else made, again=kind in REPEATED)


def _in_one_request(case: Case, make: Callable[[Case], Made]) -> Made:
    """Make one of several requests wrong."""
    step = case.step
    at = case.draw.randrange(len(step["requests"]))
    request = step["requests"][at]
    inner = replace(case, answer={"reasoning": "", "step": request}, schema=case.schemas[request["action"]])
    made = make(inner)
    if not isinstance(made, str):
        return None
    step["requests"][at] = json.loads(made)["step"]
    return case.instead(step)


def _impossible_join(case: Case) -> Made:
    if not _is_possible("impossible join", case):
        return None
    step = case.step
    requests = step["requests"]
    wait = {"action": "wait", "expected_event": "user.replied", "message": "And now?"}
    changes: list[Payload] = [
        {"need": len(requests) + 1},
        {"need": 0},
        {"requests": []},
        {"requests": [*requests, wait]},
        {"requests": [{"action": PUBLISH_ALL, "requests": requests}]},
        {"requests": [json.dumps(requests[0]), *requests[1:]]},
    ]
    return case.instead(step | case.draw.choice(changes))


def _wrong_reference(case: Case) -> Made:
    """Refer to a missing step, to a missing part, or in an invalid form."""
    step = case.step
    handed = [name for name, value in _fields_of(step).items() if isinstance(value, dict) and FROM in value]
    if case.action == SEE:
        return case.instead({**step, "path": _misled(step["path"], case.draw)})
    if not handed:
        return None
    name = case.draw.choice(handed)
    step["data"][name] = {FROM: _misled(step["data"][name][FROM], case.draw)}
    return case.instead(step)


def _misled(path: str, draw: random.Random) -> str:
    number, _, rest = path.partition(".")
    return draw.choice([f"step99999.{rest}", f"{path}.nothing", f"{number}.{rest}..", f"{number}.results"])


def _fields_of(step: Payload) -> Payload:
    data: Json = step.get("data")
    return data if isinstance(data, dict) else {}


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
    elif case.action in LOOKUPS:
        del step[case.draw.choice([name for name in step if name != "action"])]
    elif case.action == GIVE_UP:
        del step["reason"]
    elif case.action == PUBLISH_ALL:
        del step["requests"]
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
    if case.action in LOOKUPS:
        return case.instead({name: value if name == "action" else {"any": value} for name, value in step.items()})
    if case.action == GIVE_UP:
        changes = [{"reason": wrong} for wrong in (17, None, ["x"], "", " ")] + [{"missing": "a key"}, {"missing": [1]}]
        return case.instead(step | case.draw.choice(changes))
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
    if case.action in ("complete", GIVE_UP) or case.action in LOOKUPS:
        return None
    properties = (case.schema or {}).get("properties", {})
    names = [name for name in step["data"] if "enum" in properties.get(name, {})]
    case.draw.shuffle(names)
    return _first_unfit(case, ({**step["data"], name: "none of these"} for name in names))


def _extra_field(case: Case) -> Made:
    """Add a field: in the data unless the event's schema is open there, and always beside the data. A question about
    events stays unchanged."""
    if case.action in LOOKUPS:
        return None
    step = case.step
    extra: Payload = {"confidence": 0.9}
    if case.action == "complete":
        step["result"] |= extra
        return case.instead(step)
    if case.action == "wait":
        extra = case.draw.choice([extra, {"reason": "x"}, {"approved": True}])
    elif case.action == GIVE_UP:
        extra = case.draw.choice([extra, {"result": {}}, {"data": {}}])
    else:
        extra = case.draw.choice([extra, {"event_type": case.draw.choice(sorted(case.offered))}])
        inside = _first_unfit(case, [step["data"] | extra])
        if inside is not None:
            return inside
    return case.instead(step | extra)


def _arguments_as_a_string(case: Case) -> Made:
    step = case.step
    inner = {"publish": "data", "delegate": "data", "complete": "result"}.get(case.action.partition(":")[0])
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
    return ScriptedAnswer(case.text[: case.draw.randrange(1, len(case.text))], End.CUT)


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
    return FailedRequest(429, "Rate limit reached")


def _server_error(case: Case) -> Made:
    return FailedRequest(case.draw.choice([500, 502, 503]), "The server had an error")


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
    "impossible join": _impossible_join,
    "wrong reference": _wrong_reference,
    "429": _too_many_requests,
    "500": _server_error,
}

FROM = "$from"
BLIND = "seen as a line"
_OF_ONE_REQUEST = frozenset(
    {"unknown event", "event of another plan", "missing field", "wrong type", "outside an enum", "extra field"}
)
UNANSWERED = frozenset({"429", "500"})
REPEATED = UNANSWERED | {"cut off"}
# Fenced JSON with the answer counts as right; the product also takes JSON text for an object.
RIGHT_INSIDE = frozenset({"fenced", "prose around", "arguments as a string"})


def _first_unfit(case: Case, attempts: Iterable[Payload]) -> str | None:
    """Return the first data refused by the event's schema. Null counts as left out, unless the schema allows it, as one
    without a type does."""
    schema = case.schema or {}
    for data in attempts:
        if not is_valid(without_nulls(data, schema), schema) and not is_valid(_without_nulls(data), schema):
            return case.instead({**case.step, "data": data})
    return None


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
