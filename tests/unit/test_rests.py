"""Rows without what their columns give: the whole record is read back, of every mix of equal and other values."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from typing import Any

import pytest

from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.sql.codec import EXPECTATION
from soorma_ai.kernel.sql.rests import event_columns, expectation_columns
from soorma_ai.kernel.sql.schema import statements_of

NOON = datetime(2026, 5, 4, 12, 0, 0, 1, UTC)
SCHEMA = "soorma:action-requests/stock.reserve/938f2fe2"
MOMENTS = [NOON, NOON.replace(microsecond=999_999), NOON.replace(microsecond=0), datetime(1969, 12, 31, tzinfo=UTC)]


def insert(table: str, row: dict[str, Any]) -> str:
    """Insert a row; return its body."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in statements_of(table):
            db.execute(statement)
        places = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", (*row.values(),))
        return str(db.execute(f"SELECT body FROM {table}").fetchone()[0])


def read_back(event: EventEnvelope) -> EventEnvelope:
    rest, time, same, cause_id, version = event_columns(event)
    columns = {"id": event.id, "tenant": event.tenant_id, "type": event.type, "topic": str(event.topic)}
    columns |= {"plan_id": event.plan_id, "root_plan_id": event.root_plan_id, "digest": b"", "rest": rest}
    given = {"time": time, "same": same, "cause_id": cause_id, "schema_version": version}
    return EventEnvelope.from_json(insert("event", {**columns, **given}))


def event(**given: Any) -> EventEnvelope:
    fields = {"id": "e-1", "source": "desk", "type": "stock.reserve", "topic": EventTopic.ACTION_REQUESTS, "time": NOON}
    return EventEnvelope.model_validate({**fields, "data": {"a": 'b"'}, **given})


IDS: list[dict[str, Any]] = [
    {"correlation_id": key, "causation_id": cause, "answers": answers, "goal_id": goal}
    for key, cause, answers, goal in product(
        (None, "e-1", "p-1", "c-1", "x"), (None, "c-1", "e-1"), (None, "c-1", "x"), (None, "c-1", "x")
    )
]
OTHERS: list[dict[str, Any]] = [
    *({"time": moment} for moment in MOMENTS),
    {"time": NOON.astimezone(timezone(timedelta(hours=2)))},
    {"response_event": "stock.reserve.completed", "response_topic": EventTopic.ACTION_RESULTS},
    {"response_event": "stock.reserve.completed", "response_topic": EventTopic.BUSINESS_FACTS},
    {"response_event": "stock.reserved", "response_topic": EventTopic.ACTION_RESULTS},
    *({"dataschema": uri} for uri in (SCHEMA, "soorma:action-requests/stock.reserve/", "soorma:x", f'{SCHEMA}é"')),
    {"plan_id": "p-1", "root_plan_id": "p-0", "origin": "p-0"},
    {"plan_id": "p-1", "root_plan_id": "p-0", "origin": "p-1"},
    {"origin": "p-0"},
    {"type": 'a "name" of ü', "dataschema": 'soorma:action-requests/a "name" of ü/1'},
]


@pytest.mark.parametrize("given", [*IDS, *OTHERS], ids=str)
def test_an_event_is_read_from_its_row_as_it_was_written(given: dict[str, Any]) -> None:
    written = event(**{"plan_id": "p-1", "root_plan_id": "p-1", **given})
    assert read_back(written) == written


def test_a_request_of_a_plan_repeats_no_value_of_its_columns() -> None:
    known = {"correlation_id": "e-1", "causation_id": "c-1", "plan_id": "p-1", "root_plan_id": "p-1", "origin": "p-1"}
    reply = {"response_event": "stock.reserve.completed", "response_topic": EventTopic.ACTION_RESULTS}
    rest, *_ = event_columns(event(**known, **reply, dataschema=SCHEMA))
    assert rest == '{"source":"desk","data":{"a":"b\\""}}'


@pytest.mark.parametrize("opened_at", MOMENTS, ids=str)
@pytest.mark.parametrize("subject", ["stock.reserve", "other"])
@pytest.mark.parametrize("dataschema", [None, SCHEMA, "soorma:x"])
def test_an_expectation_is_read_from_its_row_as_it_was_written(
    opened_at: datetime, subject: str, dataschema: str | None
) -> None:
    written = Expectation(
        "e-1", ExpectationKind.REPLY, "boss", "default", "p-1", "p-1", "stock.reserve.completed",
        EventTopic.ACTION_RESULTS, opened_at, NOON, subject, dataschema=dataschema, user_id="ann",
    )  # fmt: skip
    rest, seconds, same, version = expectation_columns(written)
    columns = {"id": "e-1", "kind": "reply", "agent": "boss", "tenant": "default", "plan_id": "p-1"}
    columns |= {"root_plan_id": "p-1", "event_type": written.event_type, "event_topic": "action-results"}
    given = {"opened_at": seconds, "status": "open", "user_id": "ann", "rest": rest, "same": same}
    body = insert("expectation", {**columns, **given, "schema_version": version})
    assert EXPECTATION.record(body) == written
