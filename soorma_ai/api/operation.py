"""Operations over HTTP, made from the rows of calls: the forms of parameters, the types of answers, the call."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache, partial
from http import HTTPStatus
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, TypeGuard, Union, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, field
from msgspec.structs import fields as fields_of
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from typing_extensions import TypedDict

from soorma_ai.api.paging import Page, cut, make_page, page_of
from soorma_ai.errors import NotFound, SoormaError
from soorma_ai.kernel.domain.calls import CallRow
from soorma_ai.kernel.domain.parameters import Fields, Id, Limit, WireForm
from soorma_ai.kernel.domain.values import Json, JsonObject

ROOT = "/v1"
KEY, PLACE = "idempotency_key", "last_event_id"
PAGE_SIZE = 50


class Form(BaseModel):
    """Fields of a call. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Nothing(Form):
    """No field at all."""


class Paged(Form):
    after: Id | None = None
    limit: Limit = PAGE_SIZE


class Answer(Struct, frozen=True):
    value: object = None
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Stream(Struct, frozen=True):
    """An answer without end, as server-sent events."""

    chunks: AsyncIterator[bytes]


class Parameter(Struct, frozen=True):
    """A parameter of a call, and its field over HTTP. A default that its type refuses is left out there."""

    name: str
    kind: Any
    default: object
    wire: WireForm

    @property
    def field(self) -> str:
        return self.wire.name or self.name

    def definition(self) -> tuple[Any, Any]:
        """Return the field for `create_model`."""
        if self.default is inspect.Parameter.empty:
            return self.kind, None if NoneType in get_args(self.kind) else ...
        if self.default is None and self.kind == JsonObject | None:
            return JsonObject, Field(default_factory=dict)
        if self.default == ():
            return self.kind, Field(default_factory=list)
        if self.default == "" and not _takes(self.kind, ""):
            return self.kind | None, None
        return self.kind, self.default

    def value_of(self, found: object) -> object:
        """Return the argument for a value of the field."""
        if found is None and self.default is not inspect.Parameter.empty:
            return self.default
        return found * self.wire.unit if self.wire.unit and isinstance(found, int | float) else found


class Operation(Struct, frozen=True):
    """One route.

    `records` are the parameters with several fields of the form. `asked` has the fields of path and query, `sent` those
    of the body; `answers` are the types of the bodies by status, None for no body. `raises` are errors beside those of
    every operation. `part` returns the service of a request, None for a handler of its own; `pages` returns a page of
    a list with a cursor of its own."""

    row: CallRow
    tag: str
    part: Callable[[Any], object] | None
    parameters: tuple[Parameter, ...]
    asked: type[Form]
    sent: type[Form]
    answers: Mapping[HTTPStatus, object]
    raises: tuple[type[SoormaError] | int, ...]
    pages: Callable[..., Awaitable[Page[Any]]] | None = None
    records: Mapping[str, type[Fields]] = field(default_factory=dict[str, type[Fields]])

    @property
    def method(self) -> str:
        return self.row.verb

    @property
    def path(self) -> str:
        return ROOT + self.row.path

    @property
    def name(self) -> str:
        return self.row.operation

    @property
    def words(self) -> str:
        """Text of the document: the docstring of the call."""
        return inspect.getdoc(self.row.call) or ""

    @property
    def template(self) -> str:
        """The path as OpenAPI writes it."""
        return self.path.replace(":path}", "}")

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(name for name in self.asked.model_fields if f"{{{name}}}" in self.template)

    @property
    def takes_key(self) -> bool:
        return any(one.name == KEY for one in self.parameters)

    @property
    def streams(self) -> bool:
        return any(one.name == PLACE for one in self.parameters)

    async def handle(self, request: Any) -> Answer | Stream:
        """Make the call. Raise NotFound for an answer None where the call may have one."""
        fields: dict[str, Any] = {
            **dict(request.asked),
            **dict(request.sent),
            KEY: request.key,
            PLACE: request.last_event_id,
        }
        given = {one.name: one.value_of(fields[one.field]) for one in self.parameters if one.field in fields}
        given |= {
            name: kind(**{one: given.pop(one) for one in kind.__struct_fields__}) for name, kind in self.records.items()
        }
        if "by" in self.row.options:
            return Answer(await self._page(request, given, fields["after"], fields["limit"]))
        found = await self._bound(request)(**given)
        return found if isinstance(found, Answer | Stream) else self._answer(found, given)

    def _bound(self, request: Any) -> Callable[..., Any]:
        """Return the method of the request's service, or the handler for it."""
        name = self.row.call.__name__
        return partial(self.row.call, request) if self.part is None else getattr(self.part(request), name)

    async def _page(self, request: Any, given: dict[str, object], after: str | None, limit: int) -> Page[Any]:
        call, by = self._bound(request), self.row.options.get("by")
        if self.pages:
            return await self.pages(request, after=after, **{**given, "limit": limit})
        if by is None:
            numbered: list[tuple[int, object]] = [*enumerate(await call(**given))]
            found = cut(numbered, lambda one: str(one[0]), after, limit)
            return make_page([one for _, one in found.items], found.next)
        if not any(one.name == "limit" for one in self.parameters):
            return cut(await call(**given), by, after, limit)
        return await page_of(lambda most: call(**{**given, "limit": most}), by, after, limit)

    def _answer(self, found: object, given: Mapping[str, object]) -> Answer:
        [(status, kind)] = self.answers.items()
        if kind is None:
            return Answer(None, status)
        if key := self.row.options.get("key"):
            is_done = key in cast("Any", kind).__optional_keys__
            return Answer({key: True if is_done else found}, status)
        if found is None:
            raise NotFound(self.row.options.get("missing", "there is none").format(**given))
        if isinstance(found, list):
            found = make_page(cast("list[object]", found), None)
        return Answer(found, status)


def operations(
    rows: Iterable[CallRow],
    tag: str,
    part: Callable[[Any], object] | None = None,
    **pages: Callable[..., Awaitable[Page[Any]]],
) -> tuple[Operation, ...]:
    """Return the routes of a service's calls, or of handlers, which take the request itself. `pages` are by the names
    of the calls."""
    return tuple(operation_of(row, tag, part, pages.get(row.call.__name__)) for row in rows if row.verb)


def operation_of(
    row: CallRow,
    tag: str,
    part: Callable[[Any], object] | None,
    pages: Callable[..., Awaitable[Page[Any]]] | None = None,
) -> Operation:
    hints = get_type_hints(row.call, include_extras=True)
    _, *given = inspect.signature(row.call).parameters.values()
    records = {one.name: kind for one in given if _is_record(kind := hints[one.name])}
    parameters = tuple(made for one in given for made in _parameters(one, hints[one.name]))
    by, raises = "by" in row.options, row.options.get("raises", ())
    fields = {one.field: one for one in parameters if one.name not in (KEY, PLACE) and not (by and one.name == "limit")}
    in_query = {name for name, one in fields.items() if _is_in_query(row, name, one.wire)}
    asked = {name: one.definition() for name, one in fields.items() if name in in_query}
    sent = {name: one.definition() for name, one in fields.items() if name not in in_query}
    name = "".join(map(str.title, row.operation.split("_")))
    if "{" in row.path or by:
        raises = (NotFound, *raises)
    return Operation(
        row,
        tag,
        part,
        parameters,
        _form(f"{name}Query", asked, Paged if by else Form),
        _form(row.options.get("form", f"{name}Body"), sent, Form),
        _answers(row, hints["return"]),
        raises,
        pages,
        records,
    )


def _is_record(kind: object) -> TypeGuard[type[Fields]]:
    return isinstance(kind, type) and issubclass(kind, Fields)


def _parameters(given: inspect.Parameter, kind: Any) -> Iterator[Parameter]:
    if not _is_record(kind):
        yield _parameter(given.name, kind, given.default)
        return
    hints = get_type_hints(kind, include_extras=True)
    for one in fields_of(kind):
        default = inspect.Parameter.empty if one.default is NODEFAULT else one.default
        yield _parameter(one.name, hints[one.name], default)


def _parameter(name: str, kind: Any, default: object) -> Parameter:
    return Parameter(name, wire_type(kind), default, _wire_of(kind) or WireForm())


def _is_in_query(row: CallRow, name: str, wire: WireForm) -> bool:
    return row.verb != "POST" or wire.in_query or f"{{{name}" in row.path


def _form(name: str, fields: Mapping[str, Any], base: type[Form]) -> type[Form]:
    if not fields:
        return Nothing if base is Form else base
    return create_model(name, __base__=base, **dict(fields))


def _answers(row: CallRow, kind: Any) -> Mapping[HTTPStatus, object]:
    """Return the type of the answer by its status."""
    options = row.options
    if "answers" in options:
        return {HTTPStatus(status): one for status, one in options["answers"].items()}
    if kind is NoneType and "key" not in options:
        return {HTTPStatus.NO_CONTENT: None}
    status = HTTPStatus(options.get("status", HTTPStatus.OK))
    if "key" in options:
        return {status: _answer_type(options["key"], _DONE if kind is NoneType else wire_type(kind))}
    kind = _without_none(kind)
    return {status: cast("Any", Page)[get_args(kind)[0]] if get_origin(kind) is list else kind}


@cache
def _answer_type(key: str, kind: Any) -> Any:
    """Return the type of an answer that stands under a name."""
    return cast("Any", TypedDict)("".join(map(str.title, key.split("_"))) + "Answer", {key: kind})


def wire_type(kind: Any) -> Any:
    """Return the type of a parameter as it is sent: spans as numbers, moments with a zone, collections as lists."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        wire = _wire_of(kind)
        base = wire.kind if wire and wire.kind is not None else wire_type(parts[0])
        marks = tuple(one for one in parts[1:] if not isinstance(one, WireForm))
        return Annotated[(base, *marks)] if marks else base
    if origin in (Union, UnionType):
        return cast("Any", Union)[tuple(map(wire_type, parts))]
    if isinstance(origin, type) and issubclass(origin, Mapping) and origin is not dict:
        return JsonObject
    if isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, dict):
        return list[wire_type(parts[0])]
    return _SENT.get(kind, kind)


# Of a call without an answer: always true.
_DONE = NotRequired[Annotated[bool, Field(json_schema_extra={"default": True})]]
_SENT: Mapping[Any, Any] = {
    Any: Json,
    BaseModel: JsonObject,
    datetime: Annotated[AwareDatetime, Field(strict=False)],
    timedelta: float,
}


def _wire_of(kind: Any) -> WireForm | None:
    parts = get_args(kind)
    if get_origin(kind) is Annotated:
        return next((one for one in parts if isinstance(one, WireForm)), None)
    if get_origin(kind) in (Union, UnionType):
        return next(filter(None, map(_wire_of, parts)), None)
    return None


def _without_none(kind: Any) -> Any:
    parts = [one for one in get_args(kind) if one is not NoneType]
    return parts[0] if get_origin(kind) in (Union, UnionType) and len(parts) == 1 else kind


def _takes(kind: Any, value: object) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True
