"""The ASGI application: each call is let in, parsed, handed to its operation, and answered."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from http import HTTPStatus
from typing import Any, Protocol, TypedDict, Unpack, get_type_hints
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from soorma_ai.agents.mounts import Door, Inlet, Post, Visit
from soorma_ai.api.operation import Form, Nothing, Operation, Stream
from soorma_ai.api.server.app_state import AppState, Call
from soorma_ai.api.server.auth import AccessControl, host_names, name_of
from soorma_ai.api.server.health import HealthRoutes
from soorma_ai.api.server.mounts import MountCall
from soorma_ai.api.server.openapi import document
from soorma_ai.api.server.options import check_options, check_origins
from soorma_ai.api.server.problems import Problem, problem, problem_of, report_error, response_of, unfit
from soorma_ai.api.server.rates import (
    MOST_CALLS_OF_TENANT,
    MOST_STREAMS,
    MOST_STREAMS_EACH,
    MOST_STREAMS_OF_TENANT,
    Buckets,
    CallsInHand,
    OpenStreams,
    Rate,
)
from soorma_ai.api.server.streams import EventStream
from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.values import Same, clip, identity_of
from soorma_ai.kernel.ports import Authenticator
from soorma_ai.kernel.runtime.client.client import Client

MOST_BYTES = 2**20
BODY_SECONDS = 30.0
MOST_FIELDS = 50
LONGEST_KEY = 200
LONGEST_PLACE = 18
_JSON = {"content-type": "application/json"}


class PageApp(Protocol):
    """Pages for people, at paths beside the API's."""

    def routes(self, desk: "Dispatcher") -> Sequence[BaseRoute]: ...


class Options(TypedDict, total=False):
    """Options of `server.app`."""

    hosts: Collection[str]
    """Names of this server, for the check of the Host header."""
    origins: Collection[str]
    """Sites with the right to change something here from their pages, as https://shop.example."""
    roles: Collection[str]
    """Roles of `local`, beside operator, without `auth`."""
    rate: Rate | None
    """Calls of one token in a time; None for any number."""
    most_bytes: int
    """Largest body of a call."""
    most_streams: int
    """Open streams at once."""
    most_streams_each: int
    """Open streams of one key, or of one user without a key."""
    most_streams_of_tenant: int
    """Open streams of one tenant."""
    most_calls_of_tenant: int
    """Calls of one tenant in hand, waiting ones included."""
    inlets: Collection[Inlet]
    """Paths for posts without a token, such as webhooks."""
    doors: Collection[Door]
    """Further protocols at this server."""
    site: PageApp
    """Pages, such as the console."""


def app(
    platform: Client,
    operations: tuple[Operation, ...],
    *,
    auth: Authenticator | None = None,
    **options: Unpack[Options],
) -> Starlette:
    """Return the platform as an ASGI application with these operations. Raise ConfigError for an invalid option."""
    check_options("server.app", options, get_type_hints(Options), named=("auth",))
    check_origins(options.get("origins", ()))
    rate = options.get("rate", Rate())
    entrance = AccessControl(
        auth=auth,
        hosts=host_names(options.get("hosts"), is_open=auth is None),
        origins=frozenset(options.get("origins", ())),
        local_roles=frozenset({"operator", *options.get("roles", ())}),
        buckets=Buckets(rate) if rate is not None else None,
    )
    surroundings = AppState(platform)
    streams = OpenStreams(
        options.get("most_streams", MOST_STREAMS),
        options.get("most_streams_each", MOST_STREAMS_EACH),
        options.get("most_streams_of_tenant", MOST_STREAMS_OF_TENANT),
    )
    most_calls = options.get("most_calls_of_tenant", MOST_CALLS_OF_TENANT)
    desk = Dispatcher(entrance, surroundings, streams, options.get("most_bytes", MOST_BYTES), most_calls)
    site = options.get("site")
    pages = site.routes(desk) if site is not None else ()
    return assemble(desk, operations, options.get("inlets", ()), options.get("doors", ()), pages)


def assemble(
    desk: "Dispatcher",
    operations: tuple[Operation, ...],
    inlets: Collection[Inlet] = (),
    doors: Collection[Door] = (),
    pages: Iterable[BaseRoute] = (),
) -> Starlette:
    """Return the application of a desk for these operations; for equal paths, pages come last."""
    surroundings = desk.surroundings
    by_path: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        by_path[operation.path][operation.method] = operation
    routes = [Route(path, Resource(desk, methods)) for path, methods in by_path.items()]
    routes += [*desk.watching.routes(), Route("/v1/openapi.json", partial(_show_document, operations))]
    # By another method, a page may be at the same path.
    routes += [Route(inlet.path, InletRoute(desk, inlet), methods=["POST"]) for inlet in inlets]
    for door in doors:
        routes += [Route(path, MountRoute(desk, door)) for path in door.paths]
        routes += [Route(path, MountRoute(desk, door, is_public=True)) for path in door.public_paths]
    made = Starlette(routes=[*routes, *pages], exception_handlers={HTTPException: _refuse})
    made.router.redirect_slashes = False
    made.state.surroundings = surroundings
    return made


def stop(served: Starlette) -> None:
    """End the streams of an application, and answer its waiting calls, so its server can end."""
    surroundings: AppState = served.state.surroundings
    surroundings.end()


class CallRefused(Exception):
    """A call that goes no further."""

    def __init__(self, told: Problem) -> None:
        super().__init__(told.detail)
        self.problem = told


class Dispatcher:
    """Takes calls from the entrance to their operations."""

    def __init__(
        self,
        entrance: AccessControl,
        surroundings: AppState,
        streams: OpenStreams,
        most_bytes: int,
        most_calls_of_tenant: int = MOST_CALLS_OF_TENANT,
    ) -> None:
        self.entrance = entrance
        self.surroundings = surroundings
        self.streams = streams
        self.calls = CallsInHand(most_calls_of_tenant)
        self.watching = HealthRoutes(entrance, surroundings)
        self._most_bytes = most_bytes

    async def respond(self, operation: Operation, request: Request) -> ASGIApp:
        answer = await _or_problem(self._carry_out(operation, request), operation.name)
        self.watching.count(request, operation.name, answer)
        return answer

    async def take(self, inlet: Inlet, request: Request) -> ASGIApp:
        """Pass a post to its inlet."""
        return await _or_problem(self._take(inlet, request), inlet.path)

    async def _take(self, inlet: Inlet, request: Request) -> ASGIApp:
        self.entrance.let_post(request, self.surroundings.services.clock)
        headers = {name.lower(): value for name, value in request.headers.items()}
        found = await inlet.take(Post(headers, await self.read(request), dict[str, str](request.path_params)))
        return Response(json.dumps(found).encode(), headers=_JSON)

    async def _carry_out(self, operation: Operation, request: Request) -> ASGIApp:
        services = self.surroundings.services
        caller = await self.entrance.admit(request, services.clock)
        request.state.tenant_id = caller.person.tenant_id
        asked = _parse_asked(operation, request)
        sent = await self._parse_sent(operation, request)
        call = Call(
            self.surroundings.client_of(caller),
            asked,
            sent,
            self.surroundings,
            key=_key_of(request) if operation.takes_key else None,
            last_event_id=_place_of(request) if operation.streams else None,
        )
        with self.calls.hold(caller.person.tenant_id):
            found = await operation.handle(call)
        if isinstance(found, Stream):
            end = self.streams.take(name_of(caller), caller.person.tenant_id)
            return EventStream(found.chunks, services.clock, partial(self.entrance.is_still_in, request), end)
        if isinstance(found.value, Problem):
            return response_of(found.value)
        kind = operation.answers[found.status]
        if kind is None:
            return Response(status_code=found.status, headers=found.headers)
        body = _adapter(kind).dump_json(found.value, by_alias=True)
        return Response(body, found.status, {**_JSON, **found.headers})

    async def visit(self, door: Door, request: Request, *, is_public: bool) -> ASGIApp:
        """Pass a call to its mount."""
        return await _or_problem(self._visit(door, request, is_public=is_public), type(door).__name__)

    async def _visit(self, door: Door, request: Request, *, is_public: bool) -> ASGIApp:
        surroundings, tokens = self.surroundings, self.entrance.tokens
        services = surroundings.services
        if is_public:
            self.entrance.let_post(request, services.clock)
            visit = Visit(services, None, surroundings.follow_tree, tokens)
            return MountCall(door, visit, await self.read(request), surroundings)
        caller = await self.entrance.admit(request, services.clock)
        visit = Visit(services, surroundings.client_of(caller), surroundings.follow_tree, tokens)
        body = await self.read(request)
        end = self.streams.take(name_of(caller), caller.person.tenant_id)
        return MountCall(door, visit, body, surroundings, partial(self.entrance.is_still_in, request), end)

    async def _parse_sent(self, operation: Operation, request: Request) -> Form:
        body = await self.read(request)
        if not body and operation.sent is Nothing:
            return Nothing()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            said = f"the body is {kind or 'of no type'}; send application/json"
            raise CallRefused(problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", said))
        try:
            return operation.sent.model_validate_json(body, strict=True)
        except ValidationError as error:
            raise CallRefused(unfit(error, "body")) from error

    async def read(self, request: Request) -> bytes:
        """Return the body. Raise CallRefused for too long a one, before its read if its length is known."""
        told = request.headers.get("content-length", "0")
        if told.isascii() and told.isdigit() and len(told) < LONGEST_KEY and int(told) > self._most_bytes:
            raise self._too_long()
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self._most_bytes:
                        raise self._too_long()
                    chunks.append(chunk)
        except TimeoutError as error:
            said = f"the body did not come in {BODY_SECONDS:.0f} s"
            raise CallRefused(problem(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", said)) from error
        return b"".join(chunks)

    def _too_long(self) -> CallRefused:
        said = f"the body is longer than {self._most_bytes} bytes"
        return CallRefused(problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "content_too_large", said))


class Resource:
    """Resource of one path: its operations by method."""

    def __init__(self, desk: Dispatcher, operations: Mapping[str, Operation]) -> None:
        self._desk = desk
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = str(scope["method"])
        operation = self._operations.get("GET" if method == "HEAD" else method)
        if operation is None or (method == "HEAD" and operation.streams):
            answer: ASGIApp = response_of(_wrong_method(method), {"allow": ", ".join(self._operations)})
        else:
            answer = await self._desk.respond(operation, Request(scope, receive))
        await answer(scope, receive, send)


class InletRoute:
    """The place of an inlet."""

    def __init__(self, desk: Dispatcher, inlet: Inlet) -> None:
        self._desk = desk
        self._inlet = inlet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._desk.take(self._inlet, Request(scope, receive))
        await answer(scope, receive, send)


class MountRoute:
    """The place of a door."""

    def __init__(self, desk: Dispatcher, door: Door, *, is_public: bool = False) -> None:
        self._desk = desk
        self._door = door
        self._is_public = is_public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = str(scope["method"])
        if self._is_public and method not in ("GET", "HEAD"):
            answer: ASGIApp = response_of(_wrong_method(method), {"allow": "GET"})
        else:
            answer = await self._desk.visit(self._door, Request(scope, receive), is_public=self._is_public)
        await answer(scope, receive, send)


def _parse_asked(operation: Operation, request: Request) -> Form:
    given = dict[str, str](request.path_params)
    try:
        fields = parse_qsl(
            request.scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError as error:
        raise CallRefused(_unfit_query(f"there are more than {MOST_FIELDS} fields")) from error
    for name, value in fields:
        if name in given:
            raise CallRefused(_unfit_query(f"{name[:80]!r} is given twice"))
        given[name] = value
    try:
        return operation.asked.model_validate(given)
    except ValidationError as error:
        raise CallRefused(unfit(error, "query")) from error


def _unfit_query(detail: str) -> Problem:
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", f"query: {detail}")


def _key_of(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        said = f"Idempotency-Key: give 1 to {LONGEST_KEY} printable characters of ASCII"
        raise CallRefused(problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", said))
    return key


def _place_of(request: Request) -> int | None:
    """Return the place in the log that a browser says it got last."""
    said = request.headers.get("last-event-id")
    if said is None:
        return None
    if not (said.isascii() and said.isdigit() and len(said) <= LONGEST_PLACE):
        detail = f"Last-Event-ID: give the id of an event of this stream, found {clip(said, 40)!r}"
        raise CallRefused(problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", detail))
    return int(said)


async def _or_problem(answering: Awaitable[ASGIApp], called: str) -> ASGIApp:
    """Return the answer, or the problem; details of an unexpected error go to the log only."""
    try:
        return await answering
    except CallRefused as refused:
        told = refused.problem
    except SoormaError as error:
        told = problem_of(error) or report_error(error, called)
    except ClientDisconnect:
        return Response(status_code=HTTPStatus.BAD_REQUEST)
    except Exception as error:
        told = report_error(error, called)
    return response_of(told)


def _wrong_method(method: str) -> Problem:
    return problem(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", f"{method[:20]} is not served here")


async def _refuse(request: Request, error: Exception) -> Response:
    """Answer a call without an operation, such as one to an unknown path."""
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers = error.headers if isinstance(error, HTTPException) else None
        return response_of(_wrong_method(request.method), {k.lower(): v for k, v in (headers or {}).items()})
    return response_of(problem(status, status.phrase.lower().replace(" ", "_"), "there is nothing at this path"))


async def _show_document(operations: tuple[Operation, ...], request: Request) -> Response:
    return Response(
        await asyncio.to_thread(_document, identity_of(operations), request.scope.get("root_path", "")), headers=_JSON
    )


@cache
def _document(operations: Same[tuple[Operation, ...]], root_path: str) -> bytes:
    return document(operations(), root_path or "/")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
