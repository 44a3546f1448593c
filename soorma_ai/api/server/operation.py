"""What can be asked over HTTP: a table of operations, from which both the routes and the OpenAPI document are made."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from soorma_ai.api.server.app_state import Surroundings
from soorma_ai.kernel.runtime.client.client import Client

LONGEST_ID = 200
MOST_ITEMS = 500
LONGEST_PATIENCE = 30.0

Id = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]
Limit = Annotated[int, Field(ge=1, le=MOST_ITEMS)]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_PATIENCE)]
Method = Literal["GET", "POST", "DELETE"]


class Form(BaseModel):
    """What a caller gives: fields that are unknown are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Nothing(Form):
    """No field at all."""


Asked = TypeVar("Asked", bound=Form)
Sent = TypeVar("Sent", bound=Form)
Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    """Some items of a list. `next` is what to give as `after` for those behind them; null where there are none."""

    model_config = ConfigDict(frozen=True)

    items: Sequence[Item]
    next: str | None = None


class Paged(Form):
    after: Id | None = None
    limit: Limit = 50


class Call(Struct, Generic[Asked, Sent], frozen=True):
    """One call: the client of who calls, what they `asked` in path and query and `sent` as the body, the key under
    which it counts once, and the place of the last event that a stream gave them."""

    client: Client
    asked: Asked
    sent: Sent
    surroundings: Surroundings
    key: str | None = None
    last_event_id: int | None = None


class Answer(Struct, frozen=True):
    value: object = None
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Stream(Struct, frozen=True):
    """An answer that goes on, as server-sent events."""

    chunks: AsyncIterator[bytes]


Handler = Callable[[Call[Asked, Sent]], Awaitable[Answer | Stream]]


class Operation(Struct, Generic[Asked, Sent], frozen=True):
    """One thing that can be asked. Fields of `asked` that stand in the path come from there, the others from the query.
    `answers` are the types of the bodies by status, None for no body. `problems` are told beside those that every
    operation may have."""

    method: Method
    path: str
    handle: Handler[Asked, Sent]
    asked: type[Asked]
    sent: type[Sent]
    answers: Mapping[HTTPStatus, object]
    problems: tuple[HTTPStatus, ...] = ()
    takes_key: bool = False
    streams: bool = False

    @property
    def name(self) -> str:
        return self.handle.__name__

    @property
    def words(self) -> str:
        """Text that describes it: the docstring of its handler."""
        return inspect.getdoc(self.handle) or ""

    @property
    def tag(self) -> str:
        """The subject that it belongs to: the module of its handler."""
        return self.handle.__module__.rpartition(".")[2]

    @property
    def template(self) -> str:
        """The path as OpenAPI writes it."""
        return self.path.replace(":path}", "}")

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(name for name in self.asked.model_fields if f"{{{name}}}" in self.template)


AnyOperation = Operation[Any, Any]

NOT_FOUND = HTTPStatus.NOT_FOUND
CONFLICT = HTTPStatus.CONFLICT


def get(
    path: str,
    handle: Handler[Asked, Nothing],
    asked: type[Asked],
    answer: object,
    *problems: HTTPStatus,
    also: Mapping[HTTPStatus, object] | None = None,
    streams: bool = False,
) -> Operation[Asked, Nothing]:
    answers = {HTTPStatus.OK: answer, **(also or {})}
    return Operation("GET", path, handle, asked, Nothing, answers, problems, streams=streams)


def post(
    path: str,
    handle: Handler[Asked, Sent],
    asked: type[Asked],
    sent: type[Sent],
    answers: Mapping[HTTPStatus, object],
    *problems: HTTPStatus,
    takes_key: bool = False,
) -> Operation[Asked, Sent]:
    return Operation("POST", path, handle, asked, sent, answers, problems, takes_key=takes_key)


def delete(
    path: str, handle: Handler[Asked, Nothing], asked: type[Asked], answer: object, *problems: HTTPStatus
) -> Operation[Asked, Nothing]:
    return Operation("DELETE", path, handle, asked, Nothing, {HTTPStatus.OK: answer}, problems)
