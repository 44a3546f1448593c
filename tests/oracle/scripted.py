"""A model that knows the right decision of every step, and that is wrong first, as often as it is told to be."""

import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import jsonschema
from faults import RIGHT_INSIDE, UNANSWERED, Case, Fault, fault
from material import Material, Payload, Plan

from soorma_ai.testing.model_server import Reply, failure


@dataclass(frozen=True)
class Refusal:
    """A model that declines at a step. `code` and `because` are what its caller is to hear."""

    at: int
    reply: Reply
    code: str
    because: str


@dataclass(frozen=True)
class Habit:
    """How often the model is wrong at first, and whether it refuses in the end."""

    rate: float = 0.0
    seed: int = 1
    refusal: Refusal | None = None


def refusal(number: int, plan: Plan) -> Refusal:
    """By the model itself or by its provider, at another step for each number."""
    at = number % len(plan.steps)
    if number % 2:
        return Refusal(at, Reply(text="", finish="content_filter"), "content_filtered", "filtered")
    words = "I will not do that: it could be misused."
    return Refusal(at, Reply(refusal=words), "model_refused", words)


@dataclass
class PlanModel:
    """The model of one plan. A request that begins a new decision means that the one before was accepted.

    `complaints` are things that a model could not have worked with, or should never have been asked.
    """

    plan: Plan
    strangers: list[tuple[str, Payload]]
    habit: Habit
    step: int = -1
    calls: int = 0
    unanswered: int = 0
    corrupted: Counter[str] = field(default_factory=Counter[str])
    taken_as_they_were: int = 0
    complaints: list[str] = field(default_factory=list[str])
    _last: Fault | None = None
    _asked: int = 0

    def reply(self, body: Payload) -> Reply:
        self.calls += 1
        given = self._given(body)
        return replace(given, usage=(_tokens(json.dumps(body)), _tokens(given.text or "")))

    def _given(self, body: Payload) -> Reply:
        messages: list[Payload] = body["messages"]
        last, self._last = self._last, None
        asked, self._asked = self._asked, len(messages)
        if last is not None and last.again and len(messages) == asked:
            self.unanswered += last.kind in UNANSWERED
            return self._right(body)
        if len(messages) > 2:
            self._check_reask(messages, last)
            return self._right(body)
        return self._new_decision(body, last)

    def _new_decision(self, body: Payload, last: Fault | None) -> Reply:
        if last is not None and last.kind not in RIGHT_INSIDE:
            self.complaints.append(f"step {self.step}: a wrong answer was taken ({last.kind}): {last.reply.text}")
        elif last is not None:
            self.taken_as_they_were += 1
        self.step += 1
        if self.step >= len(self.plan.steps):
            self.complaints.append(f"asked for decision {self.step + 1} of {len(self.plan.steps)}")
            return failure(400, "this plan is over")
        self._check_prompt(body)
        if self.habit.refusal and self.step == self.habit.refusal.at:
            return self.habit.refusal.reply
        right = self._right(body)
        draw = random.Random(f"{self.habit.seed}:{self.plan.id}:{self.step}")
        if draw.random() >= self.habit.rate:
            return right
        self._last = fault(self._case(json.loads(right.text or ""), draw))
        self.corrupted[self._last.kind] += 1
        return self._last.reply

    def _right(self, body: Payload) -> Reply:
        step = self.plan.steps[self.step]
        match step["decision"]:
            case "PUBLISH":
                said = {"action": f"publish:{step['event']}", "data": step["data"]}
            case "WAIT":
                said = {"action": "wait", "expected_event": step["expected_event"], "message": step["message"]}
            case _:
                said = {"action": "complete", "result": step["result"]}
        branches = {branch["properties"]["action"]["enum"][0]: branch for branch in branches_of(body)}
        branch = branches.get(said["action"])
        if branch is None:
            self.complaints.append(f"step {self.step}: {said['action']} is not offered; there is {sorted(branches)}")
        else:
            said = spelled(said, branch)
            for error in jsonschema.Draft202012Validator(branch).iter_errors(said):
                self.complaints.append(
                    f"step {self.step}: the schema has no room for the right answer: {error.message}"
                )
        return Reply(text=json.dumps({"reasoning": f"Step {self.step + 1}.", "step": said}))

    def _case(self, answer: Payload, draw: random.Random) -> Case:
        name = answer["step"]["action"].removeprefix("publish:")
        event = self.plan.events.get(name)
        return Case(answer, event.schema if event else None, frozenset(self.plan.events), self.strangers, draw)

    def _check_reask(self, messages: list[Payload], last: Fault | None) -> None:
        if last is None:
            self.complaints.append(f"step {self.step}: the right answer was refused: {messages[-1]['content']}")
            return
        said = (last.reply.text or "").strip()
        if said and said not in messages[-2]["content"]:
            self.complaints.append(f"step {self.step}: the re-ask after {last.kind} does not show the refused answer")
        if len(messages[-1]["content"]) < 40:
            self.complaints.append(f"step {self.step}: the re-ask after {last.kind} gives no reason")

    def _check_prompt(self, body: Payload) -> None:
        """The model sees the goal, its instructions, and how the step before ended; and is offered its own events."""
        system, user = (message["content"] for message in body["messages"])
        known = [(self.plan.instructions.strip(), system), (in_json(self.plan.goal), user)]
        before = self.plan.steps[self.step - 1] if self.step else {}
        heard = before.get("answer", {}).get("text", before.get("result"))
        known += [(in_json(word), user) for word in words_of(heard)]
        for text, where in known:
            if text not in where:
                self.complaints.append(f"step {self.step}: the prompt does not say {text[:80]!r}")
        offered = {branch["properties"]["action"]["enum"][0] for branch in branches_of(body)}
        expected = {f"publish:{name}" for name in self.plan.events} | {"wait", "complete"}
        expected |= {"publish_all"} if self.plan.events else set()
        if offered != expected:
            self.complaints.append(f"step {self.step}: offered is {sorted(offered)}, and not {sorted(expected)}")


class Models:
    """One model a plan. Its name in a request says which."""

    def __init__(self, material: Material, plans: list[Plan], habits: dict[str, Habit]) -> None:
        self.of = {plan.id: PlanModel(plan, material.strangers(plan), habits[plan.id]) for plan in plans}
        self._by_name = {name_of(plan): self.of[plan.id] for plan in plans}

    def respond(self, body: Payload) -> Reply:
        return self._by_name[body["model"]].reply(body)


def name_of(plan: Plan) -> str:
    return f"plan-{plan.number}"


def branches_of(body: Payload) -> list[Payload]:
    """What the model may answer, out of the schema that came with the request."""
    form: Payload = body.get("response_format") or {}
    schema = form["json_schema"]["schema"] if form else body["tools"][0]["function"]["parameters"]
    return schema["properties"]["step"]["anyOf"]


def spelled(value: Any, schema: Payload) -> Any:
    """As a provider spells it that is held to `schema`: what is left out but required there is null."""
    if "anyOf" in schema:
        spellings = [(spelled(value, branch), branch) for branch in schema["anyOf"]]
        fitting = (said for said, branch in spellings if jsonschema.Draft202012Validator(branch).is_valid(said))
        return next(fitting, value)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        left_out = {name: None for name in schema.get("required", []) if name not in value}
        return {name: spelled(item, properties.get(name, {})) for name, item in (value | left_out).items()}
    if isinstance(value, list):
        return [spelled(item, schema.get("items", {})) for item in value]
    return value


def in_json(text: str) -> str:
    """`text` as it stands in a fenced payload."""
    return json.dumps(text)[1:-1].replace("<", "\\u003c")


def words_of(value: Any) -> list[str]:
    """Some of the text in it: the first that is there."""
    match value:
        case str():
            return [value[:200]]
        case dict():
            found = [word for key in sorted(value) for word in words_of(value[key])]
            return found[:1]
        case list():
            return [word for item in value for word in words_of(item)][:1]
        case _:
            return []


def _tokens(text: str) -> int:
    return len(text) // 4 + 1
