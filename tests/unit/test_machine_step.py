"""One step of a state machine: an event moves it to a state, and the state asks for something."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError, PayloadMismatch
from soorma_ai.kernel.domain.effects import Close, DropValue, SaveValue
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.replies import ExpectedReply, Failure, failure_reply
from soorma_ai.kernel.domain.states import StateConfig, states_of
from soorma_ai.kernel.rules.plans.requests import PlanQuestion
from soorma_ai.kernel.rules.state_machine import step as machine
from soorma_ai.kernel.rules.state_machine.machine import as_seen
from soorma_ai.kernel.rules.state_machine.step import AgentRequest, MachineView, state_after
from unit.kit import NOW, answer, event, expectation, failure_event, gate, moment, of_kind, plan, steps, success_event

SEARCH = {"event_type": "web.search", "response_event": "found.completed", "data": {"query": "{goal_data.topic}"}}
ASK = {"event_type": "notification.human_input", "response_event": "user.told", "timeout_seconds": 30}


def ways(**to: str) -> list[dict[str, str]]:
    return [{"on_event": event.replace("_", "."), "to_state": state} for event, state in to.items()]


STATES = states_of(
    {
        "start": {"default_next": "between"},
        "between": {"default_next": "searching"},
        "searching": {"action": SEARCH, "transitions": ways(found_completed="asking", found_failed="lost")},
        "asking": {
            "description": "Which?",
            "action": ASK,
            "transitions": ways(user_told="resting", timeout="lost", network="start"),
        },
        "resting": {"transitions": ways(colour_told="onward", colour_lost="lost")},
        "onward": {"action": {"event_type": "paint"}, "default_next": "done"},
        "done": {"is_terminal": True, "result": {"painted": "{results.onward}"}},
        "lost": {"is_terminal": True, "outcome": "failed", "description": "nothing was found"},
    }
)
REPLY = expectation(event_type="found.completed", subject="web.search")
EXPIRED = expectation(status="expired", event_type="found.completed", subject="web.search")
WAIT = expectation("wait", id="w-1", event_type="colour.told")
HOLD = expectation("wait", id="w-2", event_type="plan.resumed")
OFFER = expectation("offer", id="o-1", event_type="web.search")
BESIDE = expectation(id="x-2")
FOUND, TELLS, CLICK = success_event("found.completed"), event("colour.told", colour="red"), event("plan.wait.answered")
LATE, RESUMED = failure_event("found.timeout", "timeout"), event("plan.resumed")
TOO_LATE = "no answer to web.search came in time"


def view(state: str, closed: Any = None, *open_now: Expectation, saved: Any = None, **changes: Any) -> MachineView:
    """`saved` are values of a pause, `notes` values of the author."""
    results, notes = changes.pop("results", {}), changes.pop("notes", {})
    record = plan(current_state=state, goal_data={"topic": "owls"}, **{"awaits": "x-1", **changes})
    return MachineView(record, STATES, results, notes, saved or {}, open_now, closed)


def due(state: str, *open_now: Expectation) -> MachineView:
    return view(state, None, *open_now, is_due=True)


def paused_on(came: Any) -> Any:
    return {"came": {"type": came.type, "data": came.data}}


@pytest.mark.parametrize(
    ("met", "came", "name", "data"),
    [
        (REPLY, FOUND, "found.completed", FOUND.data),
        (REPLY, event("found.empty", hits=0), "found.empty", {"hits": 0}),
        (REPLY, failure_event("found.completed"), "found.failed", failure_event().data),
        (EXPIRED, CLICK, "found.timeout", failure_reply("timeout", TOO_LATE)),
        (replace(WAIT, answer=answer("respond", colour="blue")), CLICK, "colour.told", {"colour": "blue"}),
        (WAIT, TELLS, "colour.told", TELLS.data),
        (gate("expired"), CLICK, "paid.rejected", failure_reply("rejected", "nobody let pay go in time")),
        (
            gate(answer=answer("reject", "too much")),
            CLICK,
            "paid.rejected",
            failure_reply("rejected", "mia did not let pay go: too much"),
        ),
    ],
)
def test_an_event_is_seen_under_its_transition_name(met: Any, came: Any, name: str, data: Any) -> None:
    seen = as_seen(met, came)
    assert (seen.type, seen.data) == (name, data)


@pytest.mark.parametrize(
    ("state", "came", "saved", "to"),
    [
        ("searching", FOUND, {}, "asking"),
        ("searching", failure_event("found.failed"), {}, "lost"),
        ("searching", LATE, {}, "lost"),
        ("searching", event("other"), {}, None),
        ("asking", failure_event("user.told.timeout", "timeout"), {}, "lost"),
        ("asking", failure_event("user.told.failed", "network"), {}, "start"),
        ("resting", TELLS, {}, "onward"),
        ("onward", success_event("paint.completed"), {}, "done"),
        ("onward", failure_event("paint.failed"), {}, None),
        ("start", TELLS, {}, "between"),
        ("nowhere", TELLS, {}, None),
        # Resumed: an event during the pause moves on; a state without its answer waits on.
        ("resting", RESUMED, paused_on(TELLS), "onward"),
        ("searching", RESUMED, paused_on(FOUND), "asking"),
        ("searching", RESUMED, paused_on(failure_event("found.failed")), "lost"),
        ("searching", RESUMED, {}, None),
        ("onward", RESUMED, {}, None),
        ("onward", RESUMED, paused_on(event("other")), "done"),
        ("start", RESUMED, {}, "between"),
    ],
)
def test_an_event_leads_to_a_state(state: str, came: Any, saved: Any, to: str | None) -> None:
    assert state_after(view(state, saved=saved), came) == to


@pytest.mark.parametrize(
    ("here", "came", "to", "asks"),
    [
        # A due request is asked after any event. States without an action are passed.
        (due("start"), None, "searching", "web.search"),
        (due("searching"), TELLS, "searching", "web.search"),
        (due("onward", OFFER), None, "onward", "paint"),
        (view("searching", None, REPLY), FOUND, "asking", "user.told"),
        (view("resting", None, WAIT), TELLS, "onward", "paint"),
        (view("onward"), success_event("paint.completed"), "done", None),
        (view("start"), None, "searching", "web.search"),
        # No request is asked twice, and a state without its answer stays.
        (view("searching", None, REPLY), event("other"), None, None),
        (view("onward", None, REPLY), None, None, None),
        (view("resting"), None, None, None),
        (due("searching", OFFER), None, None, None),
    ],
)
def test_a_step_asks_the_action_of_its_state(here: MachineView, came: Any, to: str | None, asks: str | None) -> None:
    move = machine.step(here, came, NOW)
    assert (move is None) is (to is None)
    if move is not None:
        after = move.outcome.plan
        name = move.asks.event_type if isinstance(move.asks, AgentRequest) else move.asks and move.asks.reply.event_type
        assert (after.current_state, after.is_due, after.awaits, name) == (to, asks is not None, None, asks)


def test_a_step_withdraws_its_states_question_and_clears_the_pause() -> None:
    saved = {**paused_on(TELLS), "reason": "?"}
    here = view("resting", None, REPLY, HOLD, BESIDE, saved=saved, notes={"pause_reason": "?", "own": 1})
    move = machine.step(here, TELLS, NOW)
    assert move is not None
    assert [(one.expectation_id, one.first) for one in of_kind(Close, move.outcome)] == [("x-1", True), ("w-2", True)]
    dropped = {(drop.kind, drop.key) for drop in of_kind(DropValue, move.outcome)}
    assert dropped == {("pause", "came"), ("pause", "reason"), ("state", "pause_reason")}


@pytest.mark.parametrize("notes", [{"pause_reason": "mine", "paused_on": "mine"}, {"paused_on": {"type": 1}}])
def test_an_authors_notes_are_neither_read_nor_lost_under_any_name(notes: Any) -> None:
    assert state_after(view("resting", notes=notes), RESUMED) == state_after(view("resting"), RESUMED)
    paused, _ = machine.pause(view("resting", notes=notes), "look", NOW)
    saved = {(save.kind, save.key) for save in of_kind(SaveValue, paused)}
    assert {("pause", "reason")} <= saved and (("state", "pause_reason") in saved) is ("pause_reason" not in notes)
    move = machine.step(view("resting", notes=notes, saved={**paused_on(TELLS), "reason": "look"}), TELLS, NOW)
    assert move is not None
    assert {(drop.kind, drop.key) for drop in of_kind(DropValue, move.outcome)} == {
        ("pause", "came"),
        ("pause", "reason"),
    }


def test_templates_of_an_action_are_filled_in_and_a_missing_value_is_a_mismatch() -> None:
    move = machine.step(due("searching"), None, NOW)
    reply = ExpectedReply("found.completed", ("found.failed",))
    assert move is not None and move.asks == AgentRequest("web.search", {"query": "owls"}, reply)
    with pytest.raises(PayloadMismatch, match="no 'topic' there"):
        machine.step(MachineView(plan(current_state="searching", is_due=True), STATES, {}, {}), None, NOW)
    with pytest.raises(LocalProtocolError, match="in state 'nowhere', which its machine does not have"):
        machine.step(due("nowhere"), None, NOW)


@pytest.mark.parametrize(
    ("data", "own", "words", "schema", "seconds"),
    [
        (None, 30, "Which?", None, 30),
        ({"question": "What {goal_data.topic}?"}, 30, "What owls?", None, 30),
        ({"message": "Why?", "response_schema": {"type": "object"}}, None, "Why?", {"type": "object"}, None),
        ({"timeout_seconds": 5}, None, "Which?", None, 5),
        ({"timeout_seconds": 5}, 30, "Which?", None, 30),
    ],
)
def test_a_states_question_has_its_text_its_schema_and_its_timeout(
    data: Any, own: Any, words: str, schema: Any, seconds: Any
) -> None:
    asking = STATES["asking"].model_dump() | {"action": {**ASK, "data": data, "timeout_seconds": own}}
    here = MachineView(due("asking").plan, {"asking": StateConfig.model_validate(asking)}, {}, {})
    move = machine.step(here, None, NOW)
    assert move is not None and isinstance(move.asks, PlanQuestion)
    reply = ExpectedReply("user.told", ("timeout", "network"), seconds and timedelta(seconds=seconds))
    assert (move.asks.reply, move.asks.reason, move.asks.message) == (reply, "input_required", words)
    assert (move.asks.schema, move.asks.from_clients) == (schema, False)


@pytest.mark.parametrize(
    ("here", "has_next", "is_waiting", "is_held"),
    [
        (due("start"), True, False, False),
        (due("searching"), True, False, False),
        (due("searching", OFFER), False, True, False),
        (due("onward", OFFER), True, False, False),
        (view("searching", None, REPLY), False, True, False),
        (view("onward", None, REPLY), False, True, False),
        (view("onward"), True, False, False),
        (view("onward", None, BESIDE), True, False, False),
        (view("resting", None, HOLD), False, True, True),
        (view("resting", None, WAIT), False, False, False),
        (view("done"), False, False, False),
        (MachineView(plan(), {}, {}, {}), False, False, False),
    ],
)
def test_a_plan_has_a_next_step_unless_it_waits(
    here: MachineView, has_next: Any, is_waiting: Any, is_held: Any
) -> None:
    assert (here.has_next, here.is_waiting, here.is_held) == (has_next, is_waiting, is_held)


def test_a_state_without_an_action_waits_for_the_events_of_its_transitions() -> None:
    asks, either = machine.rest(view("resting")), ExpectedReply("colour.told", ("colour.lost",))
    assert asks is not None
    assert (asks.reply, asks.message) == (either, "The plan waits for colour.told.")
    others = (view("resting", None, WAIT), due("resting"), view("searching"), view("start"), view("done"))
    assert [machine.rest(other) for other in others] == [None] * 5


@pytest.mark.parametrize(
    ("here", "given", "schema", "ended"),
    [
        (view("done", results={"onward": "red"}), None, {}, {"painted": "red"}),
        (view("done", results={"onward": "red"}), {"own": 1}, {}, {"own": 1}),
        (view("done", results={"onward": 1}), None, {"required": ["paid"]}, "payload_mismatch"),
        (view("onward", results={"searching": 1}), None, {}, {"searching": 1}),
        (view("lost"), None, {}, "nothing was found"),
        (view("lost", (EXPIRED, CLICK)), None, {}, f"nothing was found: {TOO_LATE}"),
        (view("lost", (REPLY, failure_event())), {"own": 1}, {}, "nothing was found: down"),
        (view("lost", (REPLY, FOUND)), None, {}, "nothing was found"),
    ],
)
def test_a_machine_ends_with_a_fitting_result_or_with_a_reason(
    here: MachineView, given: Any, schema: Any, ended: Any
) -> None:
    found = machine.end(here, machine.result_of(here, given), {"type": "object", **schema})
    assert ended in ((found.message, found.code) if isinstance(found, Failure) else (found,))


def test_a_state_named_failed_fails_its_plan_unless_its_outcome_differs() -> None:
    says: list[tuple[str, Any]] = [("failed", None), ("failed", "completed"), ("x", "failed"), ("x", None)]
    assert [StateConfig(state_name=name, outcome=how).fails for name, how in says] == [True, False, True, False]


@pytest.mark.parametrize(
    ("here", "kept"),
    [
        (view("searching"), []),
        (view("searching", (REPLY, FOUND)), [("searching", 7)]),
        (view("searching", (REPLY, event("found.empty", hits=0))), [("searching", {"hits": 0})]),
        (
            view("searching", (REPLY, failure_event())),
            [("searching", {"error": {"code": "network", "message": "down"}})],
        ),
        (view("searching", (BESIDE, success_event())), [("part", 7)]),
        (view("resting", (HOLD, event("plan.resumed", sum=5))), [("user_input", {"sum": 5})]),
        (view("searching", (OFFER, TELLS)), []),
    ],
)
def test_a_result_is_stored_under_the_state_of_its_request(here: MachineView, kept: Any) -> None:
    assert [(save.key, save.value) for save in of_kind(SaveValue, machine.keep_result(here.plan, here.closed))] == kept


@pytest.mark.parametrize(
    ("here", "closes", "kept", "awaits", "is_due"),
    [
        (view("searching", None, REPLY), [], None, "x-1", False),
        (view("searching", (REPLY, FOUND)), [], paused_on(FOUND), None, False),
        (due("searching", REPLY), [], None, "x-1", True),
        (view("resting", (WAIT, TELLS), HOLD, is_due=True), ["w-2"], None, None, False),
        (view("resting", None, WAIT, awaits="w-1"), ["w-1"], None, None, False),
        (due("start"), [], None, None, True),
    ],
)
def test_a_pause_keeps_the_open_request_and_the_event_at_hand(
    here: MachineView, closes: Any, kept: Any, awaits: Any, is_due: bool
) -> None:
    outcome, asks = machine.pause(here, "look at it", NOW)
    assert [close.expectation_id for close in of_kind(Close, outcome)] == closes
    saved = {save.key: save.value for save in of_kind(SaveValue, outcome)}
    assert saved == {"reason": "look at it", "pause_reason": "look at it", **(kept or {})}
    assert (outcome.plan.awaits, outcome.plan.is_due) == (awaits, is_due)
    assert (asks.reply, asks.message, asks.from_clients) == (ExpectedReply("plan.resumed"), "look at it", True)


def test_a_held_plan_keeps_the_event_at_hand_and_stays_paused() -> None:
    without_states = MachineView(plan(awaits="x-1"), {}, {}, {}, {}, (), (REPLY, FOUND))
    for here, kept in (
        (view("searching", (REPLY, FOUND)), paused_on(FOUND)),
        (view("searching", (BESIDE, FOUND)), {}),
        (without_states, {}),
    ):
        outcome = machine.hold(here, NOW)
        saved = {save.key: save.value for save in of_kind(SaveValue, outcome)}
        assert (outcome.plan.status, saved) == ("paused", kept)


def test_resuming_a_plan_closes_its_question_but_never_its_gate() -> None:
    outcome = machine.resume(view("resting", None, HOLD, REPLY, status="paused"), {"sum": 5}, moment())
    assert outcome is not None
    assert (outcome.plan.status, [step.kind for step in steps(outcome)]) == ("running", ["resumed"])
    assert [(close.expectation_id, close.first) for close in of_kind(Close, outcome)] == [("w-2", True)]
    assert [(save.key, save.value) for save in of_kind(SaveValue, outcome)] == [("user_input", {"sum": 5})]
    assert machine.resume(view("resting", None, REPLY), {}, moment()) is None
    with pytest.raises(LocalProtocolError, match="held for an approval"):
        machine.resume(view("resting", None, gate("open")), {"approved": True}, moment())


def test_a_resuming_event_moves_on_under_its_own_name_or_an_awaited_one() -> None:
    for came, awaited, name in (
        ("colour.told", [], "colour.told"),
        ("boss.spoke", ["colour.lost"], "colour.lost"),
        ("boss.spoke", ["other"], "plan.resumed"),
    ):
        assert machine.lead(view("resting"), event(came), awaited).type == name


@pytest.mark.parametrize(
    ("seen", "code", "words"),
    [
        (None, "no_transition", "nothing leads on in state 'asking'"),
        (TELLS, "no_transition", "colour.told came in state 'asking', and no transition takes it"),
        (LATE, "timeout", "found.timeout in state 'asking', and no transition takes it: down (timeout)"),
    ],
)
def test_a_plan_without_a_transition_fails_with_the_event(seen: Any, code: str, words: str) -> None:
    assert machine.without_way(view("asking").plan, seen) == Failure(code, words)
