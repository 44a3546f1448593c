"""Rows of calls: one for each method of a service. Routes, clients and checks of rights are made from them."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, TypedDict, TypeVar

from msgspec import Struct, field
from typing_extensions import Unpack

from soorma_ai.errors import SoormaError

AnyCall = TypeVar("AnyCall", bound=Callable[..., object])


class Act(StrEnum):
    """Kinds of calls. BEGIN: a thing of one's own. SEE, STEER: a thing of a person. MEET: agents, shared by the tenant.
    OVERSEE, MANAGE: the tenant as a whole. GRANT: rights of others."""

    BEGIN = "begin"
    SEE = "see"
    STEER = "steer"
    MEET = "meet"
    OVERSEE = "oversee"
    MANAGE = "manage"
    GRANT = "grant"


class Right(Struct, frozen=True):
    """A right to make a call, with the name of the call for refusals."""

    name: str
    act: Act


class RowOptions(TypedDict, total=False):
    """Options of a row.

    `key`: name of the answer in its JSON object, for an answer other than an object. `by`: place of an item, None for
    its number; the list comes in pages. `raises`: errors, or their statuses, beside NotFound for a path or a cursor.
    `missing`: text of NotFound for the answer None, with the parameters. `is_safe`: a client may send it again.
    `status`: the HTTP status of its answer. `answers`: types of the bodies by status, for a call with several. `form`:
    name of its body.
    """

    key: str
    by: Callable[[Any], str] | None
    raises: tuple[type[SoormaError] | int, ...]
    missing: str
    is_safe: bool
    status: int
    answers: Mapping[int, object]
    form: str


class CallRow(Right, frozen=True):
    """One call. `operation` is its id in OpenAPI, `path` is below /v1; both are empty for a call of this process."""

    call: Callable[..., Any]
    verb: str = ""
    path: str = ""
    operation: str = ""
    options: RowOptions = field(default_factory=RowOptions)


class CallTable:
    """Rows of one service, by the names of its methods."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._rows: dict[str, CallRow] = {}

    def __getitem__(self, name: str) -> CallRow:
        return self._rows[name]

    def __iter__(self) -> Iterator[CallRow]:
        return iter(self._rows.values())

    def __call__(
        self, place: str, act: Act | Right, operation: str, **options: Unpack[RowOptions]
    ) -> Callable[[AnyCall], AnyCall]:
        """Note a call over HTTP, by its verb and its path: `GET /waits/{wait_id}`."""
        return partial(self._note, act, *place.split(" "), operation, options)

    def local(self, act: Act | Right) -> Callable[[AnyCall], AnyCall]:
        """Note the right of an in-process call."""
        return partial(self._note, act, "", "", "", RowOptions())

    def _note(
        self, act: Act | Right, verb: str, path: str, operation: str, options: RowOptions, call: AnyCall
    ) -> AnyCall:
        name = call.__name__
        right = act if isinstance(act, Right) else Right(self._prefix + name, act)
        self._rows[name] = CallRow(right.name, right.act, call, verb, path, operation, options)
        return call
