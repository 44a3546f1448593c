"""Records as JSON text, moments as epoch seconds, rows by the names of their columns."""

import sqlite3
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from soorma_ai.domain.expectations import Expectation
from soorma_ai.domain.history import JournalEntry, Step
from soorma_ai.domain.people import Answer
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.registry import EventDefinition, Registration
from soorma_ai.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.errors import LocalProtocolError

T = TypeVar("T")


class Codec(Generic[T]):
    def __init__(self, kind: type[T]) -> None:
        self._kind = kind

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._kind)

    def text(self, record: T) -> str:
        """Raise PydanticSerializationError for what could not be read again."""
        return self._adapter.dump_json(record, warnings="error").decode()

    def record(self, text: str) -> T:
        """Raise LocalProtocolError for what this version cannot read."""
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise LocalProtocolError(
                f"a stored {self._kind.__name__} cannot be read ({fault['msg']}): restore it from a backup"
            ) from error


PLAN = Codec(PlanRecord)
STEP = Codec(Step)
EXPECTATION = Codec(Expectation)
ANSWER = Codec(Answer)
TASK = Codec(TaskRecord)
SUB_TASK = Codec(SubTaskInfo)
JOURNAL = Codec(JournalEntry)
REGISTRATION = Codec(Registration)


@lru_cache(maxsize=2048)
def registration(text: str) -> Registration:
    """Parsed once per content: it is read for every decision and holds many schemas."""
    return REGISTRATION.record(text)


@lru_cache(maxsize=2048)
def definition(text: str) -> EventDefinition:
    return EventDefinition.model_validate_json(text)


def add_row(db: sqlite3.Connection, table: str, conflict: str = "", /, **row: object) -> sqlite3.Cursor:
    """Insert a row; `conflict` is the clause that says what is done where there is one already."""
    places = ", ".join("?" * len(row))
    return db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places}) {conflict}", tuple(row.values()))


def epoch(moment: datetime) -> float:
    return moment.timestamp()


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
