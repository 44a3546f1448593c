"""One step of a state machine: what comes leads to a state, and the state asks for something."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from soorma_ai.core.machine.machine import as_seen
from soorma_ai.core.machine.step import (
    AgentRequest,
    Question,
    View,
    end,
    following,
    hold,
    keep_result,
    lead,
    pause,
    rest,
    resume,
    step,
    without_way,
)
from soorma_ai.domain.effects import Close, DropValue, SaveValue
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.expectations import Expectation
from soorma_ai.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.domain.replies import Failure, Reply, failure_reply
from soorma_ai.domain.schemas import ANY_OBJECT
from soorma_ai.domain.states import StateConfig, states_of
from soorma_ai.errors import LocalProtocolError, PayloadMismatch
from unit.kit import NOW, answer, event, expectation, failed, gate, moment, of_kind, plan, steps, worked

SAVED = {"type": "colour.told", "data": {"colour": "red"}}


def way(on: str, to: str, condition: str | None = None) -> dict[str, Any]:
    return {"on_event": on, "to_state": to, "condition": condition}


ASKS = {"event_type": "web.search", "response_event": "web.found", "data": {"query": "{goal_data.topic}"}}
MACHINE = states_of(
    {
        "start": {"default_next": "between"},
        "between": {"default_next": "searching"},
        "searching": {"action": ASKS, "transitions": [way("web.found", "asking"), way("web.found.failed", "lost")]},
        "asking": {
            "description": "Which one?",
            "action": {"event_type": "notification.human_input", "response_event": "user.told", "timeout_seconds": 30},
            "transitions": [way("user.told", "resting"), way("timeout", "lost")],
        },
        "resting": {"transitions": [way("colour.told", "onward"), way("colour.lost", "lost")]},
        "onward": {"action": {"event_type": "paint"}, "default_next": "done"},
        "done": {"is_terminal": True, "result": {"painted": "{results.onward}"}},
        "lost": {"is_terminal": True, "outcome": "failed", "description": "nothing was found"},
    }
)


def view(
    state: str, closed: Any = None, *open_now: Expectation, results: Any = None, saved: Any = None, **changes: Any
) -> View:
    record = plan(current_state=state, goal_data={"topic": "owls"}, **{"awaits": "x-1", **changes})
    return View(record, MACHINE, results or {}, saved or {}, open_now, closed)


EXPIRED = expectation(status="expired", event_type="web.found", subject="web.search")
REPLY = expectation(event_type="web.found", subject="web.search")
WAIT = expectation("wait", id="w-1", event_type="colour.told")
RESUMED = expectation("wait", id="w-2", event_type="plan.resumed")
OFFER = expectation("offer", id="o-1", event_type="web.search")
CLICK, TELLS = event("plan.wait.answered"), event("colour.told", colour="red")


def answered(met: Expectation, decision: str = "respond", note: str = "", **payload: Any) -> Expectation:
    return replace(met, answer=answer(decision, note, **payload))


@pytest.mark.parametrize(
    ("met", "came", "name", "data"),
    [
        (REPLY, worked("web.found", 7), "web.found", {"success": True, "status": "completed", "result": 7}),
        (REPLY, event("web.empty", hits=0), "web.empty", {"hits": 0}),
        (REPLY, failed("web.found"), "web.found.failed", failed().data),
        (EXPIRED, CLICK, "web.found.timeout", failure_reply("timeout", "no answer to web.search came in time")),
        (answered(WAIT, colour="blue"), CLICK, "colour.told", {"colour": "blue"}),
        (WAIT, TELLS, "colour.told", {"colour": "red"}),
        (gate("expired"), CLICK, "paid.rejected", failure_reply("rejected", "nobody let pay go in time")),
        (
            answered(gate(), "reject", "too much"),
            CLICK,
            "paid.rejected",
            failure_reply("rejected", "mia did not let pay go: too much"),
        ),
    ],
)
def test_what_came_is_seen_by_the_name_that_transitions_know(
    met: Expectation, came: EventEnvelope, name: str, data: Any
) -> None:
    seen = as_seen(met, came)
    assert (seen.type, seen.data) == (name, data)


@pytest.mark.parametrize(
    ("state", "came", "saved", "to"),
    [
        ("searching", worked("web.found"), {}, "asking"),
        ("searching", failed("web.found.failed"), {}, "lost"),
        ("searching", failed("web.found.timeout", "timeout"), {}, "lost"),
        ("searching", event("other"), {}, None),
        ("asking", failed("user.told.timeout", "timeout"), {}, "lost"),
        ("resting", TELLS, {}, "onward"),
        ("onward", worked("paint.completed"), {}, "done"),
        ("onward", failed("paint.failed"), {}, None),
        ("start", TELLS, {}, "between"),
        ("nowhere", TELLS, {}, None),
        # Resumed: what came while it was paused leads on; a state whose answer has not come goes on waiting.
        ("resting", event("plan.resumed"), {"paused_on": SAVED}, "onward"),
        ("searching", event("plan.resumed"), {"paused_on": {"type": "web.found", "data": {}}}, "asking"),
        (
            "searching",
            event("plan.resumed"),
            {"paused_on": {"type": "web.found.failed", "data": failed().data}},
            "lost",
        ),
        ("searching", event("plan.resumed"), {}, None),
        ("onward", event("plan.resumed"), {}, None),
        ("onward", event("plan.resumed"), {"paused_on": {"type": "other", "data": {}}}, "done"),
        ("start", event("plan.resumed"), {}, "between"),
    ],
)
def test_an_event_leads_to_a_state(state: str, came: EventEnvelope, saved: Any, to: str | None) -> None:
    assert following(view(state, saved=saved), came) == to


@pytest.mark.parametrize(
    ("here", "came", "to", "asks"),
    [
        # Due: it is asked, whatever came. States that ask nothing are passed.
        (view("start", is_due=True), None, "searching", "web.search"),
        (view("searching", is_due=True), TELLS, "searching", "web.search"),
        (view("searching", None, REPLY), worked("web.found"), "asking", "user.told"),
        (view("searching", None, REPLY), event("other"), None, None),
        (view("resting", None, WAIT, results={}), TELLS, "onward", "paint"),
        (view("onward", None), worked("paint.completed"), "done", None),
        (view("start"), None, "searching", "web.search"),
        (view("resting"), None, None, None),
        # Nothing is asked twice, and no state is left whose answer has not come.
        (view("onward", None, expectation(event_type="paint.completed")), None, None, None),
        (view("searching", None, OFFER, is_due=True), None, None, None),
        (view("onward", None, OFFER, is_due=True), None, "onward", "paint"),
    ],
)
def test_a_step_asks_what_its_state_asks(
    here: View, came: EventEnvelope | None, to: str | None, asks: str | None
) -> None:
    move = step(here, came, NOW)
    if to is None:
        assert move is None
        return
    assert move is not None
    asked = move.asks.event_type if isinstance(move.asks, AgentRequest) else move.asks and move.asks.reply.event_type
    after = move.outcome.plan
    assert (after.current_state, after.is_due, after.awaits, asked) == (to, asks is not None, None, asks)


def test_a_step_takes_back_what_its_state_asked_and_forgets_the_pause() -> None:
    beside = expectation(id="x-2")
    move = step(
        view("resting", None, REPLY, RESUMED, beside, saved={"paused_on": SAVED, "pause_reason": "?"}), TELLS, NOW
    )
    assert move is not None
    assert [(one.expectation_id, one.first) for one in of_kind(Close, move.outcome)] == [("x-1", True), ("w-2", True)]
    assert {drop.key for drop in of_kind(DropValue, move.outcome)} == {"paused_on", "pause_reason"}


def test_what_a_state_asks_is_filled_in_and_what_is_not_there_is_not_made_up() -> None:
    move = step(view("searching", is_due=True), None, NOW)
    assert move is not None
    assert move.asks == AgentRequest("web.search", {"query": "owls"}, Reply("web.found", ("web.found.failed",)))
    with pytest.raises(PayloadMismatch, match="no 'topic' there"):
        step(View(plan(current_state="searching", is_due=True), MACHINE, {}, {}), None, NOW)
    with pytest.raises(LocalProtocolError, match="in state 'nowhere', which its machine does not have"):
        step(view("nowhere", is_due=True), None, NOW)


@pytest.mark.parametrize(
    ("data", "words", "schema", "seconds"),
    [
        (None, "Which one?", None, 30),
        ({"question": "What {goal_data.topic}?"}, "What owls?", None, 30),
        ({"message": "Why?", "response_schema": {"type": "object"}}, "Why?", {"type": "object"}, 30),
        ({"timeout_seconds": 5}, "Which one?", None, 30),
    ],
)
def test_a_question_of_a_state_has_its_words_its_shape_and_its_time(
    data: Any, words: str, schema: Any, seconds: int
) -> None:
    action = MACHINE["asking"].action
    assert action is not None
    changed = MACHINE["asking"].model_copy(update={"action": action.model_copy(update={"data": data})})
    move = step(View(view("asking", is_due=True).plan, {**MACHINE, "asking": changed}, {}, {}), None, NOW)
    assert move is not None and isinstance(move.asks, Question)
    reply = Reply("user.told", ("timeout",), timedelta(seconds=seconds))
    assert (move.asks.reply, move.asks.message, move.asks.schema) == (reply, words, schema)
    assert (move.asks.reason, move.asks.from_clients) == ("input_required", False)


@pytest.mark.parametrize(
    ("here", "has_next", "is_waiting", "is_held"),
    [
        (view("start", is_due=True), True, False, False),
        (view("searching", is_due=True), True, False, False),
        (view("searching", None, OFFER, is_due=True), False, True, False),
        (view("onward", None, OFFER, is_due=True), True, False, False),
        (view("searching", None, REPLY), False, True, False),
        (view("onward", None, expectation()), False, True, False),
        (view("onward"), True, False, False),
        (view("onward", None, expectation(id="x-2")), True, False, False),
        (view("resting", None, RESUMED), False, True, True),
        (view("resting", None, WAIT), False, False, False),
        (view("done"), False, False, False),
        (View(plan(), {}, {}, {}), False, False, False),
    ],
)
def test_a_plan_has_a_next_step_unless_it_waits_for_one(
    here: View, has_next: bool, is_waiting: bool, is_held: bool
) -> None:
    assert (here.has_next, here.is_waiting, here.is_held) == (has_next, is_waiting, is_held)


@pytest.mark.parametrize(
    ("here", "names"),
    [
        (view("resting"), ("colour.told", "colour.lost")),
        (view("resting", None, WAIT), None),
        (view("resting", is_due=True), None),
        (view("searching"), None),
        (view("start"), None),
        (view("done"), None),
    ],
)
def test_a_state_that_asks_nothing_waits_for_the_events_that_it_names(here: View, names: Any) -> None:
    asks = rest(here)
    assert (asks and (asks.reply.event_type, *asks.reply.others)) == names
    assert asks is None or asks.message == "The plan waits for colour.told."


@pytest.mark.parametrize(
    ("here", "given", "schema", "ended"),
    [
        (view("done", results={"onward": "red"}), None, {}, {"painted": "red"}),
        (view("done", results={"onward": "red"}), {"own": 1}, {}, {"own": 1}),
        (view("done", results={"onward": 1}), None, {"required": ["paid"]}, "payload_mismatch"),
        (view("onward", results={"searching": 1}), None, {}, {"searching": 1}),
        (view("lost"), None, {}, "nothing was found"),
        (view("lost", (EXPIRED, CLICK)), None, {}, "nothing was found: no answer to web.search came in time"),
        (view("lost", (REPLY, failed("web.found"))), {"own": 1}, {}, "nothing was found: down"),
        (view("lost", (REPLY, worked())), None, {}, "nothing was found"),
    ],
)
def test_a_machine_ends_with_a_result_that_its_goal_promises_or_with_a_reason(
    here: View, given: Any, schema: Any, ended: Any
) -> None:
    found = end(here, given, {"type": "object", **schema})
    if isinstance(found, Failure):
        assert ended in (found.message, found.code)
    else:
        assert found == ended


@pytest.mark.parametrize(
    ("name", "outcome", "fails"), [("failed", None, True), ("failed", "completed", False), ("x", "failed", True)]
)
def test_a_state_called_failed_fails_its_plan_unless_it_says_otherwise(name: str, outcome: Any, fails: bool) -> None:
    assert StateConfig(state_name=name, is_terminal=True, outcome=outcome).fails is fails


@pytest.mark.parametrize(
    ("here", "kept"),
    [
        (view("searching"), []),
        (view("searching", (REPLY, worked("web.found"))), [("searching", 7)]),
        (view("searching", (REPLY, event("web.empty", hits=0))), [("searching", {"hits": 0})]),
        (view("searching", (REPLY, failed())), [("searching", {"error": {"code": "network", "message": "down"}})]),
        (view("searching", (expectation(id="x-2"), worked())), [("part", 7)]),
        (view("resting", (RESUMED, event("plan.resumed", sum=5))), [("user_input", {"sum": 5})]),
        (view("searching", (OFFER, TELLS)), []),
    ],
)
def test_what_came_is_kept_under_the_name_of_the_state_that_asked(here: View, kept: Any) -> None:
    assert [(save.key, save.value) for save in of_kind(SaveValue, keep_result(here))] == kept


@pytest.mark.parametrize(
    ("here", "closes", "paused_on", "awaits", "is_due"),
    [
        (view("searching", None, REPLY), [], None, "x-1", False),
        (view("searching", (REPLY, worked("web.found"))), [], "web.found", None, False),
        (view("searching", None, REPLY, is_due=True), [], None, "x-1", True),
        (view("resting", (WAIT, TELLS), RESUMED, is_due=True), ["w-2"], None, None, False),
        (view("resting", None, WAIT, awaits="w-1"), ["w-1"], None, None, False),
        (view("start", is_due=True), [], None, None, True),
    ],
)
def test_a_pause_awaits_what_was_asked_and_keeps_what_came(
    here: View, closes: list[str], paused_on: str | None, awaits: str | None, is_due: bool
) -> None:
    outcome, asks = pause(here, "look at it", NOW)
    assert [close.expectation_id for close in of_kind(Close, outcome)] == closes
    saved: dict[str, Any] = {save.key: save.value for save in of_kind(SaveValue, outcome)}
    assert saved.pop("pause_reason") == "look at it"
    assert (saved["paused_on"]["type"] if saved else None) == paused_on
    assert (outcome.plan.awaits, outcome.plan.is_due) == (awaits, is_due)
    assert (asks.reply, asks.message, asks.from_clients) == (Reply("plan.resumed"), "look at it", True)


@pytest.mark.parametrize(
    ("here", "kept"),
    [
        (view("searching", (REPLY, worked("web.found"))), ["paused_on"]),
        (view("searching", (expectation(id="x-2"), worked())), []),
        (View(plan(awaits="x-1"), {}, {}, {}, (), (REPLY, worked())), []),
    ],
)
def test_a_plan_that_is_held_keeps_what_its_state_asked_and_stays_paused(here: View, kept: list[str]) -> None:
    outcome = hold(here, NOW)
    assert (outcome.plan.status, [save.key for save in of_kind(SaveValue, outcome)]) == ("paused", kept)


def test_what_people_are_asked_is_over_when_the_plan_is_resumed() -> None:
    outcome = resume(view("resting", None, RESUMED, REPLY, status="paused"), {"sum": 5}, moment())
    assert outcome is not None
    assert (outcome.plan.status, [step.kind for step in steps(outcome)]) == ("running", ["resumed"])
    assert [(close.expectation_id, close.first) for close in of_kind(Close, outcome)] == [("w-2", True)]
    assert [(save.key, save.value) for save in of_kind(SaveValue, outcome)] == [("user_input", {"sum": 5})]
    assert resume(view("resting", None, REPLY), {}, moment()) is None
    with pytest.raises(LocalProtocolError, match="held for an approval"):
        resume(view("resting", None, gate("open")), {"approved": True}, moment())


@pytest.mark.parametrize(
    ("came", "awaited", "name"),
    [
        ("colour.told", [], "colour.told"),
        ("boss.spoke", ["colour.lost"], "colour.lost"),
        ("boss.spoke", ["other"], "plan.resumed"),
    ],
)
def test_what_resumes_a_plan_leads_on_by_its_own_name_or_by_an_awaited_one(
    came: str, awaited: list[str], name: str
) -> None:
    assert lead(view("resting"), event(came), awaited).type == name


@pytest.mark.parametrize(
    ("seen", "code", "words"),
    [
        (None, "no_transition", "nothing leads on in state 'searching'"),
        (TELLS, "no_transition", "colour.told came in state 'searching', and no transition takes it"),
        (
            as_seen(EXPIRED, CLICK),
            "timeout",
            "web.found.timeout in state 'searching', and no transition takes it: no answer to web.search came in time",
        ),
    ],
)
def test_a_plan_without_a_way_fails_with_what_came(seen: Any, code: str, words: str) -> None:
    failure = without_way(view("searching").plan, seen)
    assert (failure.code, failure.message.removesuffix(f" ({code})")) == (code, words)


def test_a_question_is_what_the_registry_knows_of_the_event_that_answers_it() -> None:
    told = EventDefinition(event_name="user.told", topic=EventTopic.BUSINESS_FACTS, payload_schema={"required": ["x"]})
    other = EventDefinition(event_name="user.left", topic=EventTopic.BUSINESS_FACTS)
    known = [
        RegisteredEvent("teller", AgentKind.AGENT, EventRole.MAKES, told),
        RegisteredEvent("asker", AgentKind.PLANNER, EventRole.AWAITS, told),
        RegisteredEvent("leaver", AgentKind.AGENT, EventRole.MAKES, other),
        RegisteredEvent("taker", AgentKind.AGENT, EventRole.TAKES, told),
    ]
    asks = Question(Reply("user.told", ("user.left",)), "input_required", "?", {"type": "object"})
    assert (asks.of(known).definition, asks.of(known).producers) == (told, ("client", "teller", "leaver"))
    unknown = asks.of([]).definition
    assert (unknown.topic, unknown.payload_schema) == ("notification-events", {"type": "object"})
    bare = Question(Reply("user.told"), "", "", from_clients=True).of(known[1:])
    assert (bare.definition, bare.producers) == (told, ("client",))
    assert Question(Reply("x"), "", "").of(known).definition.payload_schema == ANY_OBJECT
