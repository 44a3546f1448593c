"""A model with the right decision of every step, and with a chosen rate of wrong first answers."""

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from actions import HELP_EVENT
from faults import RIGHT_INSIDE, UNANSWERED, Case, Fault, fault
from material import GOAL_EVENT, Event, Material, Payload, Plan
from offered import (
    ASKS,
    FIND,
    LOOKUPS,
    NEED,
    PUBLISH,
    PUBLISH_ALL,
    SEE,
    branches_of,
    lines_of,
    spelled_step,
    texts_in,
    with_references,
    with_texts,
    words_for,
)
from payloads import Json, faults_in
from wires.form import DeclineForm, FailedRequest, Question, Reply, ScriptedAnswer, Wire, WireResponse

MOST_FINDS, MOST_NEEDS = 2, 3
# The least number of shown characters of each of many results.
SHORTEST_SHARE = 20
_GOAL: Payload = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
# The greatest number of characters of a result shown whole; those of other scripts count for more.
LONGEST_WHOLE = 5_500
_IN_OUTLINE = re.compile(r"^step([0-9]+), in outline: ", re.MULTILINE)
_ESCAPED = re.compile("[<\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True)
class Refusal:
    """A refusal of the model at a step."""

    at: int
    how: DeclineForm


@dataclass(frozen=True)
class Habit:
    """The rate of wrong first answers, and the final refusal, if any."""

    rate: float = 0.0
    seed: int = 1
    refusal: Refusal | None = None


def refusal(number: int, plan: Plan, wire: Wire) -> Refusal:
    """Make a refusal at another step for each number, in the ways possible on this wire."""
    return Refusal(number % len(plan.steps), wire.declines[number % len(wire.declines)])


@dataclass
class PlanModel:
    """The model of one plan. A request for a new decision means an accepted previous one.

    Like a real model it knows only events in the request: it publishes one with a schema, asks for the schema of a
    listed one, and searches for a missing one. `registered` are all existing events. `asked` counts these questions,
    `hid` the requests with hidden events. `looked` is the last step with a look into a result. `complaints` are
    requests that a model could not have worked with, or should never have received.
    """

    plan: Plan
    strangers: list[tuple[str, Payload]]
    habit: Habit
    wire: Wire
    registered: frozenset[str] = frozenset()
    step: int = -1
    looked: int = -1
    calls: int = 0
    unanswered: int = 0
    tokens: int = 0
    hid: int = 0
    repeated: int = 0
    compared: int = 0
    corrupted: Counter[str] = field(default_factory=Counter[str])
    asked: Counter[str] = field(default_factory=Counter[str])
    taken_as_they_were: int = 0
    complaints: list[str] = field(default_factory=list[str])
    _last: Fault | None = None
    _length: int = 0
    _before: tuple[str, ...] = ()
    _has_asked: bool = False
    _needs: int = 0
    _looked_for: list[str] = field(default_factory=list[str])

    def reply(self, question: Question) -> Reply:
        self.calls += 1
        self.tokens += _tokens(question.size)
        given = self._given(question)
        if not isinstance(given, ScriptedAnswer):
            return given
        return replace(given, tokens=(_tokens(question.size), _tokens(len(given.text))))

    def _given(self, question: Question) -> Reply:
        last, self._last = self._last, None
        has_asked, self._has_asked = self._has_asked, False
        if has_asked and last is not None:
            self.taken_as_they_were += len(question.messages) <= 2
        length, self._length = self._length, len(question.messages)
        if last is not None and last.again and length == self._length:
            self.unanswered += last.kind in UNANSWERED
            return self._say(self._decide(question), question)
        if has_asked:
            return self._say(self._decide(question), question)
        if self._length > 2:
            return self._again(question, last)
        return self._new_decision(question, last)

    def _again(self, question: Question, last: Fault | None) -> Reply:
        declined = self.habit.refusal
        if declined and declined.how.insists and self.step == declined.at:
            return declined.how.reply
        self._check_reask(question, last)
        return self._say(self._decide(question), question)

    def _new_decision(self, question: Question, last: Fault | None) -> Reply:
        if last is not None and last.kind not in RIGHT_INSIDE:
            self.complaints.append(f"step {self.step}: a wrong answer was taken ({last.kind}): {_text(last.reply)}")
        elif last is not None:
            self.taken_as_they_were += 1
        self.step += 1
        self._needs = 0
        self._compare(question)
        if self.step >= len(self.plan.steps):
            self.complaints.append(f"asked for decision {self.step + 1} of {len(self.plan.steps)}")
            return FailedRequest(400, "this plan is over")
        self._check_prompt(question)
        if self.habit.refusal and self.step == self.habit.refusal.at:
            return self.habit.refusal.how.reply
        decision = self._decide(question)
        draw = random.Random(f"{self.habit.seed}:{self.plan.id}:{self.step}")
        if draw.random() >= self.habit.rate:
            return self._say(decision, question)
        self._last = fault(self._case(decision, question, draw))
        self.corrupted[self._last.kind] += 1
        if self._last.kind in RIGHT_INSIDE:
            self._note(decision)
        return self._last.reply

    def _compare(self, question: Question) -> None:
        """Count the common beginning of a decision's request with the previous decision's: a provider with a cache need
        not read it again."""
        texts = (json.dumps(question.schema), *(text for _, text in question.messages))
        if self._before:
            self.compared += sum(map(len, texts))
            self.repeated += sum(map(beginning_of_both, self._before, texts))
        self._before = texts

    def _decide(self, question: Question) -> Payload:
        step = self.plan.steps[self.step]
        branches = branches_of(question.schema)
        number = _step_in_outline(question)
        if "look" in step and self.looked < self.step:
            return {"action": SEE, "path": f"step{number}.result{step['look']['path']}"}
        if "look" in step and step["look"]["shows"] not in question.shown:
            self.complaints.append(f"step {self.step}: {SEE} did not show {step['look']['shows']!r}")
        requests = step["requests"] if step["decision"] == "PUBLISH_ALL" else [step]
        unseen = [one["event"] for one in requests if "event" in one and PUBLISH + one["event"] not in branches]
        if unseen and ASKS & branches.keys():
            return self._ask(self.plan.events[unseen[0]], question)
        return _step_of(step, self.plan, number)

    def _ask(self, event: Event, question: Question) -> Payload:
        if event.name in lines_of(question):
            if self._needs < MOST_NEEDS:
                return {"action": NEED, "events": [event.name]}
        elif self.asked[FIND] < MOST_FINDS:
            return {"action": FIND, "words": words_for(event.name, event.description)}
        before = ", ".join(self._looked_for) or "nothing"
        self.complaints.append(f"step {self.step}: {event.name} is not shown; looked for before: {before}")
        return {"action": "complete", "result": {"message": "There is nobody who could do this."}}

    def _say(self, decision: Payload, question: Question) -> ScriptedAnswer:
        action = decision["action"]
        self._note(decision)
        branches = branches_of(question.schema)
        if (branch := branches.get(action)) is None:
            self.complaints.append(f"step {self.step}: {action} is not offered; there is {sorted(branches)}")
            return ScriptedAnswer(self._answer(decision))
        said = with_texts(spelled_step(decision, branches), branches)
        for found in faults_in(said, branch):
            self.complaints.append(f"step {self.step}: the schema has no room for the right answer: {found}")
        return ScriptedAnswer(self._answer(said))

    def _note(self, decision: Payload) -> None:
        """Count a question: the next answer belongs to the same step."""
        action = decision["action"]
        if action == SEE:
            self._has_asked, self.looked = True, self.step
        if action in ASKS:
            self._has_asked = True
            self._needs += action == NEED
            self.asked[action] += 1
            self._looked_for += [decision["words"]] if action == FIND else []

    def _answer(self, step: Payload) -> str:
        return json.dumps({"reasoning": f"Step {self.step + 1}.", "step": step})

    def _case(self, decision: Payload, question: Question, draw: random.Random) -> Case:
        branches = branches_of(question.schema)
        branch = branches.get(decision["action"], {"properties": {}})
        step = self.plan.steps[self.step]
        schemas = {PUBLISH + name: event.schema for name, event in self.plan.events.items()}
        if "handed" in step:
            schemas[PUBLISH + step["event"]] = with_references(schemas[PUBLISH + step["event"]], step["handed"])
        is_blind = decision["action"] == NEED and step["decision"] == "PUBLISH"
        return Case(
            answer=json.loads(self._answer(spelled_step(decision, branches))),
            schema=schemas.get(decision["action"], _GOAL if step["decision"] == "DELEGATE" else None),
            offered=frozenset(self.plan.events),
            strangers=self.strangers,
            draw=draw,
            texts=texts_in(branch),
            blind=_step_of(step, self.plan, _step_in_outline(question)) if is_blind else None,
            schemas=schemas,
        )

    def _check_reask(self, question: Question, last: Fault | None) -> None:
        (_, before), (_, told) = question.messages[-2:]
        if last is None:
            self.complaints.append(f"step {self.step}: the right answer was refused: {told}")
            return
        said = self.wire.carry(last.reply, question).strip() if isinstance(last.reply, ScriptedAnswer) else ""
        if said not in before and not _is_same(said, before):
            self.complaints.append(f"step {self.step}: the re-ask after {last.kind} does not show the refused answer")
        if len(told) < 40:
            self.complaints.append(f"step {self.step}: the re-ask after {last.kind} gives no reason")

    def _check_prompt(self, question: Question) -> None:
        """Check the prompt: the goal, its instructions, the outcome of the previous step, and the plan's own events."""
        (_, system), (_, user) = question.messages[:2]
        known = [(self.plan.instructions.strip(), system), (in_json(self.plan.goal), user)]
        known += [(text, user) for text in _heard_of(self.plan.steps[self.step - 1] if self.step else {})]
        for text, where in known:
            if text not in where:
                self.complaints.append(f"step {self.step}: the prompt does not say {text[:80]!r}")
        self._check_offer(question)

    def _check_offer(self, question: Question) -> None:
        """Check the offer: all own events in full, or, with more events than the request can show, a way to reach the
        others."""
        offered = branches_of(question.schema).keys()
        expected = {PUBLISH + name for name in self.plan.events} | {"complete", "give_up"}
        expected |= {PUBLISH_ALL} if self.plan.events else set()
        expected |= {"wait"} if self.plan.asks else set()
        expected |= {delegation_to(self.plan.helper)} if self.plan.helper else set()
        offered = {action for action in offered if not (self.plan.is_helper and action.endswith(f"/{GOAL_EVENT}"))}
        everything = self.registered | self.plan.events.keys()
        strange = offered - expected - LOOKUPS - {PUBLISH + name for name in everything}
        missing = set[str]() if ASKS & offered else expected - offered
        if strange or missing:
            self.complaints.append(f"step {self.step}: offered is {sorted(offered)}, and not {sorted(expected)}")
        shown = {action.removeprefix(PUBLISH) for action in offered}
        if not everything <= shown and not everything <= shown | lines_of(question):
            self.hid += 1


class Models:
    """One model for each plan, and one for its helper, by its name in a request."""

    def __init__(self, material: Material, plans: list[Plan], habits: dict[str, Habit], wire: Wire) -> None:
        everyones = frozenset(event.name for event in material.registry)
        self.of = {
            plan.id: PlanModel(plan, material.strangers(plan), habits[plan.id], wire, everyones) for plan in plans
        }
        helpers = [plan.helper for plan in plans if plan.helper]
        self._helpers = {
            helper.id: PlanModel(
                helper, material.strangers(helper), replace(habits[plan.id], refusal=None), wire, everyones
            )
            for plan in plans
            if (helper := plan.helper)
        }
        self._by_name = {name_of(plan): self.of[plan.id] for plan in plans}
        self._by_name |= {name_of(helper): self._helpers[helper.id] for helper in helpers}

    def respond(self, model: str, question: Question) -> Reply:
        return self._by_name[model].reply(question)

    def models_of(self, plan: Plan) -> list[PlanModel]:
        """Return the plan's own model, and its helper's."""
        return [self.of[plan.id], *([self._helpers[plan.helper.id]] if plan.helper else [])]


def name_of(plan: Plan) -> str:
    return f"plan-{plan.number}{'-helper' if plan.is_helper else ''}"


def planner_of(plan: Plan) -> str:
    """Return the name of the plan's planner."""
    return f"helper of {plan.id.removesuffix('+helper')}" if plan.is_helper else f"planner of {plan.id}"


def delegation_to(helper: Plan) -> str:
    return f"delegate:{planner_of(helper)}/{HELP_EVENT}"


def in_json(text: str) -> str:
    """Return `text` as inside a fenced payload."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)[1:-1])


def _is_in_outline(value: Any) -> bool:
    """Tell whether a result is too long to be shown whole."""
    return len(json.dumps(value, ensure_ascii=False)) > LONGEST_WHOLE


def words_of(value: Json) -> list[str]:
    """Return a part of the text in it: the first one found."""
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


def beginning_of_both(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts."""
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)


def _step_of(step: Payload, plan: Plan, number: str) -> Payload:
    """Return a decision in a model's spelling. `number` is the step with its result in outline."""
    match step["decision"]:
        case "PUBLISH":
            handed = {name: {"$from": f"step{number}.result{path}"} for name, path in step.get("handed", {}).items()}
            return {"action": PUBLISH + step["event"], "data": step["data"] | handed}
        case "PUBLISH_ALL":
            requests = [_step_of(request, plan, number) for request in step["requests"]]
            need = {"need": step["need"]} if "need" in step else {}
            return {"action": PUBLISH_ALL, "requests": requests, **need}
        case "DELEGATE" if plan.helper:
            return {"action": delegation_to(plan.helper), "data": step["data"]}
        case "WAIT":
            return {"action": "wait", "expected_event": step["expected_event"], "message": step["message"]}
        case "GIVE_UP":
            return {"action": "give_up", "reason": step["reason"], "missing": step["missing"]}
        case _:
            return {"action": "complete", "result": step["result"]}


def _step_in_outline(question: Question) -> str:
    """Return the number of the last step shown in outline."""
    return next(reversed(_IN_OUTLINE.findall(question.messages[1][1])), "0")


def _heard_of(before: Payload) -> list[str]:
    """Return the texts a request needs about the previous step."""
    if before.get("decision") == "PUBLISH_ALL":
        requests, need = before["requests"], before.get("need")
        told = f"{need} of {len(requests)} requests" if need else f"All {len(requests)} requests"
        short = [word for one in requests if not one.get("is_silent") for word in words_of(one["result"])[:1]]
        return [told, *(in_json(word[:SHORTEST_SHARE]) for word in short)]
    heard = before.get("answer", {}).get("text", before.get("result"))
    return [", in outline: "] if _is_in_outline(heard) else [in_json(word) for word in words_of(heard)[:1]]


def _is_same(said: str, shown: str) -> bool:
    """Tell whether both are the same JSON: a wire with objects does not preserve their spelling."""
    try:
        return json.loads(said) == json.loads(shown)
    except ValueError:
        return False


def _text(reply: Reply) -> str:
    match reply:
        case ScriptedAnswer():
            return reply.text
        case FailedRequest():
            return reply.message
        case WireResponse():
            return json.dumps(reply.body)


def _tokens(characters: int) -> int:
    return characters // 4 + 1
