"""The scripted model answers from its script, in the wire form of a real model."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from soorma_ai.errors import LocalProtocolError, RateLimited
from soorma_ai.kernel.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PlanAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.ports import Message, ModelAnswer, ModelQuestion, Reasoner
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer, WaitChoice
from soorma_ai.kernel.rules.decisions.wire_form import parse_decision
from soorma_ai.testing.scripted import ScriptedReasoner, complete, delegate, publish, publish_all, wait, wire_form
from unit.shown import whole_form

ASKED = ModelQuestion((Message("system", "You decide."), Message("user", "What next?")), {"type": "object"})


def answer_to(asking: Coroutine[Any, Any, ModelAnswer]) -> ModelAnswer:
    return asyncio.run(asking)


def test_items_are_answered_in_order() -> None:
    reasoner: Reasoner = ScriptedReasoner([publish("order.place.requested", qty=2), complete({"ok": True})])
    first, second = answer_to(reasoner.ask(ASKED)), answer_to(reasoner.ask(ASKED))
    assert first.value == {
        "reasoning": "scripted",
        "step": {"action": "publish:order.place.requested", "data": {"qty": 2}},
    }
    assert second.value == {"reasoning": "scripted", "step": {"action": "complete", "result": {"ok": True}}}
    assert (first.fault, first.model, first.cost_usd) == ("", "scripted", 0.0)


@pytest.mark.parametrize("text", ["{oops", "", "[1]", "null", "I think so"])
def test_raw_text_that_is_no_object_has_a_fault(text: str) -> None:
    answer = answer_to(ScriptedReasoner([text]).ask(ASKED))
    assert (answer.text, answer.value) == (text, None)
    assert "JSON object" in answer.fault


def test_an_exception_is_raised_an_answer_is_returned_and_an_empty_script_names_the_question() -> None:
    answer = ModelAnswer("x", None, "cut off", "other", 1, 2, None, 3.0)
    reasoner = ScriptedReasoner([RateLimited("slow down"), answer])
    with pytest.raises(RateLimited):
        answer_to(reasoner.ask(ASKED))
    assert answer_to(reasoner.ask(ASKED)) is answer
    with pytest.raises(LocalProtocolError, match=r"no answer left for: What next\?"):
        answer_to(reasoner.ask(ASKED))


def test_a_function_is_called_for_each_question_and_may_be_async() -> None:
    async def later(question: ModelQuestion) -> str:
        await asyncio.sleep(0)
        return f'{{"asked": "{question.messages[-1].content}"}}'

    assert answer_to(ScriptedReasoner(later).ask(ASKED)).value == {"asked": "What next?"}
    assert answer_to(ScriptedReasoner(lambda question: complete(len(question.messages))).ask(ASKED)).text.endswith(
        "2}}"
    )


def test_questions_are_recorded_and_tokens_counted_the_same_each_time() -> None:
    reasoner = ScriptedReasoner(lambda _: complete(), model="mine")
    first, second = answer_to(reasoner.ask(ASKED)), answer_to(reasoner.ask(ASKED))
    assert reasoner.questions == [ASKED, ASKED]
    assert first == second
    assert (first.prompt_tokens, first.completion_tokens) == (len("You decide.What next?") // 4, len(first.text) // 4)


def test_a_payload_can_have_names_outside_pythons_keywords() -> None:
    assert publish("a.b", data={"from": 1, "data": 2}, event=3)["step"] == {
        "action": "publish:a.b",
        "data": {"from": 1, "data": 2, "event": 3},
    }


@pytest.mark.parametrize(
    "action",
    [
        PublishAction(event_type="order.place.requested", data={"qty": 2}),
        PublishAllAction(requests=(PublishAction(event_type="a.b", data={"n": 1}), PublishAction(event_type="a.b"))),
        PublishAllAction(requests=(PublishAction(event_type="a.b"),), need=1, timeout_seconds=9),
        WaitAction(expected_event="order.paid", message="Has it been paid?"),
        WaitAction(expected_event="order.paid", message="?", timeout_seconds=60),
        DelegateAction(target_planner="billing", goal_event="invoice.goal", goal_data={"id": "o-1"}),
        CompleteAction(result={"ok": True}),
    ],
)
def test_every_decision_has_a_wire_form_that_parses_back(action: PlanAction) -> None:
    decision = PlannerDecision(next_action=action, reasoning="because")
    answer = answer_to(ScriptedReasoner([decision]).ask(ASKED))
    assert answer.value == wire_form(decision)
    assert parse_decision(answer.value, answer.fault) == decision


def test_the_helpers_answers_fit_the_schema_of_an_offer() -> None:
    def event(name: str) -> EventDefinition:
        return EventDefinition(event_name=name, topic=EventTopic.ACTION_REQUESTS)

    offer = Offer(
        events=(event("order.place.requested"),),
        delegates=(Delegate("billing", event("invoice.goal")),),
        waits=(WaitChoice(event("order.paid"), ("billing",)),),
    )
    for item in (
        publish("order.place.requested", qty=2),
        delegate("billing", "invoice.goal", {"id": "o-1"}),
        publish_all(publish("order.place.requested", qty=2), publish("order.place.requested"), need=1),
        publish_all(publish("order.place.requested"), timeout_seconds=5),
        wait("order.paid", "Has it been paid?", 60),
        wait("order.paid"),
        complete(),
    ):
        assert violations(whole_form(offer), item) == []
    assert violations(whole_form(offer), publish("order.steal.requested")) != []
    assert violations(whole_form(offer), publish_all(publish("order.steal.requested"))) != []
