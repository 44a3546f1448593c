"""Rests of rows: records as JSON without the values that other columns give already. The flags in `same` name the
values left out; `bodies` makes the whole record of both."""

from datetime import datetime, timedelta
from typing import Any

from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, completion_of
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import JournalEntry, Step, Verdict
from soorma_ai.kernel.domain.registry import version_in
from soorma_ai.kernel.sql import bodies as same
from soorma_ai.kernel.sql.codec import ANSWER, EXPECTATION, JOURNAL, epoch, is_text_of

# Fields of an event with a column of their own.
_OF_EVENT = frozenset({"id", "type", "topic", "tenant_id", "plan_id", "root_plan_id", "causation_id"})
_LEFT_OUT = {
    same.TIME: {"time"},
    same.KEY_OF_ID: {"correlation_id"},
    same.KEY_OF_PLAN: {"correlation_id"},
    same.KEY_OF_CAUSE: {"correlation_id"},
    same.ANSWERS_CAUSE: {"answers"},
    same.ORIGIN_OF_ROOT: {"origin"},
    same.GOAL_OF_CAUSE: {"goal_id"},
    same.COMPLETION: {"response_event", "response_topic"},
}
_SCHEMA = 1 << len(_LEFT_OUT)
_EXCLUDED = [
    {*_OF_EVENT}.union(
        *(fields for flag, fields in _LEFT_OUT.items() if flag & flags), {"dataschema"} if flags & _SCHEMA else ()
    )
    for flags in range(2 * _SCHEMA)
]
# Seconds of a column that give the very moment again, to the microsecond.
_LATEST = 9e9
_NO_OFFSET = timedelta(0)


def text_of(event: EventEnvelope) -> str:
    """Return an event's text, without defaults."""
    return event.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True)


def event_columns(event: EventEnvelope) -> tuple[str, float, int, str | None, str | None]:
    """Return `rest`, `time`, `same`, `cause_id` and `schema_version` of an event."""
    cause, seconds, version = event.causation_id, epoch(event.time), None
    flags = same.TIME if _is_exact(event.time, seconds) else 0
    key = event.correlation_id
    if key is not None:
        if key == event.id:
            flags |= same.KEY_OF_ID
        elif key == event.plan_id:
            flags |= same.KEY_OF_PLAN
        elif key == cause:
            flags |= same.KEY_OF_CAUSE
    if cause is not None:
        flags |= same.ANSWERS_CAUSE if event.answers == cause else 0
        flags |= same.GOAL_OF_CAUSE if event.goal_id == cause else 0
    if event.origin is not None and event.origin == event.root_plan_id:
        flags |= same.ORIGIN_OF_ROOT
    if event.response_topic is EventTopic.ACTION_RESULTS and event.response_event == completion_of(event.type):
        flags |= same.COMPLETION
    if event.dataschema is not None:
        version = version_in(event.dataschema, event.topic, event.type)
    left_out = _EXCLUDED[flags if version is None else flags | _SCHEMA]
    rest = event.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True, exclude=left_out)
    return rest, seconds, flags, cause, version


def expectation_columns(expectation: Expectation) -> tuple[str, float, int, str | None]:
    """Return `rest`, `opened_at`, `same` and `schema_version` of an expectation."""
    seconds, version, left_out, flags = epoch(expectation.opened_at), None, "", 0
    if _is_exact(expectation.opened_at, seconds):
        flags, left_out = same.OPENED_AT, "opened_at"
    if expectation.event_type == completion_of(expectation.subject):
        flags, left_out = flags | same.SUBJECT, f"{left_out} subject"
        if expectation.dataschema is not None:
            version = version_in(expectation.dataschema, EventTopic.ACTION_REQUESTS, expectation.subject)
    if version is not None:
        left_out = f"{left_out} dataschema"
    return EXPECTATION.without(left_out).text(expectation), seconds, flags, version


def expectation_row(expectation: Expectation) -> dict[str, Any]:
    """Return the columns of an expectation with their values."""
    rest, opened_at, same, version = expectation_columns(expectation)
    return {
        "id": expectation.id,
        "kind": str(expectation.kind),
        "agent": expectation.agent,
        "tenant": expectation.tenant_id,
        "plan_id": expectation.plan_id,
        "event_type": expectation.event_type,
        "event_topic": str(expectation.event_topic),
        "opened_at": opened_at,
        "status": str(expectation.status),
        "closed_at": epoch(expectation.closed_at) if expectation.closed_at else None,
        "met_by": expectation.met_by,
        "answer": ANSWER.text(expectation.answer) if expectation.answer else None,
        "rest": rest,
        "task_id": expectation.task_id,
        "group_id": expectation.group_id,
        "root_plan_id": expectation.root_plan_id,
        "user_id": expectation.user_id,
        "same": same,
        "schema_version": version,
    }


def step_flags(step: Step) -> tuple[int, str]:
    """Return `same` of a step, and the fields left out."""
    if step.event_id is not None and step.expectation_id == step.event_id:
        return same.EXPECTATION_OF_EVENT, "expectation_id"
    return 0, ""


def journal_columns(entry: JournalEntry) -> tuple[str, int, int]:
    """Return `rest`, `is_raw` and `same` of an answer."""
    is_raw = is_text_of(entry.raw, entry.value)
    flags, left_out = 0, "value" if is_raw else ""
    if entry.root_plan_id == entry.plan_id:
        flags, left_out = same.ROOT_OF_PLAN, f"{left_out} root_plan_id"
    if entry.verdict is Verdict.ACCEPTED and not (entry.fault or entry.refusal):
        flags, left_out = flags | same.ACCEPTED, f"{left_out} fault verdict refusal"
    return JOURNAL.without(left_out).text(entry), int(is_raw), flags


def _is_exact(moment: datetime, seconds: float) -> bool:
    return moment.utcoffset() == _NO_OFFSET and 0 <= seconds < _LATEST
