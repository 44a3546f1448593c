"""What can be asked over HTTP: a table of operations, from which both the routes and the OpenAPI document are made."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Struct
from pydantic import Field

from soorma_ai.api.operation import Answer as Answer
from soorma_ai.api.operation import Form as Form
from soorma_ai.api.operation import Nothing as Nothing
from soorma_ai.api.operation import Operation as Operation
from soorma_ai.api.operation import Paged as Paged
from soorma_ai.api.operation import Stream as Stream
from soorma_ai.api.paging import Page as Page
from soorma_ai.api.server.app_state import Surroundings
from soorma_ai.kernel.domain.parameters import LONGEST_ID as LONGEST_ID
from soorma_ai.kernel.domain.parameters import Id as Id
from soorma_ai.kernel.domain.parameters import Limit as Limit
from soorma_ai.kernel.domain.parameters import Name as Name
from soorma_ai.kernel.runtime.client.client import Client

Seconds = Annotated[float, Field(ge=0, le=30.0)]
Method = Literal["GET", "POST", "DELETE"]


Asked = TypeVar("Asked", bound=Form)
Sent = TypeVar("Sent", bound=Form)


class Call(Struct, Generic[Asked, Sent], frozen=True):
    """One call: the client of who calls, what they `asked` in path and query and `sent` as the body, the key under
    which it counts once, and the place of the last event that a stream gave them."""

    client: Client
    asked: Asked
    sent: Sent
    surroundings: Surroundings
    key: str | None = None
    last_event_id: int | None = None


Handler = Callable[[Call[Asked, Sent]], Awaitable[Answer | Stream]]


class HandOperation(Struct, Generic[Asked, Sent], frozen=True):
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


AnyOperation = HandOperation[Any, Any] | Operation

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
) -> HandOperation[Asked, Nothing]:
    answers = {HTTPStatus.OK: answer, **(also or {})}
    return HandOperation("GET", path, handle, asked, Nothing, answers, problems, streams=streams)


def post(
    path: str,
    handle: Handler[Asked, Sent],
    asked: type[Asked],
    sent: type[Sent],
    answers: Mapping[HTTPStatus, object],
    *problems: HTTPStatus,
    takes_key: bool = False,
) -> HandOperation[Asked, Sent]:
    return HandOperation("POST", path, handle, asked, sent, answers, problems, takes_key=takes_key)


def delete(
    path: str, handle: Handler[Asked, Nothing], asked: type[Asked], answer: object, *problems: HTTPStatus
) -> HandOperation[Asked, Nothing]:
    return HandOperation("DELETE", path, handle, asked, Nothing, {HTTPStatus.OK: answer}, problems)
