"""Scripted reasoner: no model, no network, the same answers every time."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from soorma_ai.adapters.extraction import find_object
from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.kernel.domain.states import StateMachine, initial_of, states_of
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact
from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion

Item: TypeAlias = JsonObject | str | PlannerDecision | Exception | ModelAnswer
Script: TypeAlias = Iterable[Item] | Callable[[ModelQuestion], Item | Awaitable[Item]]

REASONING = "scripted"
_CHARS_PER_TOKEN = 4


class ScriptedReasoner:
    """Reasoner with answers from `script`: its items in order, or its return value for a question.

    An item is the answer as an object or as raw text, a PlannerDecision, a whole ModelAnswer, or an exception to raise.
    `questions` records all questions. Four characters are a token; without `usd_per_token` the price is unknown.
    """

    def __init__(
        self,
        script: Script,
        *,
        model: str = "scripted",
        provider: str = "",
        max_output_tokens: int = 1000,
        usd_per_token: float | None = 0.0,
    ) -> None:
        self.questions: list[ModelQuestion] = []
        self.model = model
        self.provider = provider or model
        self.max_output_tokens = max_output_tokens
        self._usd_per_token = usd_per_token
        self._respond = script if callable(script) else _in_order(script)

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        price = self._usd_per_token
        return None if price is None else price * (prompt_tokens + completion_tokens)

    def check(self) -> None:
        pass

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        self.questions.append(question)
        item = self._respond(question)
        if inspect.isawaitable(item):
            item = await item
        match item:
            case Exception():
                raise item
            case ModelAnswer():
                return item
            case str():
                text = item
            case _:
                text = json.dumps(wire_form(item) if isinstance(item, PlannerDecision) else item)
        found = find_object(text)
        prompt_tokens = sum(len(message.content) for message in question.messages) // _CHARS_PER_TOKEN
        completion_tokens = len(text) // _CHARS_PER_TOKEN
        return ModelAnswer(
            text=text,
            value=found.value,
            fault=found.fault,
            model=self.model,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost_usd=self.cost_of(prompt_tokens, completion_tokens),
            latency_ms=0.0,
            found=found.how,
        )


def publish(event: str, /, *, data: JsonObject | None = None, **fields: Json) -> JsonObject:
    """Return the decision to publish an event. Keywords are the payload; `data=` gives it whole, for other names."""
    return _decision({"action": f"publish:{event}", "data": {**(data or {}), **fields}})


def publish_all(*requests: JsonObject, need: int | None = None, timeout_seconds: float | None = None) -> JsonObject:
    """Publish several requests, each made by `publish`."""
    items: list[Json] = [request["step"] for request in requests]
    given: JsonObject = {"need": need, "timeout_seconds": timeout_seconds}
    optional: JsonObject = {name: value for name, value in given.items() if value is not None}
    return _decision({"action": "publish_all", "requests": items, **optional})


def delegate(planner: str, goal_event: str, data: JsonObject | None = None) -> JsonObject:
    return _decision({"action": f"delegate:{planner}/{goal_event}", "data": data or {}})


def wait(expected_event: str, message: str = "", timeout_seconds: float | None = None) -> JsonObject:
    """Wait for an event, with a question to people; without a message, one that names the event."""
    asked = message or f"Waiting for {expected_event}."
    step: JsonObject = {"action": "wait", "expected_event": expected_event, "message": asked}
    return _decision(step if timeout_seconds is None else {**step, "timeout_seconds": timeout_seconds})


def complete(result: Json = None) -> JsonObject:
    return _decision({"action": "complete", "result": {} if result is None else result})


def give_up(reason: str, *missing: str) -> JsonObject:
    """Give up, for want of the `missing` things."""
    return _decision({"action": "give_up", "reason": reason, "missing": [*missing]})


def draw(machine: StateMachine, initial_state: str | None = None) -> JsonObject:
    """Return a whole plan in a model's form for `create_plan`; it may be an invalid one."""
    states: list[Json] = [
        config.model_dump(mode="json", exclude_defaults=True) for config in states_of(machine).values()
    ]
    return {"reasoning": REASONING, "initial_state": initial_state or initial_of(machine), "states": states}


def wire_form(decision: PlannerDecision) -> JsonObject:
    """Return the decision as a model would have to write it."""
    match decision.next_action:
        case PublishAction(event_type=event, data=data):
            said = publish(event, data=data)
        case PublishAllAction(requests=requests, need=need, timeout_seconds=seconds):
            each = [publish(request.event_type, data=request.data) for request in requests]
            said = publish_all(*each, need=need, timeout_seconds=seconds)
        case DelegateAction(target_planner=planner, goal_event=goal, goal_data=data):
            said = delegate(planner, goal, data)
        case WaitAction(expected_event=event, message=message, reason=reason, timeout_seconds=seconds):
            said = wait(event, message or reason, seconds)
        case CompleteAction(outcome="not_achieved", reason=reason, missing=missing):
            said = give_up(reason, *missing)
        case CompleteAction(result=result):
            said = complete(result)
    return {**said, "reasoning": decision.reasoning or REASONING}


def _decision(step: JsonObject) -> JsonObject:
    return {"reasoning": REASONING, "step": step}


def _in_order(script: Iterable[Item]) -> Callable[[ModelQuestion], Item]:
    items = iter(script)

    def respond(question: ModelQuestion) -> Item:
        for item in items:
            return item
        asked = question.messages[-1].content if question.messages else compact(question.schema)
        raise LocalProtocolError(f"the script has no answer left for: {clip(asked, 200)}")

    return respond
