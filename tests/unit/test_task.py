"""Tasks: their requests and questions, answers and timeouts, and their end."""

import random
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import asdict, astuple, replace

from soorma_ai.kernel.domain.effects import Close, EndTask, Schedule
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.replies import failure_reply, success_reply
from soorma_ai.kernel.domain.states import PROGRESS
from soorma_ai.kernel.domain.tasks import DelegationSpec, Group, SubTaskInfo
from soorma_ai.kernel.rules import task as tasks
from soorma_ai.kernel.rules.task import LONGEST_WAIT, put_result, question_of, reply_to_keep, task_of
from unit.kit import (
    END,
    HOUR,
    LINEAGE,
    NOW,
    event,
    events_in,
    expectation,
    expectations_in,
    failure_event,
    moment,
    of_kind,
    success_event,
)

REQUEST = event("note.requested", id="t-1", topic="action-requests", text="hi", **asdict(LINEAGE))
TASK = task_of(REQUEST, "clerk", "note.done", NOW)
LATE = failure_reply("deadline_exceeded", "no answer to part came in time")
QUESTION = {"response_event": "answered", "timeout_seconds": 60}


def test_a_task_has_the_id_of_its_request_and_answers_to_its_reply_address() -> None:
    assert (TASK.task_id, TASK.lineage, TASK.data) == ("t-1", replace(LINEAGE, origin="t-1"), {"text": "hi"})
    assert (TASK.answer_key, TASK.answer_event, TASK.answer_topic) == ("t-1", "note.done", "action-results")
    asked = {"correlation_id": "mine", "response_event": "told", "response_topic": "plan-events"}
    task = task_of(REQUEST.model_copy(update=asked), "clerk", "note.done", NOW)
    assert (task.answer_key, task.answer_event, task.answer_topic) == ("mine", "told", "plan-events")


@pytest.mark.parametrize(
    ("timeout", "until", "deadline"),
    [(None, END, END), (HOUR, END, NOW + HOUR), (None, None, NOW + LONGEST_WAIT), (timedelta(days=9), END, END)],
)
def test_a_sub_task_has_a_reply_key_of_its_own_and_always_a_deadline(timeout: Any, until: Any, deadline: Any) -> None:
    task = task_of(REQUEST.model_copy(update={"deadline": until}), "clerk", "note.done", NOW)
    asked = DelegationSpec("part", {"n": 1}, "part.done", assigned_to="rare")
    terms = tasks.AnswerTerms(timeout=timeout, group="g-1")
    info, effects = tasks.delegate(replace(task, sub_tasks=3), asked, terms, moment(REQUEST))
    (sent,), (reply,), (timer,) = events_in(effects), expectations_in(effects), of_kind(Schedule, effects)
    assert (sent.type, sent.topic, sent.target, sent.data) == ("part", "action-requests", "rare", {"n": 1})
    assert (sent.id, sent.response_event, sent.lineage) == (sent.correlation_id, "part.done", task.lineage)
    assert (reply.id, reply.kind, reply.task_id, reply.group_id) == (sent.id, "reply", "t-1", "g-1")
    assert (reply.event_type, reply.place, reply.deadline, timer.due) == ("part.done", 3, deadline, deadline)
    assert info == SubTaskInfo(sent.id, "part", "part.done", parallel_group_id="g-1")


def test_a_tasks_question_is_met_by_the_tasks_id_and_has_a_deadline() -> None:
    ladder = {"approvers": ["boss"], "remind_after_seconds": 30, "escalate_after_seconds": 40, "escalate_to": ["chief"]}
    given = {**QUESTION, **ladder, "question": "May it go?", "sum": 5}
    question = question_of(given)
    assert not isinstance(question, str)
    wait_id, effects = tasks.ask(TASK, question, moment(REQUEST), ("client",))
    (wait,), (told,) = expectations_in(effects), events_in(effects)
    assert (wait.id, wait.kind, wait.keys) == (wait_id, "wait", ("reply:t-1", f"reply:{wait_id}"))
    assert (wait.task_id, wait.producers, wait.deadline) == ("t-1", ("client",), NOW + timedelta(seconds=60))
    assert (told.data["question"], told.data["sum"], told.data["wait_id"]) == ("May it go?", 5, wait_id)
    assert wait.ask is not None
    assert (wait.ask.approvers, wait.ask.escalate_to, wait.event_topic) == (
        ("boss",),
        ("chief",),
        "notification-events",
    )
    assert [timer.id.partition(":")[0] for timer in of_kind(Schedule, effects)] == ["deadline", "remind", "escalate"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"response_event": ""}, "'response_event' names"),
        ({"response_event": 7}, "'response_event' names"),
        ({"timeout_seconds": None}, "never waits without end"),
        ({"timeout_seconds": True}, "'timeout_seconds'"),
        ({"timeout_seconds": 0}, "'timeout_seconds'"),
        ({"timeout_seconds": 1e15}, "'timeout_seconds'"),
        ({"response_schema": 7}, "'response_schema' is a JSON Schema"),
        ({"response_schema": {"type": "nonsense"}}, "malformed JSON Schema"),
        ({"remind_after_seconds": "soon"}, "remind_after_seconds"),
        ({"remind_after_seconds": 1e15}, "remind_after_seconds"),
        ({"remind_after_seconds": [0]}, "above zero"),
        ({"escalate_after_seconds": 5}, "needs both"),
        ({"escalate_after_seconds": [5, 6], "escalate_to": ["x"]}, "'escalate_after_seconds' is a number"),
        ({"escalate_after_seconds": 5, "escalate_to": "boss"}, "lists of roles"),
        ({"approvers": [7]}, "lists of roles"),
    ],
)
def test_a_question_without_a_timeout_or_with_an_invalid_escalation_is_refused(wrong: Any, words: str) -> None:
    assert words in str(question_of({**QUESTION, **wrong}))


@pytest.mark.parametrize(
    ("met", "came", "status", "result"),
    [
        (expectation(), success_event(), "completed", success_reply(7)),
        (expectation(), event("part.completed", n=1), "completed", {"n": 1}),
        (expectation(), failure_event(), "failed", failure_event().data),
        (expectation(status="expired"), event("x"), "failed", LATE),
    ],
)
def test_a_sub_task_ends_with_its_reply_its_failure_or_its_timeout(
    met: Any, came: Any, status: Any, result: Any
) -> None:
    ended = SubTaskInfo("x-1", "part", "part.done", parallel_group_id="g")
    put_result(ended, reply_to_keep(met, came))
    assert (ended.status, ended.has_ended, ended.result) == (status, True, result)
    assert (ended.sub_task_id, ended.event_type, ended.parallel_group_id) == ("x-1", "part", "g")


@pytest.mark.parametrize(("stop", "told"), [(False, []), (True, ["r"])])
def test_a_task_ends_with_one_answer_and_closes_its_expectations(stop: bool, told: list[str]) -> None:
    open_now = [expectation(id="r"), expectation("wait", id="w")]
    effects = tasks.end(TASK, success_reply(1), open_now, moment(REQUEST), stop=stop)
    (*stopped, answer) = events_in(effects)
    assert (answer.type, answer.correlation_id) == ("note.done", "t-1")
    assert answer.data == {"task_id": "t-1", **success_reply(1)}
    assert [close.expectation_id for close in of_kind(Close, effects)] == ["r", "w"]
    assert [(one.type, one.subject) for one in stopped] == [("plan.request.abandoned", one) for one in told]
    assert of_kind(EndTask, effects) == [EndTask("clerk", "t-1")]


def test_an_unanswered_question_makes_a_public_timeout_event() -> None:
    told = tasks.timeout_event(TASK, expectation("wait", id="w", event_type="answered"), moment(REQUEST)).event
    assert (told.type, told.topic, told.correlation_id) == ("task.timeout", "task-events", "t-1")
    assert told.data == {"task_id": "t-1", "wait_id": "w", "response_event": "answered"}


def sub_tasks(*parts: str) -> dict[int, SubTaskInfo]:
    """Sub-tasks by number: a letter for its group or `-` without one; a capital or `+` for an ended one."""
    return {
        number: SubTaskInfo(
            f"x-{number}",
            "part",
            "part.done",
            "completed" if part.isupper() or part == "+" else "pending",
            None if part in "-+" else part.lower(),
        )
        for number, part in enumerate(parts)
    }


@pytest.mark.parametrize(
    ("parts", "pending", "groups"),
    [
        ("", 0, []),
        ("-", 1, []),
        ("+-+", 1, []),
        ("aaa", 3, [("a", 0, 2, 3)]),
        ("-aAa+", 3, [("a", 1, 3, 2)]),
        ("AAA", 0, []),
        ("AAbbB", 2, [("b", 2, 4, 2)]),
        ("abAb", 3, [("a", 0, 2, 1), ("b", 1, 3, 2)]),
    ],
)
def test_a_task_counts_its_pending_sub_tasks_by_group_and_in_all(parts: str, pending: int, groups: list[Any]) -> None:
    counted = tasks.count_anew(replace(TASK, sub_tasks=9, pending=9, groups=(Group("z", 0, 9, 9),)), sub_tasks(*parts))
    assert (counted.sub_tasks, counted.pending) == (len(parts), pending)
    assert [astuple(group) for group in counted.groups] == groups


@pytest.mark.parametrize("seed", range(50))
def test_incremental_counts_equal_a_full_count_in_any_order(seed: int) -> None:
    """Sub-tasks and their replies over a series of handlings."""
    rng = random.Random(seed)
    counted, known = TASK, dict[int, SubTaskInfo]()
    for _ in range(12):
        had_ended = {number: info.has_ended for number, info in known.items()}
        added = {
            len(known) + n: SubTaskInfo("x", "part", "done", parallel_group_id=g) for n, g in enumerate(_some(rng))
        }
        came = rng.sample([*known], rng.randint(0, len(known)))
        known |= added
        for number in came:
            put_result(known[number], rng.choice([success_reply(1), failure_reply("no", "no")]))
        changed = {number: known[number] for number in (*came, *added)}
        counted = tasks.count(counted, had_ended, changed)
        whole = tasks.count_anew(TASK, known)
        assert replace(counted, groups=()) == replace(whole, groups=())
        assert set(counted.groups) == set(whole.groups)


def _some(rng: random.Random) -> list[str | None]:
    group = rng.choice([None, None, f"g-{rng.random()}"])
    return [group] * rng.randint(0, 4)


def test_a_repeated_result_counts_once() -> None:
    task = tasks.count_anew(TASK, sub_tasks(*"aaa"))
    part = sub_tasks("a")
    for had_ended in (False, True):
        put_result(part[0], success_reply(1))
        task = tasks.count(task, {0: had_ended}, part)
    assert (task.pending, task.groups) == (2, (Group("a", 0, 2, 2),))


@pytest.mark.parametrize(
    ("parts", "group", "expected"),
    [
        ("aA", "a", True),
        ("AA", "a", False),
        ("aa", "b", False),
        ("aa", None, False),
        ("aa-", None, True),
        ("a+", None, False),
        ("", None, False),
    ],
)
def test_a_group_is_pending_until_all_its_sub_tasks_end(parts: str, group: str | None, expected: bool) -> None:
    assert tasks.is_pending(tasks.count_anew(TASK, sub_tasks(*parts)), group) is expected


def test_a_pause_of_a_plan_prolongs_the_task_it_waits_for() -> None:
    awaited = expectation(deadline=END + HOUR)
    assert tasks.prolong(TASK, awaited).lineage.deadline == END + HOUR
    assert tasks.prolong(TASK, replace(awaited, deadline=None)).lineage.deadline is None
    for other in (None, replace(awaited, tenant_id="other"), expectation(deadline=NOW), expectation(status="met")):
        assert tasks.prolong(TASK, other) == TASK


def test_clients_and_makers_of_an_event_may_answer_a_question_with_it() -> None:
    known = [
        RegisteredEvent(agent, AgentKind.TOOL, EventRole(role), EventDefinition(event_name=name))
        for agent, role, name in (("bank", "makes", "paid"), ("shop", "takes", "paid"), ("post", "makes", "sent"))
    ]
    assert tasks.producers_of("paid", known) == ("client", "bank")


def test_progress_names_the_task_its_share_and_its_cause() -> None:
    report = tasks.progress_of(TASK, "e-9", "e-1", (0.5, "half"), NOW)
    assert (report.id, report.type, report.topic, report.causation_id) == ("e-9", PROGRESS, "system-events", "e-1")
    assert report.data == {"task_id": "t-1", "plan_id": "p-1", "progress": 0.5, "message": "half", "status": "running"}
