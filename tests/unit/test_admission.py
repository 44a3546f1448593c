"""Admission of remote effects: acts belong to their own delivery, and no field of an act can name another."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from types import FrameType
from typing import Any, get_args

import pytest
from msgspec.structs import asdict, replace
from pydantic import TypeAdapter, ValidationError

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.remote.admit import DeliveryFacts, admit, disposition_of
from soorma_ai.features.remote.protocol import acts_of, ending_of
from soorma_ai.features.remote.records import Act, AnyAct, Delegating
from soorma_ai.kernel.domain import effects as done
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Disposition, Effect, InDoubt, Publish, RetryAfter
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryKey,
    OpenSession,
    SessionSummary,
    StoreMemory,
)
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from soorma_ai.kernel.domain.tasks import DelegationSpec, SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.task import (
    TASK_TIMEOUT,
    AnswerTerms,
    ask,
    delegate,
    end,
    question_of,
    task_of,
    timeout_event,
)
from soorma_ai.kernel.rules.waits.opening import ORDINALS_APART, Moment

NOW = datetime(2030, 1, 1, tzinfo=UTC)
UNTIL = NOW + timedelta(days=1)
OWN = Lineage("acme", "ann", "s-1", "g-1", "p-1", "p-0", UNTIL)
WORKING = replace(OWN, origin="r-1")
PAY = EventDefinition(event_name="pay.requested")
FACTS = EventTopic.BUSINESS_FACTS
RESULTS = EventTopic.ACTION_RESULTS


def request(**changes: Any) -> EventEnvelope:
    asked = EventEnvelope(
        id="r-1",
        source="orders",
        type="sum.requested",
        topic=EventTopic.ACTION_REQUESTS,
        time=NOW,
        correlation_id="k-1",
        response_event="sum.done",
        **asdict(OWN),
    )
    return asked.model_copy(update=changes)


def task() -> TaskRecord:
    return task_of(request(), "adder", "sum.requested.completed", NOW)


def delivery_facts(**changes: Any) -> DeliveryFacts:
    known: dict[str, Any] = {
        "task": task(),
        "makes": {"sum.noted", "pay.requested"},
        "plans": ("p-0", "p-1"),
        "requests": {"pay.requested": PAY},
        "producers": {"ok.said": ("client",)},
    }
    return DeliveryFacts("adder", request(), NOW, **{**known, **changes})


def moment(ordinals: Iterator[int] | None = None) -> Moment:
    return Moment(request(), "adder", NOW, ordinals or count())


def publication(at: Moment, type: str, topic: EventTopic = FACTS, **fields: Any) -> Publish:
    return Publish(at.event(WORKING, topic, type, {"n": 1}, **fields))


def delegation(at: Moment, group: str | None = None, place: int = 0) -> tuple[Effect, ...]:
    spec = DelegationSpec("pay.requested", {"n": 1}, "paid", None)
    record, span = replace(task(), sub_tasks=place), timedelta(seconds=9)
    return delegate(record, spec, AnswerTerms(RESULTS, span, group), at, PAY)[1]


def question_effects(at: Moment) -> tuple[Effect, ...]:
    about = {
        "question": "May I?",
        "response_event": "ok.said",
        "timeout_seconds": 60,
        "approvers": ["boss"],
        "remind_after_seconds": 5,
        "reason": "curiosity",
    }
    question = question_of(about)
    assert not isinstance(question, str)
    return ask(task(), question, at, ("client",))[1]


def session(at: Moment) -> OpenSession:
    session_id = derived_id("session", at.event_id("session"))
    return OpenSession("acme", SessionSummary(session_id, 0, NOW, NOW, "ann", "a talk", {"a": 1}))


def all_effects(at: Moment) -> list[Effect]:
    """Every kind of effect of a remote handler, some after unused ordinals."""
    at.event_id("in.vain")
    group = at.expectation_id("group")
    key = MemoryKey("acme", "p-1", "seen")
    return [
        publication(at, "sum.noted", correlation_id="r-1", subject="the sum"),
        *delegation(at),
        *delegation(at, group, 1),
        *question_effects(at),
        session(at),
        done.SaveTask(replace(task(), state={"a": [1]}, sub_tasks=2, pending=2, version=3), 2),
        done.SaveSubTask("adder", "r-1", 1, SubTaskInfo("x", "pay.requested", "paid", result={"success": True})),
        StoreMemory(key, {"deep": [None]}, 4),
        DropMemory(key),
        IncrementMemory(key, 2.5),
        AppendMemory(key, (1, "two")),
        done.Declare("adder", EventDefinition(event_name="sum.noted", topic="business-facts")),
    ]


def over_the_wire(acts: list[AnyAct]) -> list[AnyAct]:
    """Acts after a round trip over the wire."""
    adapter: TypeAdapter[list[AnyAct]] = TypeAdapter(list[Act])
    return adapter.validate_json(adapter.dump_json(acts, by_alias=True), strict=True)


def test_effects_of_a_remote_handler_are_the_same_after_the_wire() -> None:
    did = all_effects(moment())
    assert list(admit(over_the_wire(acts_of(did, request(), "adder")), delivery_facts())) == did


@pytest.mark.parametrize("stop", [False, True])
def test_the_end_of_a_task_closes_its_expectations(stop: bool) -> None:
    at = moment()
    opened = [effect.expectation for effect in delegation(at) if isinstance(effect, done.Expect)]
    did = list(end(task(), {"success": True, "result": {"n": 1}}, opened, at, stop=stop))
    known = delivery_facts(waiting=opened, makes=())
    assert list(admit(over_the_wire(acts_of(did, request(), "adder")), known)) == did


def test_a_task_that_delegates_and_ends_in_one_handling_has_no_open_expectation() -> None:
    at = moment()
    asked = delegation(at)
    opened = [effect.expectation for effect in asked if isinstance(effect, done.Expect)]
    did = [*asked, *end(task(), {"success": True}, opened, at)]
    assert list(admit(over_the_wire(acts_of(did, request(), "adder")), delivery_facts())) == did


def test_a_redriven_delivery_derives_ids_of_its_own() -> None:
    again = count(2 * ORDINALS_APART)
    did = [publication(moment(again), "sum.noted")]
    assert list(admit(acts_of(did, request(), "adder", 2), delivery_facts(redriven=2))) == did
    assert list(admit(acts_of(did, request(), "adder", 2), delivery_facts())) != did


def test_the_cost_of_an_act_does_not_grow_with_its_group() -> None:
    at, effects, made = Moment(request(), "adder", NOW, count()), list[Effect](), 0
    group = at.expectation_id("group")
    spec = DelegationSpec("pay.requested", {}, "pay.done", None)
    for place in range(100):
        asked = replace(task(), sub_tasks=place)
        effects += delegate(asked, spec, AnswerTerms(RESULTS, timedelta(hours=1), group), at)[1]

    def watch(frame: FrameType, what: str, _: object) -> None:
        nonlocal made
        made += what == "call" and frame.f_code is derived_id.__code__

    sys.setprofile(watch)
    try:
        acts = acts_of(effects, request(), "adder")
    finally:
        sys.setprofile(None)
    assert len({act.group for act in acts if isinstance(act, Delegating)}) == 1
    assert made < 10 * len(acts)


def test_the_expected_reply_and_the_timeout_of_a_question_need_no_right() -> None:
    at = moment()
    reply = publication(at, "sum.done", RESULTS, correlation_id="k-1", answers="r-1")
    timeout = timeout_event(task(), _open(question_effects(at)), at)
    assert list(admit(acts_of([reply, timeout], request(), "adder"), delivery_facts(makes=()))) == [reply, timeout]


def _open(effects: tuple[Effect, ...]) -> Expectation:
    return next(effect.expectation for effect in effects if isinstance(effect, done.Expect))


def test_an_event_of_the_platform_in_an_act_gets_the_agent_as_its_source() -> None:
    """The platform replies so for a missing handler."""
    said = Publish(
        replace(moment(), agent=SYSTEM).event(OWN, RESULTS, "sum.done", {}, correlation_id="k-1", answers="r-1")
    )
    (made,) = admit(acts_of([said], request(), "adder"), delivery_facts(makes=()))
    assert isinstance(made, Publish) and made.event.source == "adder" and made.event.answers == "r-1"


# Every kind of effect, aimed at rows of another delivery.
OTHERS = Lineage("rival", "bob", plan_id="p-9", root_plan_id="p-9")
FOREIGN_KEY = MemoryKey("rival", "p-9", "seen")


def foreign_event(**changes: Any) -> EventEnvelope:
    made = moment().event(OTHERS, FACTS, "sum.noted", {"n": 1})
    return made.model_copy(update={"user_id": "bob", **changes})


def foreign_task() -> TaskRecord:
    return replace(task(), task_id="r-9", agent="rival's", lineage=OTHERS, answer_key="k-9", answer_event="paid")


def admit_one(effect: Effect, **known: Any) -> list[Effect]:
    return list(admit(acts_of([effect], request(), "adder"), delivery_facts(**known)))


@pytest.mark.parametrize(
    "changes",
    [{}, {"tenant_id": "rival"}, {"user_id": "bob"}, {"plan_id": "p-9"}, {"root_plan_id": "p-9"}, {"source": "adder"}],
    ids=str,
)
def test_an_admitted_event_has_the_lineage_and_agent_of_its_delivery(changes: dict[str, Any]) -> None:
    (made,) = admit_one(Publish(foreign_event(**changes), is_cleared=True))
    assert isinstance(made, Publish)
    event = made.event
    assert (event.lineage, event.source, event.causation_id) == (WORKING, "adder", "r-1")
    assert (event.own, event.unchecked, event.target, made.is_cleared) == (None, None, None, False)


def test_admitted_rows_of_a_task_belong_to_the_task_of_the_delivery() -> None:
    (saved,) = admit_one(done.SaveTask(foreign_task(), None))
    assert isinstance(saved, done.SaveTask)
    assert replace(saved.task, state={}, pending=None) == task()
    (part,) = admit_one(done.SaveSubTask("rival's", "r-9", 0, SubTaskInfo("x", "a", "b")))
    assert isinstance(part, done.SaveSubTask) and (part.agent, part.task_id) == ("adder", "r-1")
    answer = moment().event(OTHERS, RESULTS, "paid", {"task_id": "r-9", "success": True})
    ended = admit(acts_of([Publish(answer), done.EndTask("rival's", "r-9")], request(), "adder"), delivery_facts())
    published = [effect.event for effect in ended if isinstance(effect, Publish)]
    assert [(e.type, e.correlation_id, e.answers, e.data["task_id"]) for e in published] == [
        ("sum.done", "k-1", "r-1", "r-1")
    ]
    assert ended[-1] == done.EndTask("adder", "r-1")


@pytest.mark.parametrize(
    ("effect", "wrong"),
    [
        (StoreMemory(FOREIGN_KEY, 1), "no plan of the tree"),
        (DropMemory(FOREIGN_KEY), "no plan of the tree"),
        (IncrementMemory(FOREIGN_KEY, 1), "no plan of the tree"),
        (AppendMemory(FOREIGN_KEY, (1,)), "no plan of the tree"),
        (done.Declare("adder", EventDefinition(event_name="paid", topic="business-facts")), "its key does not name"),
        (done.Declare("adder", PAY), "whoever has its handler registers it"),
        (publication(moment(), "order.placed"), "its key does not name"),
        (publication(moment(), "sum.done", FACTS, correlation_id="k-1", answers="r-1"), "its key does not name"),
        (publication(moment(), "paid", RESULTS, correlation_id="k-1", answers="r-1"), "its key does not name"),
        (publication(moment(), "sum.noted", RESULTS, correlation_id="k-9", answers="r-1"), "answers no request"),
        (publication(moment(), TASK_TIMEOUT, FACTS), "its key does not name"),
    ],
    ids=str,
)
def test_an_act_outside_the_rights_of_its_key_or_plan_is_refused(effect: Effect, wrong: str) -> None:
    with pytest.raises(LocalProtocolError, match=wrong):
        admit_one(effect)


STEP = Step("p-1", 0, StepKind.GOAL, NOW)


@pytest.mark.parametrize(
    "effect",
    [
        done.AppendStep(STEP),
        done.Spend("p-0", 1, None),
        done.SaveValue("p-1", ValueKind.STATE, "a", 1),
        done.DropValue("p-1", ValueKind.STATE, "a"),
    ],
    ids=str,
)
def test_no_act_changes_a_plan(effect: Effect) -> None:
    with pytest.raises(LocalProtocolError, match="beside the store"):
        acts_of([effect], request(), "adder")


@pytest.mark.parametrize("effect", [effect for effect in delegation(moment()) if isinstance(effect, done.Schedule)])
def test_timers_closings_and_other_task_ends_make_no_act(effect: Effect) -> None:
    closes = done.Close("of another", done.ExpectationStatus.CLOSED, NOW)
    for one in (effect, closes, done.Unschedule("of another"), done.EndTask("adder", "r-9")):
        assert acts_of([one], request(), "adder") == []


def test_an_act_on_a_task_needs_a_task_in_the_delivery() -> None:
    at = moment()
    about = [delegation(at), question_effects(at), (done.SaveTask(task(), None),), end(task(), {}, [], at)]
    about.append((done.SaveSubTask("adder", "r-1", 0, SubTaskInfo("x", "a", "b")),))
    for effects in about:
        with pytest.raises(LocalProtocolError, match="no task in hand"):
            admit(acts_of(effects, request(), "adder"), delivery_facts(task=None))


def test_human_input_announcements_come_from_questions_only() -> None:
    about = moment().event(OWN, EventTopic.NOTIFICATION_EVENTS, HUMAN_INPUT, {})
    assert acts_of([Publish(about)], request(), "adder") == []
    (forged,) = over_the_wire(
        [
            TypeAdapter[Any](Act).validate_python(
                {"kind": "publish", "ordinal": 0, "topic": "notification-events", "type": HUMAN_INPUT, "data": {}}
            )
        ]
    )
    with pytest.raises(LocalProtocolError, match="only the platform publishes it"):
        admit([forged], delivery_facts(makes=None))


@pytest.mark.parametrize(
    "more",
    [
        {"tenant_id": "rival"},
        {"source": "orders"},
        {"id": "of-another"},
        {"plan_id": "p-9"},
        {"target": "bank"},
        {"ordinal": -1},
        {"ordinal": ORDINALS_APART},
        {"kind": "save_plan"},
    ],
    ids=str,
)
def test_an_act_has_no_field_for_an_owner_a_target_or_an_id(more: dict[str, Any]) -> None:
    said = {"kind": "publish", "ordinal": 0, "topic": "business-facts", "type": "sum.noted", "data": {}}
    adapter: TypeAdapter[AnyAct] = TypeAdapter(Act)
    adapter.validate_python(said)
    with pytest.raises(ValidationError):
        adapter.validate_python({**said, **more})


def test_every_kind_of_effect_has_a_test_of_its_admission() -> None:
    kinds = {kind.__name__ for kind in get_args(done.Effect)}
    known = {type(effect).__name__ for effect in all_effects(moment())}
    known |= {"Close", "Unschedule", "EndTask", "SavePlan", "AppendStep", "Spend", "SaveValue", "DropValue"}
    known |= {"Postpone", "FeatureEffect"}
    assert kinds == known


@pytest.mark.parametrize(
    "disposition",
    [Ack(), RetryAfter(timedelta(seconds=2.5), "later", True, False), DeadLetter("no", True), InDoubt("who knows")],
    ids=str,
)
def test_a_disposition_survives_the_wire(disposition: Disposition) -> None:
    assert disposition_of(ending_of(disposition)) == disposition
