"""The live view: each line once and in order, in columns of a fixed width."""

import dataclasses
import logging
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.apps.cli.view.live import json_of, label_of, words_of
from soorma_ai.apps.cli.view.logs import describe, frames_of
from soorma_ai.features.tracking.lines import LineKind
from soorma_ai.features.tracking.live import LineRows, LiveLine, lines_of, lookups_of, news
from soorma_ai.features.tracking.sentences import merge_lines, sentence, terms
from soorma_ai.features.tracking.trace import trace
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus, Untaken
from soorma_ai.kernel.domain.history import SELECT, StepKind
from soorma_ai.kernel.domain.states import HUMAN_INPUT, WAIT_REMINDED
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED, CANCEL_REQUESTED, EXPIRED, STRANDED
from soorma_ai.surfaces.options import Access
from soorma_ai.surfaces.terminal.printing import text_of
from soorma_ai.surfaces.terminal.wording import OFFSET_WIDTH, offset_cell
from unit.rows import GOAL, PLAN, PLANNER, QUESTION, Story, answer, at, decision, event, expectation, reply
from unit.test_trace import reservation, trace_of

LONG = [timedelta(seconds=s) for s in (0, 0.04, 59.9, 60, 3599.4, 3600, 86_399, 86_400, 7 * 86_400 - 1, 400 * 86_400)]
ACCESS = Access("sqlite:///shop.db", "default")


def words(told: LiveLine) -> str:
    return text_of(words_of(told, None)).plain


# The lines of one plan


def test_each_line_comes_once_and_in_order_while_the_start_of_the_plan_moves() -> None:
    whole, events = reservation()
    told: dict[object, LiveLine] = {}
    for until, begun in ((-1, -1.0), (0, -1.0), (2, 0.0), (6, 0.5), (10, 0.5)):
        seen = dataclasses.replace(whole, steps=[one for one in whole.steps if one.at <= at(until)], begun=begun)
        seen.decisions = [one for one in whole.decisions if one.at <= at(until)]
        seen.expectations = whole.expectations if until >= 2 else []
        for one in news(trace_of(seen, [one for one in events if one.time <= at(until)]), told.keys()):
            assert told.setdefault(one.mark, one) is one
    kinds = [one.line.kind for one in told.values()]
    assert kinds.count(LineKind.DECISION) == len(whole.decisions)
    assert told.keys() == {one.mark for one in news(trace_of(whole, events), set())}
    assert [one.at for one in told.values()] == sorted(one.at for one in told.values())
    assert news(trace_of(whole, events), told.keys()) == []


def test_two_refusals_at_one_moment_are_two_lines() -> None:
    story = Story()
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    story.decisions += [decision(GOAL, 1, "publish:x", ordinal=n, refusal="no") for n in range(2)]
    told = [one.line.kind for one in news(trace_of(story), set())]
    assert told == [LineKind.TURN, LineKind.DECISION, LineKind.DECISION]


def test_an_untaken_request_is_a_line_and_a_missing_answer_is_none() -> None:
    story, events = Story(), [event("reserve", 2, because=GOAL)]
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    story.step(StepKind.PUBLISHED, 2, "reserve", "reserve", to="reserve")
    story.expectations.append(expectation("reserve", "reply", 2))
    assert LineKind.OPEN not in {one.line.kind for one in news(trace_of(story, events), set())}
    nobody = Untaken("reserve", "reserve", PLANNER, None, PLAN, None, at(2), at(60))
    waiting = trace(replace(story.details(), untaken=(nobody,)), [], events, at(9))
    (one,) = [one for one in news(waiting, set()) if one.line.kind is LineKind.OPEN]
    assert words(one).startswith("nobody takes it yet")
    assert news(replace(waiting, started_at=at(5)), {one.mark for one in news(waiting, set())}) == []


# The lines of all events


def question_of(kind: str = "gate", **changes: Any) -> Expectation:
    return expectation("wait-1", kind, 0, ask=QUESTION, subject="charge", agent=PLANNER, event_type="charge", **changes)


def about_it(type: str, seconds: float, topic: EventTopic, source: str = PLANNER) -> EventEnvelope:
    """An event about the question."""
    made = event(type, seconds, because=GOAL, source=source)
    return made.model_copy(update={"topic": topic, "subject": "wait-1"})


def announcement(type: str, seconds: float) -> EventEnvelope:
    return about_it(type, seconds, EventTopic.NOTIFICATION_EVENTS)


def wake_up(type: str, seconds: float) -> EventEnvelope:
    return about_it(type, seconds, EventTopic.PLAN_EVENTS, SYSTEM)


def end_event(data: JsonObject) -> EventEnvelope:
    return event("done", 9, because="r1", data=data, answers=GOAL).model_copy(update={"answers": GOAL})


END: JsonObject = {"request_id": "r", "plan_id": PLAN, "success": True, "status": "completed", "result": {"paid": True}}
LOST: JsonObject = {
    **END,
    "success": False,
    "status": "failed",
    "error": {"code": "x", "message": "no money"},
    "result": None,
}


@pytest.mark.parametrize(
    ("happened", "found", "told"),
    [
        (
            event("goods.came", 1, because=None, source="client", data={"n": 1}),
            LineRows(),
            ['local published goods.came  {"n": 1}'],
        ),
        (
            event("pay", 2, because=GOAL),
            LineRows(
                [decision(GOAL, 1, "publish:oops", refusal="no such"), decision(GOAL, 2, "publish:pay", ordinal=1)]
            ),
            ["orders: refused publish:oops", "orders: decided publish:pay", "orders published pay"],
        ),
        (
            event("mail", 2, because="m", source="desk"),
            LineRows([decision("m", 2, "mail", agent="desk", prompt_id=SELECT)]),
            ["desk: decided mail", "desk published mail"],
        ),
        (
            reply("r1", 65, to="pay", source="till", result={"ok": 1}).model_copy(update={"answers": "pay"}),
            LineRows(request=event("pay", 5, because=GOAL)),
            ['till answered after 1 min  {"ok": 1}'],
        ),
        (end_event(END), LineRows(), ['orders: completed  {"paid": true}']),
        (end_event(LOST), LineRows(), ["orders: failed: no money"]),
        (announcement(HUMAN_INPUT, 0), LineRows(expectation=question_of()), ['orders: held charge  {"amount": 5}']),
        (announcement(WAIT_REMINDED, 60), LineRows(expectation=question_of()), ["charge people are reminded of it"]),
        (
            wake_up(ANSWERED, 7200),
            LineRows(expectation=question_of(closed=7200, answer=answer(7200, "reject", "too dear"))),
            ['mia rejected after 2 h: too dear  {"approved": false}'],
        ),
        (
            wake_up(EXPIRED, 86_400),
            LineRows(expectation=question_of(closed=86_400, status=ExpectationStatus.EXPIRED)),
            ["orders: no answer came in time after 1 d"],
        ),
        (wake_up(CANCEL_REQUESTED, 5), LineRows(), ["the plan was asked to stop"]),
        (wake_up(STRANDED, 5), LineRows(), []),
        (wake_up(ANSWERED, 5), LineRows(), []),
    ],
)
def test_the_decisions_behind_an_event_come_before_it(
    happened: EventEnvelope, found: LineRows, told: list[str]
) -> None:
    lines = lines_of(happened, found)
    assert [words(one)[: len(start)] for one, start in zip(lines, told, strict=True)] == told
    assert {one.plan_id for one in lines} <= {PLAN}


@pytest.mark.parametrize(
    ("happened", "found", "said"),
    [
        (
            event("pay", 2, because=GOAL, data={"order": "A1", "items": [1], "amount": "5"}),
            LineRows([decision(GOAL, 2, "publish:pay", why="why")]),
            ["orders published pay (order A1, amount 5): why"],
        ),
        (
            event("pay", 2, because=GOAL),
            LineRows(
                [decision(GOAL, 1, "publish:oops", refusal="no such"), decision(GOAL, 2, "publish:pay", why="why")]
            ),
            ["orders refused publish:oops: no such", "orders published pay: why"],
        ),
        (
            reply("r1", 65, to="pay", source="till", result={"ok": 1}).model_copy(update={"answers": "pay"}),
            LineRows(request=event("pay", 5, because=GOAL)),
            ["till answered pay after 1 min (ok 1)"],
        ),
        (end_event(END), LineRows(), ["plan of orders completed"]),
        (end_event(LOST), LineRows(), ["plan of orders failed: no money"]),
        (
            announcement(HUMAN_INPUT, 0),
            LineRows(expectation=question_of()),
            ["orders needs approval for charge (amount 5): May it be charged?"],
        ),
        (
            wake_up(ANSWERED, 7200),
            LineRows(expectation=question_of(closed=7200, answer=answer(7200, "reject", "too dear"))),
            ["mia rejected charge after 2 h: too dear"],
        ),
        (
            wake_up(EXPIRED, 86_400),
            LineRows(expectation=question_of(closed=86_400, status=ExpectationStatus.EXPIRED)),
            ["charge: no answer came in time"],
        ),
        (wake_up(CANCEL_REQUESTED, 5), LineRows(), ["the plan was asked to stop"]),
    ],
)
def test_an_event_is_one_sentence_without_json_after_its_refused_decisions(
    happened: EventEnvelope, found: LineRows, said: list[str]
) -> None:
    assert [text_of(sentence(one)).plain for one in merge_lines(lines_of(happened, found))] == said


def test_a_question_shows_its_approver_and_its_deadline() -> None:
    (held,) = lines_of(announcement(HUMAN_INPUT, 0), LineRows(expectation=question_of()))
    assert terms(held).startswith("Approver: finance, ")


def test_the_rows_an_events_lines_need_are_named_by_the_event_alone() -> None:
    assert lookups_of(event("pay", 2, because=GOAL)).handling == (PLANNER, GOAL)
    assert lookups_of(event("goods.came", 1, because=None, source="client")).handling is None
    assert lookups_of(wake_up(ANSWERED, 1)).expectation_id == "wait-1"
    assert lookups_of(wake_up(STRANDED, 1)).expectation_id is None


def test_a_questions_json_has_the_commands_that_answer_it() -> None:
    (held,) = lines_of(announcement(HUMAN_INPUT, 0), LineRows(expectation=question_of()))
    spoken = json_of(held, ACCESS)
    assert (spoken["kind"], spoken["wait_id"]) == ("gate", "wait-1")
    assert spoken["commands"] == [
        "soorma approve wait-1 --role finance",
        "soorma reject wait-1 --role finance --reason TEXT",
    ]


# Columns


@pytest.mark.parametrize("waited", LONG)
def test_columns_keep_their_width_after_any_wait(waited: timedelta) -> None:
    assert len(offset_cell(waited)) == len(offset_cell(-waited)) == OFFSET_WIDTH
    assert offset_cell(waited).endswith("  ")
    (told,) = lines_of(event("goods.came", waited.total_seconds(), because=None), LineRows())
    assert len(label_of(told, at(0))) == OFFSET_WIDTH
    assert len(label_of(told, None)) == len(label_of(replace(told, plan_id=None), None)) == 20


# The log


def test_a_traceback_is_shown_from_the_authors_first_frame() -> None:
    def author() -> None:
        raise RuntimeError("the drawer is stuck")

    with pytest.raises(RuntimeError) as raised:
        author()
    bug = (RuntimeError, raised.value, raised.value.__traceback__)
    shown = frames_of(logging.LogRecord("soorma_ai", logging.ERROR, "", 0, "x", None, bug))
    assert shown[0].lstrip().startswith("File ") and "in author" in shown[-2]
    assert frames_of(logging.LogRecord("soorma_ai", logging.ERROR, "", 0, "x", None, None)) == []


FAILED = {
    "agent": "till",
    "event_type": "pay",
    "attempt": 1,
    "reason": "ValueError: boom",
    "then": "it is a dead letter",
}
PARKED = {"plan_id": "0123456789", "agent": "orders", "reason": "nobody is there"}


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("delivery_failed", FAILED, "till failed at pay: ValueError: boom; it is a dead letter"),
        ("delivery_failed", {**FAILED, "attempt": 2}, "till failed at pay, attempt 2: ValueError: boom; it is"),
        (
            "event_not_taken",
            {**FAILED, "reason": "untaken"},
            "no agent takes pay yet; it waits for a taker (soorma events",
        ),
        ("event_not_taken", {**FAILED, "reason": "late"}, "event_not_taken x=y"),
        ("plan_parked", PARKED, "plan 01234567 of orders is parked: nobody is there (soorma plans show 01234567)"),
        ("event_set_aside", {**FAILED, "reason": "cannot_arrive: y"}, "pay is a dead letter: cannot_arrive: y (soorma"),
        ("delivery_failed", {}, "delivery_failed x=y"),
    ],
)
def test_a_log_line_names_the_agent_the_event_and_the_outlook(name: str, fields: dict[str, object], said: str) -> None:
    assert describe(f"{name} x=y", fields).startswith(said)
