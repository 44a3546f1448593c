"""Codecs of records: text for this version and for earlier ones."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from msgspec.structs import asdict, replace
from pydantic import TypeAdapter

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.history import Sent, Step, StepKind
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.people import AnswerDecision, Ask, Proposal
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.sql import codec
from soorma_ai.kernel.sql.codec import Codec

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
STEP = Step("plan-1", 0, StepKind.GOAL, NOON, name="order.received")
EVENT = EventEnvelope(
    id="e-1", source="shop", type="order.charge", topic=EventTopic.ACTION_REQUESTS, time=NOON, data={"sum": 1.5}
)
ASK = Ask(
    "amount",
    "Pay?",
    {"type": "object"},
    (AnswerDecision.APPROVE, AnswerDecision.REJECT),
    proposal=Proposal("order.charge", {"sum": 1e-7}, "d", {}, request=EVENT),
    reminders=(timedelta(days=400), timedelta(milliseconds=1)),
)
QUESTION = Expectation(
    "w-1",
    ExpectationKind.GATE,
    "shop",
    "default",
    None,
    None,
    "approved",
    EventTopic.ACTION_RESULTS,
    NOON,
    NOON + timedelta(days=1, microseconds=5),
    "order.charge",
    keys=("w-1",),
    ask=ASK,
)
TASK = TaskRecord(
    "t-1",
    "clerk",
    "sum.wanted",
    {"é": [None, 2**70]},
    Lineage(session_id="s"),
    "k",
    "done",
    EventTopic.TASK_EVENTS,
    NOON,
    {"left": 1},
)
WHOLE: list[tuple[Codec[Any], Any]] = [
    (Codec(Step), STEP),
    (Codec(Expectation), QUESTION),
    (codec.TASK, TASK),
    (codec.SUB_TASK, SubTaskInfo("s-1", "part", "part.done", result={"success": True})),
    (codec.LIMITS, Limits(deadline=timedelta(days=400, microseconds=1), max_cost_usd=0.1)),
    (Codec(Sent), Sent("d", "f", own={"a": 1})),
]
NAMES = [type(record).__name__ for _, record in WHOLE]


@pytest.mark.parametrize(("codec", "record"), WHOLE, ids=NAMES)
def test_the_text_of_a_record_is_read_as_the_record(codec: Codec[Any], record: Any) -> None:
    assert codec.record(codec.text(record)) == record
    assert codec.records(f"{codec.text(record)},{codec.text(record)}") == [record, record]


@pytest.mark.parametrize(("codec", "record"), WHOLE, ids=NAMES)
def test_older_versions_read_new_text_and_this_version_reads_older_text(codec: Codec[Any], record: Any) -> None:
    older: TypeAdapter[Any] = TypeAdapter(cast(Any, type(record)))
    assert older.validate_json(codec.text(record)) == record
    assert codec.record(older.dump_json(record).decode()) == record


@pytest.mark.parametrize(("codec", "record"), WHOLE, ids=NAMES)
def test_a_record_read_from_text_is_written_unchanged(codec: Codec[Any], record: Any) -> None:
    assert codec.text(codec.record(codec.text(record))) == codec.text(record)


def test_a_name_equal_to_its_default_is_left_out_of_the_text() -> None:
    named = replace(TASK.lineage, tenant_id="".join(["def", "ault"]), user_id="".join(["lo", "cal"]))
    assert codec.TASK.text(replace(TASK, lineage=named)) == codec.TASK.text(TASK)


def test_durations_in_years_are_read_from_older_text() -> None:
    assert codec.LIMITS.record('{"deadline":"P1Y35DT1.5S"}').deadline == timedelta(days=400, seconds=1.5)


def test_column_fields_and_defaults_are_left_out_of_the_text() -> None:
    assert codec.STEP.text(STEP) == '{"kind":"goal","at":"2026-05-04T12:00:00Z","name":"order.received"}'
    long = replace(STEP, data={"a": 1})
    assert codec.STEP.text(long).endswith(',"data":{"a":1}}')
    assert codec.STEP.without("data").text(long) == codec.STEP.text(STEP)
    assert '"lineage":{"session_id":"s"}' in codec.TASK.text(TASK)


def test_the_lineage_of_a_plan_repeats_no_id_of_the_plan_and_is_read_whole() -> None:
    lineage = Lineage("default", "ann", None, "g-1", "p-1", "p-0", NOON, origin="p-0", hops_left=9)
    plan = PlanRecord(
        plan_id="p-1", goal_id="g-1", status=PlanStatus.RUNNING, goal_event="order.received", goal_data={},
        agent="boss", created_at=NOON, updated_at=NOON, root_plan_id="p-0", limits=Limits(), agent_version="1",
        lineage=lineage, deadline=NOON,
    )  # fmt: skip
    whole: dict[str, Any] = json.loads(Codec(PlanRecord).text(plan))
    for written in (plan, replace(plan, lineage=replace(lineage, origin="p-1")), replace(plan, deadline=None)):
        rest = json.loads(codec.PLAN.text(written))
        assert codec.PLAN.record(json.dumps({**whole, "deadline": None, **rest})) == written
    assert json.loads(codec.PLAN.text(plan))["lineage"] == {"user_id": "ann", "plan_id": "", "hops_left": 9}


def test_a_record_without_columns_writes_its_defaults_since_they_may_change() -> None:
    limits = Limits()
    assert TypeAdapter(dict[str, Any]).validate_json(codec.LIMITS.text(limits)).keys() == asdict(limits).keys()


@pytest.mark.parametrize(
    "changes",
    [
        {"data": float("nan")},
        {"data": {"at": NOON}},
        {"data": [(1, 2)]},
        {"data": {1: 2}},
        {"data": {"a": {1}}},
        {"data": object()},
        {"data": "\ud800"},
        {"data": 10**5000},
        {"name": 5},
        {"name": None},
        {"place": 1.5},
        {"at": "2026-05-04"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_record_that_would_read_back_differently_is_not_written(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Step|surrogates|digits"):
        codec.STEP.text(replace(STEP, **changes))


@pytest.mark.parametrize(
    ("raw", "value", "is_text"),
    [
        (' {"b": 1.0, "a": "\\u00e9"}\n', {"a": "é", "b": 1.0}, True),
        ("1.0", 1, False),
        ("true", 1, False),
        ('{"a": 1} and more', {"a": 1}, False),
        ("```json\n1\n```", 1, False),
        ("NaN", None, False),
        ('"\\ud800"', "\ud800", False),
        ("\ud800", None, False),
        ("[" * 5_000 + "]" * 5_000, [], False),
    ],
)
def test_a_raw_answer_stands_for_its_value_only_if_it_is_that_value_alone(raw: str, value: Any, is_text: bool) -> None:
    assert codec.is_text_of(raw, value) is is_text


@pytest.mark.parametrize("part", ['"data":"\\ud800"', f'"place":1{"0" * 5000}', '"kind":"nope"', '"name":null', "}"])
def test_unreadable_text_is_a_config_error(part: str) -> None:
    text = '{"plan_id":"p","ordinal":0,"kind":"goal","at":"2026-05-04T12:00:00Z",' + part + "}"
    for read in (codec.STEP.record, codec.STEP.records):
        with pytest.raises(ConfigError, match="a stored Step cannot be read"):
            read(text)
