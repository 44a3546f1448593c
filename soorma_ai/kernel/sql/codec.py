"""Records as JSON text, moments as epoch seconds, rows by the names of their columns."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import JournalEntry, Step
from soorma_ai.kernel.domain.limits import Charge, Limits
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition, Registration
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.sql.connection import Reader, Rows

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class Codec(Generic[T]):
    """Codec of records. `columns` are the fields with a column of their own. A record is written without these, and
    without fields at their default: so a default is part of the format, and a new one needs a migration."""

    def __init__(self, kind: type[T], columns: str = "") -> None:
        self._kind = kind
        self._columns = frozenset(columns.split())

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._kind)

    def text(self, record: T, *left_out: str) -> str:
        """Return the record without the fields of columns. Raise PydanticSerializationError for a record impossible to
        read again."""
        if not self._columns:
            return self._adapter.dump_json(record, warnings="error").decode()
        without = {*self._columns, *left_out}
        return self._adapter.dump_json(record, exclude=without, exclude_defaults=True, warnings="error").decode()

    def record(self, text: str) -> T:
        """Return the record. Raise ConfigError for one unreadable by this version."""
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise _unreadable(self._kind.__name__, fault["msg"]) from error


PLAN = Codec(PlanRecord, "plan_id agent status root_plan_id goal_id version answer_key limits next_call")
STEP = Codec(Step, "plan_id ordinal fingerprint join_id fires event_id")
STEPS = Codec(list[Step])
EXPECTATION = Codec(
    Expectation, "id kind agent tenant_id user_id plan_id root_plan_id event_type event_topic task_id group_id"
)
ANSWER = Codec(Answer)
TASK = Codec(TaskRecord)
SUB_TASK = Codec(SubTaskInfo)
JOURNAL = Codec(JournalEntry, "key plan_id")
SHOWING = Codec(Showing)
CHARGE = Codec(Charge)
LIMITS = Codec(Limits)
REGISTRATION = Codec(Registration)


@lru_cache(maxsize=2048)
def registration(text: str) -> Registration:
    """Parsed once per content: it is read for every decision and holds many schemas."""
    return REGISTRATION.record(text)


@lru_cache(maxsize=2048)
def definition(text: str) -> EventDefinition:
    return EventDefinition.model_validate_json(text)


def add_row(db: Reader, table: str, conflict: str = "", /, **row: object) -> Rows:
    """Insert a row; `conflict` is the clause for an existing one."""
    places = ", ".join("?" * len(row))
    return db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places}) {conflict}", tuple(row.values()))


def add_rows(
    db: Reader, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]], conflict: str = ""
) -> Rows:
    """Insert rows with values of these columns; `conflict` is the clause for existing ones."""
    row = f"({', '.join('?' * len(columns))})"
    values = ", ".join([row] * len(rows))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {values} {conflict}"
    return db.execute(statement, [value for one in rows for value in one])


# A moment, in seconds, of what is not due before it is moved.
FAR_AWAY = 9e9


def behind(beginning: str) -> str:
    """Return the bound behind every text of this beginning."""
    return f"{beginning}{chr(0x10FFFF)}"


def epoch(moment: datetime) -> float:
    return moment.timestamp()


def moment(seconds: float) -> datetime:
    """Return the moment. Raise ConfigError for an invalid one."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise _unreadable("moment", error) from error


def member(kind: type[E], text: str) -> E:
    """Return the member of this name. Raise ConfigError where there is none."""
    try:
        return kind(text)
    except ValueError as error:
        raise _unreadable(kind.__name__, error) from error


def _unreadable(what: str, why: object) -> ConfigError:
    return ConfigError(f"a stored {what} cannot be read ({why}): restore the file from a backup")
