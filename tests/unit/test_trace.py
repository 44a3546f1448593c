"""The trace of a plan."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from soorma_ai.features.tracking.lines import Line, LineKind, flatten
from soorma_ai.features.tracking.trace import MOST_LEVELS, Trace, TurnRange, count_turns, trace
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus, Untaken
from soorma_ai.kernel.domain.history import StepKind, Verdict
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from unit.rows import GOAL, PLAN, PLANNER, QUESTION, Story, answer, at, decision, event, expectation, reply


def goal_event() -> EventEnvelope:
    return event(GOAL, -1, because=None, source="client", type="order.place", plan_id=None)


def trace_of(
    story: Story, events: Sequence[EventEnvelope] = (), *, now: float = 100, others: Sequence[Story] = ()
) -> Trace:
    return trace(story.details(), [other.details() for other in others], events, at(now))


def in_turns(count: int) -> tuple[Story, list[EventEnvelope]]:
    """A plan with requests in series; another agent publishes an event about each."""
    story, events, cause = Story(status=PlanStatus.RUNNING), [goal_event()], GOAL
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    for number in range(count):
        asked, came, second = f"ask-{number}", f"reply-{number}", 10 * number
        story.decisions.append(decision(cause, second + 1, "publish:reserve", latency=1))
        story.step(StepKind.PUBLISHED, second + 1, asked, "reserve", to=asked)
        story.step(StepKind.REPLIED, second + 5, came, "reserve", to=asked)
        story.expectations.append(expectation(asked, ExpectationKind.REPLY, second + 1, second + 4, met_by=came))
        events += [
            event(asked, second + 1, because=cause),
            event(f"said-{number}", second + 2, because=asked, source="stock", type="stock.low"),
            reply(came, second + 4, to=asked, source="stock", result={"n": number}),
        ]
        cause = came
    return story, events


def kinds(lines: Sequence[Line]) -> list[LineKind]:
    return [line.kind for line in lines]


def only(told: Trace, kind: LineKind) -> Line:
    (found,) = [line for line in flatten(told.lines) if line.kind is kind]
    return found


def reservation() -> tuple[Story, list[EventEnvelope]]:
    """Goal, one request, its reply, the end."""
    story = Story(status=PlanStatus.COMPLETED, ended=10)
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    story.decisions.append(decision(GOAL, 2, "publish:reserve", why="stock first", latency=2))
    story.step(StepKind.PUBLISHED, 2, "reserve", "reserve", data={"sku": "A"}, to="reserve")
    story.step(StepKind.REPLIED, 7, "reply-1", "reserve", data={"ok": True}, note="ok", to="reserve")
    story.decisions.append(decision("reply-1", 9, "complete", why="all done", latency=2))
    story.step(StepKind.COMPLETED, 10, "reply-1", data={"paid": True})
    story.expectations.append(expectation("reserve", ExpectationKind.REPLY, 2, 6, met_by="reply-1"))
    events = [
        goal_event(),
        event("reserve", 2, because=GOAL, data={"sku": "A"}),
        reply("reply-1", 6, to="reserve", source="stock", result={"ok": True}),
        event("order.place.completed", 10, because="reply-1", data={"request_id": GOAL, "plan_id": PLAN}, answers=GOAL),
    ]
    return story, events


def held_charge(closed: float | None = None, given: Answer | None = None, status: str = "open") -> Story:
    """A charge held for approval a second after the goal."""
    story = Story(status=PlanStatus.PAUSED)
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    story.step(StepKind.HELD, 1, GOAL, "charge", data={"amount": 5}, to="gate-1")
    held = {"ask": QUESTION, "answer": given, "subject": "charge", "met_by": "wake-1" if given else None}
    status = ExpectationStatus.MET if given else ExpectationStatus(status)
    story.expectations.append(expectation("gate-1", ExpectationKind.GATE, 1, closed, status=status, **held))
    return story


def test_a_reply_stands_below_its_request_and_a_request_below_its_cause() -> None:
    told = trace_of(*reservation())
    assert kinds(told.lines) == [LineKind.TURN, LineKind.TURN]
    first, second = told.lines
    assert kinds(first.lines) == [LineKind.DECISION, LineKind.REQUEST]
    (answered,) = first.lines[1].lines
    assert (answered.kind, answered.who, answered.data) == (LineKind.REPLY, "stock", {"ok": True})
    assert answered.because == first.lines[1].event_id == "reserve"
    assert second.event_id == answered.event_id
    assert kinds(second.lines) == [LineKind.DECISION, LineKind.END]
    assert (answered.time, answered.took) == (timedelta(seconds=6), timedelta(seconds=4)), (
        "times are offsets from the start"
    )
    assert only(told, LineKind.END).time == timedelta(seconds=10)


def test_a_goal_has_its_requester_and_a_decision_its_reasoning_and_its_cost() -> None:
    first = trace_of(*reservation()).lines[0]
    assert (first.what, first.note, first.data) == ("order.place", "requested by local", {"order": 1})
    thought = first.lines[0].thought
    assert thought is not None
    assert (thought.verdict, thought.action, thought.reasoning) == (Verdict.ACCEPTED, "publish:reserve", "stock first")
    assert (thought.model, thought.prompt_tokens, thought.completion_tokens) == ("scripted", 10, 5)
    assert (thought.cost_usd, thought.latency) == (0.25, timedelta(seconds=2))


def test_a_choice_of_another_agents_model_stands_below_its_request() -> None:
    story, events = reservation()
    story.decisions.append(decision("reserve", 4, "publish:shelf.look", why="it is far", agent="stock"))
    told = trace_of(story, events)
    assert kinds(told.lines) == [LineKind.TURN, LineKind.TURN], "the choice is no turn of the planner"
    request = told.lines[0].lines[1]
    assert [(line.kind, line.who, line.note) for line in request.lines] == [
        (LineKind.CHOICE, "stock", "it is far"),
        (LineKind.REPLY, "stock", ""),
    ]


def test_a_refused_answer_stands_before_the_accepted_one() -> None:
    story, events = reservation()
    refused = decision(GOAL, 1.5, "publish:resrve", ordinal=0, refusal="not offered", latency=0.5)
    story.decisions.insert(0, refused)
    first, second, *_ = trace_of(story, events).lines[0].lines
    assert first.thought is not None and first.thought.refusal == first.note == "not offered" and first.is_failure
    assert (second.is_failure, second.note) == (False, "stock first")


def test_an_answered_gate_has_approvers_payload_answer_and_duration() -> None:
    told = trace_of(held_charge(closed=61, given=answer(61, note="go on")))
    gate = only(told, LineKind.GATE)
    assert (gate.what, gate.data, gate.note) == ("charge", {"amount": 5}, "May it be charged?")
    assert gate.asked is not None
    assert (gate.asked.approvers, gate.asked.digest, gate.asked.answered_by) == (("finance",), "digest-of-5", "mia")
    assert (gate.asked.waited, gate.asked.decision) == (timedelta(seconds=60), "approve")
    (said,) = gate.lines
    assert (said.who, said.what, said.note, said.took) == ("mia", "approve", "go on", timedelta(seconds=60))
    assert not said.is_failure


def test_an_open_gate_lasts_until_now() -> None:
    told = trace_of(held_charge(), now=31)
    asked = only(told, LineKind.GATE).asked
    assert asked is not None
    assert (asked.status, asked.waited, asked.deadline) == ("open", timedelta(seconds=30), timedelta(hours=1))
    assert only(told, LineKind.OPEN).took == timedelta(seconds=30)
    assert told.shares.people == timedelta(seconds=30)


def test_a_rejection_an_expiry_and_a_withdrawal_have_different_lines() -> None:
    no = trace_of(held_charge(closed=9, given=answer(9, "reject")))
    assert (only(no, LineKind.ANSWER).what, only(no, LineKind.ANSWER).is_failure) == ("reject", True)
    late = held_charge(closed=9, status="expired")
    late.step(StepKind.EXPIRED, 9, "wake", "charge", note="Nobody decided; that is a no.", to="gate-1")
    assert only(trace_of(late), LineKind.EXPIRY).note == "Nobody decided; that is a no."
    assert only(trace_of(held_charge(closed=9, status="closed")), LineKind.CLOSED).took == timedelta(seconds=8)


def test_an_untaken_request_of_a_plan_or_worker_has_a_line_below_it() -> None:
    story, events = reservation()
    story.status, story.steps, story.expectations = (
        PlanStatus.RUNNING,
        story.steps[:2],
        [expectation("reserve", ExpectationKind.REPLY, 2)],
    )
    part = event("part", 4, because="reserve", source="stock")
    waiting = [Untaken(one.id, one.type, one.source, None, PLAN, None, one.time, at(3600)) for one in (events[1], part)]
    told = trace(replace(story.details(), untaken=tuple(waiting)), [], [*events[:2], part], at(10))
    (request,) = [line for line in flatten(told.lines) if line.kind is LineKind.REQUEST]
    made, own = request.lines
    (below,) = made.lines
    assert [(line.what, line.note, line.took) for line in (own, below)] == [
        ("reserve", "nobody takes it yet", timedelta(seconds=8)),
        ("part", "nobody takes it yet", timedelta(seconds=6)),
    ]
    assert told.untaken == tuple(waiting)


def test_a_wait_met_by_an_outside_event_names_its_source() -> None:
    story = Story()
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    story.step(StepKind.ASKED, 1, GOAL, "order.paid", to="wait-1")
    story.step(StepKind.RECEIVED, 5, "paid-1", "order.paid", data={"sum": 5}, to="wait-1")
    story.expectations.append(expectation("wait-1", ExpectationKind.WAIT, 1, 5, met_by="paid-1", ask=QUESTION))
    paid = event("paid-1", 5, because=None, source="bank", type="order.paid", data={"sum": 5})
    told = trace_of(story, [goal_event(), paid])
    wait = only(told, LineKind.WAIT)
    assert wait.asked is not None
    assert wait.asked.answered_by == "bank"
    assert [(line.kind, line.who, line.data) for line in wait.lines] == [(LineKind.REPLY, "bank", {"sum": 5})]
    without_events = only(trace_of(story), LineKind.WAIT)
    assert [(line.kind, line.data) for line in without_events.lines] == [(LineKind.REPLY, {"sum": 5})]


def test_a_failed_reply_an_expired_and_an_open_request_have_lines() -> None:
    story, events = reservation()
    failed = reply("reply-1", 6, to="reserve", source="stock", error={"code": "gone", "message": "no stock"})
    line = only(trace_of(story, [*events[:2], failed]), LineKind.REPLY)
    assert (line.is_failure, line.data) == (True, {"code": "gone", "message": "no stock"})
    late = expectation("reserve", ExpectationKind.REPLY, 2, 8, status=ExpectationStatus.EXPIRED, met_by="wake")
    story.expectations = [late]
    assert only(trace_of(story, events[:2]), LineKind.EXPIRY).took == timedelta(seconds=6)
    story.expectations = [expectation("reserve", ExpectationKind.REPLY, 2)]
    assert only(trace_of(story, events[:2], now=12), LineKind.OPEN).took == timedelta(seconds=10)


def test_a_plan_failed_at_its_first_decision_shows_every_answer() -> None:
    """The first steps of such a plan are stored at its failure, after its decisions."""
    story = Story(status=PlanStatus.FAILED, begun=6, ended=6)
    story.step(StepKind.GOAL, 6, GOAL, "order.place")
    story.step(StepKind.FAILED, 6, GOAL, note="not offered")
    story.decisions += [
        decision(GOAL, s, "publish:no", ordinal=n, refusal="not offered") for n, s in enumerate((2, 3, 5))
    ]
    told = trace_of(story, [goal_event()])
    (turn,) = told.lines
    assert kinds(turn.lines) == [LineKind.DECISION] * 3 + [LineKind.END]
    assert (told.started_at, turn.time) == (at(1), timedelta(seconds=1))
    assert [line.time.total_seconds() for line in turn.lines] == [1, 2, 4, 5]


def test_a_failure_at_a_reply_has_a_turn_though_the_arrival_was_rolled_back() -> None:
    story, events = reservation()
    del story.steps[2:]
    story.decisions[1] = decision("reply-1", 9, "publish:no", refusal="not offered")
    story.step(StepKind.FAILED, 10, "reply-1", note="not offered")
    told = trace_of(story, events)
    assert [(turn.what, kinds(turn.lines)) for turn in told.lines] == [
        ("order.place", [LineKind.DECISION, LineKind.REQUEST]),
        ("reserve", [LineKind.DECISION, LineKind.END]),
    ]


def test_a_decision_in_hand_is_shown_before_its_effects() -> None:
    story, events = reservation()
    del story.steps[2:]
    turn = trace_of(story, events[:3]).lines[-1]
    assert (turn.what, kinds(turn.lines)) == ("reserve", [LineKind.DECISION])


def story_with_child() -> tuple[Story, Story, list[EventEnvelope]]:
    child = Story("pack", "packers", "pack", PlanStatus.COMPLETED, ended=6, begun=3)
    child.step(StepKind.GOAL, 3, "pack", "pack")
    child.decisions.append(decision("pack", 4, "publish:box", agent="packers"))
    child.step(StepKind.PUBLISHED, 4, "box", "box", to="box")
    child.step(StepKind.REPLIED, 5, "box-reply", "box", note="ok", to="box")
    child.step(StepKind.COMPLETED, 6, "box-reply", data={"boxed": True})
    child.expectations.append(
        expectation("box", ExpectationKind.REPLY, 4, 5, met_by="box-reply", plan_id=child.plan_id)
    )
    story = Story(status=PlanStatus.COMPLETED, ended=8)
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    story.step(StepKind.DELEGATED, 2, "pack", "pack", to="pack")
    story.step(StepKind.REPLIED, 7, "pack-reply", "pack", note="ok", to="pack")
    story.step(StepKind.COMPLETED, 8, "pack-reply")
    story.expectations.append(expectation("pack", ExpectationKind.CHILD, 2, 7, met_by="pack-reply"))
    packed = {"request_id": "pack", "plan_id": child.plan_id, "success": True}
    events = [
        goal_event(),
        event("pack", 2, because=GOAL),
        event("box", 4, because="pack", source="packers", plan_id=child.plan_id),
        reply("box-reply", 5, to="box", source="boxes", result={}).model_copy(update={"plan_id": child.plan_id}),
        event(
            "pack-reply", 6, because="box-reply", source="packers", data=packed, plan_id=child.plan_id, answers="pack"
        ),
    ]
    return story, child, events


def test_a_delegated_plan_stands_only_below_its_delegation_or_alone() -> None:
    story, child, events = story_with_child()
    told = trace_of(story, events, others=[child])
    delegation = only(told, LineKind.DELEGATION)
    (plan,) = delegation.lines
    assert (plan.kind, plan.who, plan.plan_id, plan.note) == (LineKind.PLAN, "packers", child.plan_id, "completed")
    assert plan.took == timedelta(seconds=3)
    assert [kinds(turn.lines) for turn in plan.lines] == [[LineKind.DECISION, LineKind.REQUEST], [LineKind.END]]
    assert kinds(told.lines) == [LineKind.TURN, LineKind.TURN]
    assert told.shares.agents == timedelta(seconds=1), "the time of the child's agents, without the child's own"
    alone = trace_of(child, events, others=[story])
    assert [turn.what for turn in alone.lines] == ["pack", "box"]
    assert (alone.lines[0].note, alone.started_at) == (f"requested by {PLANNER}", at(3))


def test_events_of_other_agents_stand_below_their_cause() -> None:
    story, events = reservation()
    low = event("stock.low", 5, because="reserve", source="stock")
    ordered = event("ordered", 6, because="stock.low", source="buyer")
    heard = event("audited", 1, because=GOAL, source="audit")
    noticed = event("order.noticed", 1, because=GOAL)
    told = trace_of(story, [*events, low, ordered, heard, noticed])
    request = only(told, LineKind.REQUEST)
    assert [(line.kind, line.who) for line in request.lines] == [(LineKind.EVENT, "stock"), (LineKind.REPLY, "stock")]
    assert [(line.who, line.because) for line in request.lines[0].lines] == [("buyer", "stock.low")]
    assert ("audit", GOAL) in [(line.who, line.because) for line in told.lines[0].lines]
    beside = [line.what for line in told.lines[0].lines if line.kind is LineKind.EVENT]
    assert "order.noticed" in beside, "an event of the planner outside its steps"


def test_a_progress_report_has_a_line_of_its_own_kind() -> None:
    story, events = reservation()
    half = event("p-1", 4, because="reserve", source="stock", type="task.progress")
    half = half.model_copy(update={"topic": EventTopic.SYSTEM_EVENTS, "data": {"progress": 0.5, "message": "half way"}})
    strange = half.model_copy(update={"id": "p-2", "data": {"progress": "much"}})
    told = trace_of(story, [*events, half, strange])
    line = only(told, LineKind.PROGRESS)
    assert (line.who, line.data, line.note, line.because) == ("stock", 0.5, "half way", "reserve")
    assert only(told, LineKind.EVENT).event_id == "p-2"


def test_a_request_between_agents_has_its_reply_and_an_unexplained_event_is_shown() -> None:
    story, events = reservation()
    inner = event("count", 3, because="reserve", source="stock")
    counted = reply("count-reply", 4, to="count", source="shelf", result={"left": 3})
    stray = event("stray", 3, because="somewhere else", source="outside")
    told = trace_of(story, [*events, inner, counted, stray])
    line = next(line for line in flatten(told.lines) if line.event_id == "count-reply")
    assert (line.kind, line.took, line.data) == (LineKind.REPLY, timedelta(seconds=1), {"left": 3})
    assert [(line.kind, line.who) for line in told.lines[2:]] == [(LineKind.EVENT, "outside")]


def test_wake_ups_announcements_and_the_final_answer_have_no_own_lines() -> None:
    story = held_charge(closed=61, given=answer(61))
    announced = event("announced", 1, because=GOAL, type=HUMAN_INPUT)
    woken = event("wake-1", 61, because=GOAL, source=SYSTEM, type="plan.wait.answered")
    cancelled = event("wake-2", 62, because=GOAL, source=SYSTEM, type="plan.cancel.requested")
    told = trace_of(story, [goal_event(), announced, woken, cancelled])
    assert LineKind.EVENT not in kinds(list(flatten(told.lines)))
    ended = only(trace_of(*reservation()), LineKind.END)
    assert ended.event_id == "order.place.completed"
    assert [line.event_id for line in flatten(trace_of(*reservation()).lines)].count("order.place.completed") == 1


def test_a_circle_of_causes_ends() -> None:
    story, events = reservation()
    circle = [event("hen", 3, because="egg", source="a"), event("egg", 4, because="hen", source="b")]
    told = [line.event_id for line in flatten(trace_of(story, [*events, *circle]).lines)]
    assert (told.count("hen"), told.count("egg")) == (1, 1)


def test_a_very_long_chain_of_agents_is_shown_whole() -> None:
    story, events = reservation()
    length = 3000
    chain = [event(f"e{n}", 3, because=f"e{n - 1}" if n else "reserve", source="echo") for n in range(length)]
    told = trace_of(story, [*events, *chain])
    assert sum(line.who == "echo" for line in flatten(told.lines)) == length
    assert depth(told.lines) <= MOST_LEVELS + 2
    assert kinds(told.lines) == [LineKind.TURN, LineKind.TURN], "the whole chain is below its request"


def depth(lines: Sequence[Line]) -> int:
    return 1 + max((depth(line.lines) for line in lines), default=0) if lines else 0


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["stock", "audit", PLANNER])), max_size=40))
def test_every_event_is_shown_once_under_any_causes(made: list[tuple[int, str]]) -> None:
    story, events = reservation()
    for number, (cause, source) in enumerate(made):
        events.append(event(f"x{number}", 3, because=events[cause % len(events)].id, source=source))
    told = [line.event_id for line in flatten(trace_of(story, events).lines)]
    # The turn after a reply names it again, as its cause.
    expected = sorted([*(one.id for one in events), "reply-1"])
    assert sorted(id for id in told if id) == expected


@pytest.mark.parametrize("first", [None, *range(8)])
def test_a_part_of_a_trace_has_the_same_turns_as_the_whole(first: int | None) -> None:
    story, events = in_turns(5)
    events.append(event("stray", 60, because="of-nobody", source="shop", type="shop.closed", plan_id=None))
    whole = trace_of(story, events)
    *turns, stray = whole.lines
    part = trace(story.details(), [], events, at(100), TurnRange(2, first))
    begin = 4 if first is None else min(first, 4)
    assert part.lines == (*turns[begin : begin + 2], stray)
    assert (part.shares, part.decisions, count_turns(part)) == (whole.shares, whole.decisions, 6)


@pytest.mark.parametrize("most", [1, 2])
def test_a_part_of_a_trace_omits_child_plans_of_other_turns_but_counts_their_time(most: int) -> None:
    parent, child, events = story_with_child()
    whole = trace_of(parent, events, others=[child])
    part = trace(parent.details(), [child.details()], events, at(100), TurnRange(most))
    assert part.shares == whole.shares
    assert part.lines == whole.lines[-most:]


@pytest.mark.parametrize(
    ("part", "count", "meant"),
    [
        (TurnRange(2), 0, []),
        (TurnRange(2), 1, [0]),
        (TurnRange(2), 5, [3, 4]),
        (TurnRange(2, 0), 5, [0, 1]),
        (TurnRange(2, 9), 5, [3, 4]),
    ],
)
def test_a_part_of_a_trace_stays_within_its_plan(part: TurnRange, count: int, meant: list[int]) -> None:
    assert [*part.of(count)] == meant


def test_a_plan_without_events_is_traced_from_its_own_rows() -> None:
    story, _ = reservation()
    told = kinds(list(flatten(trace_of(story).lines)))
    assert told == ["turn", "decision", "request", "reply", "turn", "decision", "end"]
