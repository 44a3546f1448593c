"""Variants of plans by other actions: several requests at once, a goal for another planner, a look into a long result,
results passed on, giving up. Each is made of a plan with known decisions, and its decisions are known too."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from material import Event, Material, Payload, Plan
from payloads import Json

ENTRIES, LAST_READ = 200, 150
HELP_EVENT = "helper.help.requested"
KEEP = Event(
    "records.keep",
    "Keeps entries for later.",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "entries": {"type": "array", "items": {"type": "object"}},
            "first": {},
            "label": {},
        },
        "required": ["entries", "label"],
        "additionalProperties": False,
    },
    needs_approval=False,
    actor="assistant",
)
_SHORTEST_CLUE = 4


def play(material: Material, action: str) -> Material:
    """Return the material with its plans varied by an action, without plans unfit for it."""
    if not action:
        return material
    played = (PLAYS[action](plan) for plan in material.plans)
    return replace(material, plans=tuple(plan for plan in played if plan))


def ask_together(plan: Plan) -> Plan | None:
    """Return the plan with its independent requests published together, after the answers to the questions between
    them; None if every request needs the one before."""
    steps: list[Payload] = []
    group: list[Payload] = []
    for step in plan.steps:
        if step["decision"] == "WAIT":
            steps.append(step)
            continue
        if step["decision"] != "PUBLISH" or _needs(step, group, plan.goal):
            steps += _as_one(group)
            group = []
        if step["decision"] == "PUBLISH":
            group.append(step)
        else:
            steps.append(step)
    if all(step["decision"] != "PUBLISH_ALL" for step in steps):
        return None
    return replace(plan, steps=tuple(steps))


def need_all_but_one(plan: Plan) -> Plan | None:
    """Return the plan with its independent requests together; the last of each group is never answered, and is not
    needed."""
    together = ask_together(plan)
    return together and replace(together, steps=tuple(map(_without_last, together.steps)))


def delegate(plan: Plan) -> Plan | None:
    """Return the plan with its longest run of requests given to a helper, another planner. Every third helper gives up
    at its last decision."""
    start, end = max(_runs(plan), key=lambda run: run[1] - run[0], default=(0, 0))
    if start == end:
        return None
    run, text = plan.steps[start:end], f"Do what the customer of {plan.id} wants, as far as {end - start} steps go."
    gives_up = plan.number % 3 == 2
    done = {"message": f"{len(run)} steps of {plan.id} are done."}
    last = _give_up(f"The last step of {plan.id} is nothing for me.") if gives_up else _complete(done)
    helper = Plan(
        f"{plan.id}+helper", plan.number, text, "", len(run), (*run, last), plan.events, is_helper=True, asks=False
    )
    result = f"gave_up: {last['reason']}" if gives_up else done
    step = {"decision": "DELEGATE", "data": {"text": text}, "result": result, "error": gives_up}
    steps = (*plan.steps[:start], step, *plan.steps[end:])
    return replace(plan, steps=steps, helper=helper, max_actions=plan.max_actions + 1)


def look_into_result(plan: Plan) -> Plan | None:
    """Return the plan with a long first result; the next decision needs a part outside of its outline."""
    if (at := _first_answered(plan)) is None:
        return None
    look = {"path": f".entries[{LAST_READ}:{LAST_READ + 2}]", "shows": _entry(plan, LAST_READ)["text"]}
    after = {**plan.steps[at + 1], "look": look}
    return replace(plan, steps=(*plan.steps[:at], _with_long_result(plan, at), after, *plan.steps[at + 2 :]))


def hand_on_result(plan: Plan) -> Plan | None:
    """Return the plan with a long first result, passed on by references in the next request. Beside them is a null in
    an untyped field of the schema."""
    if (at := _first_answered(plan)) is None:
        return None
    long = _with_long_result(plan, at)
    entries: list[Payload] = long["result"]["entries"]
    data = {"title": plan.id, "entries": entries, "first": entries[0]["text"], "label": None}
    keep = {"decision": "PUBLISH", "event": KEEP.name, "data": data, "result": "kept", "error": False}
    handed = {"entries": ".entries", "first": ".entries[0].text"}
    steps = (*plan.steps[:at], long, {**keep, "handed": handed}, *plan.steps[at + 1 :])
    return replace(plan, steps=steps, events=plan.events | {KEEP.name: KEEP}, max_actions=plan.max_actions + 1)


def give_up(plan: Plan) -> Plan:
    """Return the plan with an early end, at another step for each number, since the goal cannot be reached."""
    last = _give_up(f"No agent does this: {plan.goal[:200].strip()}", plan.id, "a permission")
    return replace(plan, steps=(*plan.steps[: plan.number % len(plan.steps)], last))


PLAYS: dict[str, Callable[[Plan], Plan | None]] = {
    "publish_all": ask_together,
    "need": need_all_but_one,
    "delegate": delegate,
    "see_result": look_into_result,
    "from": hand_on_result,
    "give_up": give_up,
}


def _needs(step: Payload, group: list[Payload], goal: str) -> bool:
    """Tell whether a request equals one of the group, or holds a value known only from their results."""
    if any((step["event"], step["data"]) == (one["event"], one["data"]) for one in group):
        return True
    results = json.dumps([one["result"] for one in group])
    return any(clue in results and clue not in goal for clue in _clues_in(step["data"]))


def _clues_in(value: Json) -> Iterator[str]:
    match value:
        case dict() | list():
            for item in value.values() if isinstance(value, dict) else value:
                yield from _clues_in(item)
        case str() if len(value) >= _SHORTEST_CLUE:
            yield value
        case _:
            pass


def _as_one(group: list[Payload]) -> list[Payload]:
    return group if len(group) < 2 else [{"decision": "PUBLISH_ALL", "requests": group}]


def _without_last(step: Payload) -> Payload:
    if step["decision"] != "PUBLISH_ALL":
        return step
    *answered, last = step["requests"]
    return {**step, "requests": [*answered, {**last, "is_silent": True}], "need": len(answered)}


def _runs(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield the range of each sequence of requests."""
    start = None
    for at, step in enumerate((*plan.steps, {"decision": "END"})):
        if step["decision"] == "PUBLISH" and start is None:
            start = at
        elif step["decision"] != "PUBLISH" and start is not None:
            yield start, at
            start = None


def _first_answered(plan: Plan) -> int | None:
    return next((at for at, step in enumerate(plan.steps) if step["decision"] == "PUBLISH" and not step["error"]), None)


def _with_long_result(plan: Plan, at: int) -> Payload:
    step = plan.steps[at]
    return {**step, "result": {"said": step["result"], "entries": [_entry(plan, n) for n in range(ENTRIES)]}}


def _entry(plan: Plan, number: int) -> Payload:
    return {"number": number, "text": f"Entry {number} in the files about {plan.id}"}


def _complete(result: Payload) -> Payload:
    return {"decision": "COMPLETE", "result": result}


def _give_up(reason: str, *missing: str) -> Payload:
    return {"decision": "GIVE_UP", "reason": reason, "missing": [*missing]}
