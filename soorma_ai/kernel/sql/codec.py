"""Records as JSON text, moments as epoch seconds, rows by the names of their columns."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast, get_args, get_type_hints

from msgspec import NODEFAULT, DecodeError, Struct, defstruct, field
from msgspec.json import Decoder, Encoder
from msgspec.structs import FieldInfo, fields, replace
from pydantic import BaseModel, TypeAdapter, ValidationError

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import JournalEntry, Step
from soorma_ai.kernel.domain.limits import Charge, Limits
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition, Registration
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.sql.connection import Connection, Reader, Rows

T = TypeVar("T")
R = TypeVar("R")
E = TypeVar("E", bound=StrEnum)


class Codec(Generic[T]):
    """Codec of records. `columns` are the fields with a column of their own. A record is written without these, and
    then without fields at their default: so a default is part of the format, and a new one needs a migration."""

    def __init__(self, kind: type[T], columns: str = "") -> None:
        self._kind = kind
        self._columns = frozenset(columns.split())
        self._without: dict[str, Codec[T]] = {}

    def without(self, fields: str) -> "Codec[T]":
        """Return the codec that leaves out these fields too, since other columns give them."""
        if not fields:
            return self
        if fields not in self._without:
            self._without[fields] = Codec(self._kind, " ".join((*self._columns, fields)))
        return self._without[fields]

    def text(self, record: T) -> str:
        """Return the record without the fields of columns. Raise ValueError for a record unequal to its text read
        again."""
        values = self._values_of(record)
        for place in self._nested:
            values = (*values[:place], _with_own_defaults(values[place]), *values[place + 1 :])
        try:
            spelled = _ENCODER.encode(self._row(*values))
            again = self._values_of(self._row_decoder.decode(spelled))
        except (TypeError, DecodeError, RecursionError) as error:
            raise ValueError(f"{self._kind.__name__}: {error}") from error
        if again != values:
            raise ValueError(f"this {self._kind.__name__} holds values beyond JSON")
        return spelled.decode()

    def record(self, text: str) -> T:
        """Return the record. Raise ConfigError for one unreadable by this version."""
        try:
            return self._decoder.decode(text)
        except (DecodeError, ValueError, RecursionError):
            return self._read_older(self._kind, text)

    def records(self, texts: str) -> list[T]:
        """Return the records of texts with commas between them."""
        text = f"[{texts}]"
        try:
            return self._list_decoder.decode(text)
        except (DecodeError, ValueError, RecursionError):
            return self._read_older(list[self._kind], text)

    def _read_older(self, kind: type[R], text: str) -> R:
        """Read by pydantic, the writer of files of older versions: its spans of time count years."""
        try:
            return _adapter_of(kind).validate_json(text)
        except ValidationError as error:
            raise _unreadable(self._kind.__name__, error.errors(include_url=False)[0]["msg"]) from error

    @cached_property
    def _decoder(self) -> Decoder[T]:
        return Decoder(self._kind, dec_hook=_read_model)

    @cached_property
    def _list_decoder(self) -> Decoder[list[T]]:
        return Decoder(list[self._kind], dec_hook=_read_model)

    @cached_property
    def _row_fields(self) -> list[tuple[str, Any, Any]]:
        return [one for one in _fields_of(self._kind) if one[0] not in self._columns]

    @cached_property
    def _nested(self) -> list[int]:
        """Places of records with a default that may have an equal beside it."""
        kinds = [(place, one) for place, (_, hint, _) in enumerate(self._row_fields) for one in (hint, *get_args(hint))]
        return [
            place for place, one in kinds if isinstance(one, type) and issubclass(one, Struct) and _defaults_of(one)
        ]

    @cached_property
    def _values_of(self) -> Callable[[object], tuple[object, ...]]:
        return attrgetter(*(name for name, _, _ in self._row_fields))

    @cached_property
    def _row(self) -> type[Struct]:
        """Type of a record without the fields of columns."""
        return defstruct(self._kind.__name__, self._row_fields, frozen=True, omit_defaults=bool(self._columns))

    @cached_property
    def _row_decoder(self) -> Decoder[Struct]:
        return Decoder(self._row, dec_hook=_read_model)


class PlanCodec(Codec[PlanRecord]):
    """Codec of plans. A lineage equal to the plan's own ids and deadline is written without them, under no plan id."""

    def text(self, record: PlanRecord) -> str:
        lineage = record.lineage
        told = lineage.plan_id, lineage.root_plan_id, lineage.goal_id, lineage.origin, lineage.deadline
        root = record.root_plan_id
        if told == (record.plan_id, root, record.goal_id, root, record.deadline):
            record = replace(record, lineage=_without_ids(lineage))
        return super().text(record)

    def record(self, text: str) -> PlanRecord:
        plan = super().record(text)
        if plan.lineage.plan_id != "":
            return plan
        ids = {"plan_id": plan.plan_id, "root_plan_id": plan.root_plan_id, "goal_id": plan.goal_id}
        lineage = replace(plan.lineage, **ids, origin=plan.root_plan_id, deadline=plan.deadline)
        return replace(plan, lineage=lineage)


@lru_cache(maxsize=256)
def _without_ids(lineage: Lineage) -> Lineage:
    return replace(lineage, plan_id="", root_plan_id=None, goal_id=None, origin=None, deadline=None)


@cache
def _adapter_of(kind: type[R]) -> TypeAdapter[R]:
    return TypeAdapter(kind)


def _fields_of(kind: type[object]) -> list[tuple[str, Any, Any]]:
    """Return name, type and default of each field."""
    if not issubclass(kind, Struct):
        return [(name, hint, getattr(kind, name, NODEFAULT)) for name, hint in get_type_hints(kind).items()]
    return [(one.name, one.type, _default_of(one)) for one in fields(kind)]


def _default_of(one: FieldInfo) -> Any:
    if one.default_factory is not NODEFAULT:
        return field(default_factory=cast("Callable[[], object]", one.default_factory))
    return one.default


def _with_own_defaults(value: object) -> object:
    """Return a record with the very objects of its defaults: msgspec leaves out nothing that is only equal to them."""
    if not isinstance(value, Struct):
        return value
    found = {name: default for name, default in _defaults_of(type(value)) if getattr(value, name) == default}
    return replace(value, **found) if found else value


@cache
def _defaults_of(kind: type[Struct]) -> tuple[tuple[str, object], ...]:
    """Return the fields with a default that may have an equal beside it."""
    plain = (str, int, float)
    return tuple((one.name, one.default) for one in fields(kind) if type(one.default) in plain and one.default)


def _write_model(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _read_model(kind: type, value: object) -> object:
    if issubclass(kind, BaseModel):
        return kind.model_validate(value)
    raise TypeError(f"{kind.__name__} is no type of a record's field")


_ENCODER = Encoder(enc_hook=_write_model)
_sort_and_encode, _decode = Encoder(order="sorted").encode, Decoder().decode


def spell(value: Json) -> bytes:
    """Return one text for equal values, and another one for others."""
    return _sort_and_encode(value)


def is_text_of(raw: str, value: Json) -> bool:
    """Tell whether `raw` is JSON text of this value, and nothing else."""
    try:
        return _sort_and_encode(_decode(raw)) == _sort_and_encode(value)
    except (DecodeError, ValueError, RecursionError):
        return False


PLAN = PlanCodec(PlanRecord, "plan_id agent status root_plan_id goal_id version answer_key limits next_call")
STEP = Codec(Step, "plan_id ordinal fingerprint join_id fires event_id")
EXPECTATION = Codec(
    Expectation, "id kind agent tenant_id user_id plan_id root_plan_id event_type event_topic task_id group_id"
)
ANSWER = Codec(Answer)
TASK = Codec(TaskRecord)
SUB_TASK = Codec(SubTaskInfo)
JOURNAL = Codec(JournalEntry, "key plan_id prompt_id prompt_version prompt_hash offer_digest raw")
SHOWING = Codec(Showing)
CHARGE = Codec(Charge)
LIMITS = Codec(Limits)


def registration_text(one: Registration) -> str:
    """Return a registration as text, by pydantic: it holds models."""
    return _adapter_of(Registration).dump_json(one, warnings="error").decode()


@lru_cache(maxsize=2048)
def registration(text: str) -> Registration:
    """Parsed once per content: it is read for every decision and holds many schemas."""
    try:
        return _adapter_of(Registration).validate_json(text)
    except ValidationError as error:
        raise _unreadable(Registration.__name__, error.errors(include_url=False)[0]["msg"]) from error


@lru_cache(maxsize=2048)
def definition(text: str) -> EventDefinition:
    return EventDefinition.model_validate_json(text)


def add_row(db: Reader, table: str, conflict: str = "", /, **row: object) -> Rows:
    """Insert a row; `conflict` is the clause for an existing one."""
    return db.execute(_insert(table, conflict, *row), (*row.values(),))


def write_row(
    db: Connection, table: str, conflict: str, check: Callable[[Rows], None] | None, /, **row: object
) -> None:
    """Insert a row as `Connection.write` does."""
    db.write(_insert(table, conflict, *row), (*row.values(),), check)


@lru_cache(maxsize=256)
def _insert(table: str, conflict: str, *columns: str) -> str:
    places = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places}) {conflict}"


def write_rows(
    db: Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    conflict: str,
    check: Callable[[Rows], None],
) -> None:
    """Insert rows with values of these columns as `Connection.write` does."""
    row = f"({', '.join('?' * len(columns))})"
    values = ", ".join([row] * len(rows))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {values} {conflict}"
    db.write(statement, [value for one in rows for value in one], check)


# A moment, in seconds, of what is not due before it is moved.
FAR_AWAY = 9e9


def behind(beginning: str) -> str:
    """Return the bound behind every text of this beginning."""
    return f"{beginning}{chr(0x10FFFF)}"


# The seconds of a moment.
epoch = datetime.timestamp


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
