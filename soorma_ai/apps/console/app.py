"""The console as a part of the server: sessions of people, and routes to pages."""

import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from soorma_ai.api.server.application import CallRefused, Dispatcher, report_error
from soorma_ai.api.server.auth import name_of
from soorma_ai.api.server.problems import Problem, problem_of
from soorma_ai.api.server.streams import EventStream
from soorma_ai.api.tokens import PendingSignIn
from soorma_ai.apps.console import live
from soorma_ai.apps.console.endpoints import Answering, Endpoint, serve_static
from soorma_ai.apps.console.pages import ROUTES
from soorma_ai.apps.console.rendering import render
from soorma_ai.apps.console.sessions import Session, Sessions
from soorma_ai.errors import ConfigError, Forbidden, LocalProtocolError, SoormaError, TransientError, Unauthenticated
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.records import Link
from soorma_ai.features.human_tasks.service import inbox_of
from soorma_ai.features.human_tasks.signed_links import LinkReader, ReadsLinks, check_site
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.surfaces.page_context import HEADERS, PageContext, PageFrame, PageRoute
from soorma_ai.surfaces.secret import link_secret

MOST_FIELDS = 5_000
FORM_TOKEN = "form_token"
BY_LINK = "link"  # the key of the audit for who answered by a link
HOME = "home"


class Provider(Protocol):
    """Provider of sign-in, as `adapters.tokens.code_flow.CodeFlow`."""

    @property
    def name(self) -> str: ...

    async def begin(self) -> tuple[str, PendingSignIn]:
        """Return the address for a browser, and the secret of its way back. Raise TransientError."""
        ...

    async def finish(self, answered: Mapping[str, str], begun: PendingSignIn) -> Caller:
        """Return the signed-in person. Raise Unauthenticated and TransientError."""
        ...

    async def end(self) -> tuple[str, str]:
        """Return where a browser is sent to end its session there, and the state that it must come back with; nothing
        where the provider has no such place. Raise TransientError."""
        ...


class Console:
    """The console. `secret` seals its sessions and signs links; without one, both end with the process. `links` are
    others, sent out by agents, for one person and one question. `provider` lets people in without a key. Only pages of
    the sites `embed_in`, as https://shop.example, may embed the page of a link to several questions. Raise ConfigError.
    """

    def __init__(
        self,
        *,
        secret: str | None = None,
        links: ReadsLinks | None = None,
        provider: Provider | None = None,
        embed_in: Collection[str] = (),
    ) -> None:
        self._sessions = Sessions(secret or secrets.token_urlsafe())
        self._links = links
        self._provider = provider
        self._embed_in = tuple(map(check_site, embed_in))

    def routes(self, desk: Dispatcher) -> Sequence[Route]:
        """Return the routes beside the API. Raise ConfigError for a provider on a server without authentication."""
        if self._provider is not None and desk.entrance.auth is None:
            raise ConfigError("a server without auth= lets everybody of this machine in: give it one, or no provider")
        own = Links(link_secret(self._sessions.secret))
        desk.surroundings.keep(own)
        opener = LinkReader(own, self._links, self._embed_in)
        door = _BrowserAccess(desk, self._sessions, opener, self._provider)
        by_path: defaultdict[str, dict[str, Answering]] = defaultdict(dict)
        for route in ROUTES:
            by_path[route.path][route.method] = partial(door.show, route)
        return [
            Route("/", Endpoint(GET=door.go_home)),
            Route("/static/{name}", Endpoint(GET=serve_static)),
            Route("/live", Endpoint(GET=door.follow)),
            Route("/sign-in", Endpoint(GET=door.show_sign_in, POST=door.sign_in)),
            Route("/sign-out", Endpoint(POST=door.sign_out)),
            *([Route(path, Endpoint(GET=answering)) for path, answering in door.by_provider()]),
            *(Route(path, Endpoint(**answering)) for path, answering in by_path.items()),
        ]


class _Browser(Struct, frozen=True):
    """Cookies of a browser: `visit` names it, `session` is its sealed token."""

    frame: PageFrame
    visit: str
    session: str
    is_new: bool


class _BrowserAccess:
    """Lets browsers in by their session, and answers them with pages, also where something is wrong."""

    def __init__(self, desk: Dispatcher, sessions: Sessions, opener: LinkReader, provider: Provider | None) -> None:
        self._desk = desk
        self._sessions = sessions
        self._opener = opener
        self._provider = provider
        self._cookies = CookieNames(
            *(f"soorma_{name}{sessions.label}" for name in ("", "visit_", "sign_in_", "sign_out_"))
        )

    def by_provider(self) -> "Iterator[tuple[str, Answering]]":
        """Yield the paths of the sign-in with the provider; none without a provider."""
        if self._provider is not None:
            yield "/sign-in/with", partial(self._answer, answering=partial(self._begin_sign_in, self._provider))
            yield "/sign-in/back", partial(self._answer, answering=partial(self._finish_sign_in, self._provider))
            yield "/sign-out/back", partial(self._answer, answering=partial(self._finish_sign_out, self._provider))

    async def show(self, route: PageRoute, request: Request) -> ASGIApp:
        return await self._answer(request, partial(self._show, route))

    async def go_home(self, request: Request) -> ASGIApp:
        return await self._answer(request, self._go_home)

    async def show_sign_in(self, request: Request) -> ASGIApp:
        return await self._answer(request, self._show_sign_in)

    async def sign_in(self, request: Request) -> ASGIApp:
        return await self._answer(request, self._sign_in)

    async def sign_out(self, request: Request) -> ASGIApp:
        return await self._answer(request, self._sign_out)

    async def follow(self, request: Request) -> ASGIApp:
        return await self._answer(request, self._follow)

    async def _show(self, route: PageRoute, request: Request, browser: _Browser) -> ASGIApp:
        link, frame = None, browser.frame
        if route.by_link:
            link, caller = await self._open_link(route, request)
            frame = replace(frame, is_open=False, ancestors=() if link.kind == "question" else self._opener.embed_in)
        else:
            caller = await self._admit(request)
            frame = _with_caller(frame, caller)
        state = self._desk.surroundings
        sent = await self._read_form(request, browser) if route.method == "POST" else ()
        try:
            return await route.handle(PageContext(request, state.client_of(caller), frame, state, sent, link))
        except Unauthenticated:
            raise
        except SoormaError as error:
            return _error_page(frame, problem_of(error) or report_error(error, route.path))

    async def _open_link(self, route: PageRoute, request: Request) -> tuple[Link, Caller]:
        """Return the question and the person of a link. Raise Forbidden for an expired or used one."""
        surroundings = self._desk.surroundings
        clock = surroundings.services.clock
        self._desk.entrance.let_by_link(request, clock)
        try:
            link, is_listed = self._opener.read(str(request.path_params["token"]), clock.now())
            if link.kind not in route.by_link:
                raise Unauthenticated("this link opens another page; open it as it was sent")
            caller = Caller(Person(link.tenant_id, link.user_id, link.roles), key_id=BY_LINK)
            await inbox_of(surroundings.client_of(caller)).check_link(link, is_listed=is_listed)
        except Unauthenticated as error:
            raise Forbidden(str(error)) from error
        return link, caller

    async def _go_home(self, request: Request, browser: _Browser) -> ASGIApp:
        return browser.frame.see_other(HOME)

    async def _show_sign_in(self, request: Request, browser: _Browser) -> ASGIApp:
        if self._desk.entrance.auth is None:
            return browser.frame.see_other(HOME)
        return self._sign_in_page(browser.frame, request.query_params.get("next", ""))

    async def _sign_in(self, request: Request, browser: _Browser) -> ASGIApp:
        entrance, clock = self._desk.entrance, self._desk.surroundings.services.clock
        sent = dict(await self._read_form(request, browser))
        token, target = sent.get("token", "").strip(), sent.get("next", "")
        try:
            await entrance.sign_in(request, clock, token)
            session = self._sessions.seal(token, clock.now())
        except Unauthenticated as error:
            return self._sign_in_page(browser.frame, target, str(error))
        return self._let_in(request, browser, session, target)

    async def _begin_sign_in(self, provider: Provider, request: Request, browser: _Browser) -> ASGIApp:
        """Send a browser to the provider. The secret of its way back stays with it, sealed."""
        clock, target = self._desk.surroundings.services.clock, request.query_params.get("next", "")
        self._desk.entrance.let_by_link(request, clock)
        address, begun = await provider.begin()
        answer = Response(None, HTTPStatus.SEE_OTHER, {**HEADERS, "location": address})
        self._set(answer, request, self._cookies.sign_in, self._sessions.seal_sign_in(begun, target, clock.now()))
        return answer

    async def _finish_sign_in(self, provider: Provider, request: Request, browser: _Browser) -> ASGIApp:
        """Sign in the person named by the provider, once for each attempt."""
        clock, target = self._desk.surroundings.services.clock, ""
        self._desk.entrance.let_by_link(request, clock)
        try:
            sealed = request.cookies.get(self._cookies.sign_in, "")
            begun, target = self._sessions.open_sign_in(sealed, clock.now())
            caller = await provider.finish(request.query_params, begun)
            session = self._sessions.seal_caller(caller, clock.now())
        except Unauthenticated as error:
            answer = self._sign_in_page(browser.frame, target, by_provider=str(error))
        else:
            answer = self._let_in(request, browser, session, target)
        answer.delete_cookie(self._cookies.sign_in, path=browser.frame.root or "/")
        return answer

    def _let_in(self, request: Request, browser: _Browser, session: str, target: str) -> Response:
        answer = browser.frame.go_on(target)
        self._set(answer, request, self._cookies.session, session)
        return answer

    def _sign_in_page(
        self, frame: PageFrame, target: str, fault: str = "", by_provider: str = "", done: str = ""
    ) -> Response:
        """Return the page, with the fault of a key, with the provider's words, or with the outcome `done`."""
        status = HTTPStatus.UNAUTHORIZED if fault or by_provider else HTTPStatus.OK
        told: dict[str, object] = {"target": target, "fault": fault, "refusal": by_provider, "done": done}
        provider = self._provider.name if self._provider else ""
        return frame.page("sign_in.html", status, title="Sign in", provider=provider, **told)

    async def _sign_out(self, request: Request, browser: _Browser) -> ASGIApp:
        """End the session here. The page sends a person of a provider there, to end that session too:
        browsers let no form lead to another site."""
        await self._read_form(request, browser)
        is_by_provider = await self._end_session(request)
        frame, answer = browser.frame, browser.frame.see_other("sign-in")
        if self._provider is not None and is_by_provider:
            address, state = await self._end(self._provider)
            answer = frame.page("signed_out.html", title="Signed out", provider=self._provider.name, address=address)
            sealed = self._sessions.seal_sign_out(state, self._desk.surroundings.services.clock.now())
            self._set(answer, request, self._cookies.sign_out, sealed)
        answer.delete_cookie(self._cookies.session, path=frame.root or "/")
        return answer

    async def _end_session(self, request: Request) -> bool:
        """End a session for every copy of its cookie. Return whether a provider had let its person in."""
        if self._desk.entrance.auth is None:
            return False
        try:
            caller, session = await self._admit(request), self._session(request)
        except (Unauthenticated, Forbidden):
            return False
        await inbox_of(self._desk.surroundings.client_of(caller)).revoke_link("session", session.session_id)
        return isinstance(session.token, Caller)

    async def _end(self, provider: Provider) -> tuple[str, str]:
        """Return the result of `Provider.end`; nothing while the provider is away."""
        try:
            return await provider.end()
        except TransientError:
            return "", ""

    async def _finish_sign_out(self, provider: Provider, request: Request, browser: _Browser) -> ASGIApp:
        """Confirm a sign-out at the provider, only to a browser sent there by us."""
        now, sealed = self._desk.surroundings.services.clock.now(), request.cookies.get(self._cookies.sign_out, "")
        if self._sessions.is_sign_out(sealed, request.query_params.get("state", ""), now):
            done = f"You are signed out, here and with {provider.name}."
            answer = self._sign_in_page(browser.frame, "", done=done)
        else:
            answer = browser.frame.see_other("sign-in")
        answer.delete_cookie(self._cookies.sign_out, path=browser.frame.root or "/")
        return answer

    async def _follow(self, request: Request, browser: _Browser) -> ASGIApp:
        caller, desk = await self._admit(request), self._desk
        if request.method == "HEAD":
            return Response(None, HTTPStatus.OK, HEADERS, "text/event-stream")
        client = desk.surroundings.client_of(caller)
        key = await live.key_of(client, request.query_params.get("plan"))
        end = desk.streams.take(name_of(caller), caller.person.tenant_id)
        return EventStream(
            live.follow(client, desk.surroundings, key), client.services.clock, partial(self._is_still_in, request), end
        )

    async def _admit(self, request: Request) -> Caller:
        caller = await self._desk.entrance.admit(request, self._desk.surroundings.services.clock, self._token_of)
        await self._check_session(request, caller)
        return caller

    async def _is_still_in(self, request: Request) -> bool:
        try:
            await self._check_session(request, await self._desk.entrance.identify(request, self._token_of))
        except (Unauthenticated, Forbidden):
            return False
        return True

    async def _check_session(self, request: Request, caller: Caller) -> None:
        """Raise Unauthenticated for a session that was ended."""
        if self._desk.entrance.auth is not None:
            client = self._desk.surroundings.client_of(caller)
            for right in self._session(request).rights(caller.person):
                await inbox_of(client).check_link(right, is_listed=False)

    def _token_of(self, request: Request) -> str | Caller:
        return self._session(request).token

    def _session(self, request: Request) -> Session:
        sealed = request.cookies.get(self._cookies.session, "")
        return self._sessions.open(sealed, self._desk.surroundings.services.clock.now())

    async def _read_form(self, request: Request, browser: _Browser) -> Sequence[tuple[str, str]]:
        """Return the fields of a form. Raise Forbidden for one that was not made for this browser."""
        body = await self._desk.read(request)
        try:
            fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError as error:
            raise LocalProtocolError(f"this form cannot be read: {error}") from error
        given = next((value for name, value in fields if name == FORM_TOKEN), "")
        if browser.is_new or not self._sessions.is_form_token(given, browser.visit, browser.session):
            raise Forbidden("this form is of another session, or an old one: go back, load the page again, and repeat")
        return fields

    async def _answer(self, request: Request, answering: "Answered") -> ASGIApp:
        """Return the page, or the page of the error; and name a browser without a name."""
        browser = self._browser(request)
        try:
            answer = await answering(request, browser)
        except Unauthenticated as error:
            is_read = request.method in ("GET", "HEAD")
            frame = browser.frame
            answer = _ask_to_sign_in(request, frame) if is_read else self._sign_in_page(frame, "", str(error))
        except CallRefused as refused:
            answer = _error_page(browser.frame, refused.problem)
        except SoormaError as error:
            answer = _error_page(browser.frame, problem_of(error) or report_error(error, request.url.path))
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)
        except Exception as error:
            answer = _error_page(browser.frame, report_error(error, request.url.path))
        if browser.is_new and isinstance(answer, Response):
            self._set(answer, request, self._cookies.visit, browser.visit)
        return answer

    def _browser(self, request: Request) -> _Browser:
        """Return a browser by its cookies; one that comes by a link needs none, and gets none."""
        if token := request.path_params.get("token"):
            return self._browser_of(request, BY_LINK, str(token), is_new=False)
        visit, session = (request.cookies.get(name, "") for name in (self._cookies.visit, self._cookies.session))
        return self._browser_of(request, visit or secrets.token_urlsafe(), session, is_new=not visit)

    def _browser_of(self, request: Request, visit: str, session: str, *, is_new: bool) -> _Browser:
        form_token = self._sessions.form_token(visit, session)
        root = str(request.scope.get("root_path", ""))
        frame = PageFrame(render, root, form_token, is_open=self._desk.entrance.auth is None)
        return _Browser(frame, visit, session, is_new)

    def _set(self, answer: Response, request: Request, name: str, value: str) -> None:
        """Set a cookie until the browser ends. For a page of https it is secure, even behind a proxy."""
        is_secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
        path = str(request.scope.get("root_path", "")) or "/"
        answer.set_cookie(name, value, path=path, secure=is_secure, httponly=True, samesite="lax")


class CookieNames(Struct, frozen=True):
    session: str
    visit: str
    sign_in: str
    sign_out: str


Answered = Callable[[Request, _Browser], Awaitable[ASGIApp]]


def _with_caller(frame: PageFrame, caller: Caller) -> PageFrame:
    person = caller.person
    return replace(frame, user=person.user_id, tenant=person.tenant_id, roles=", ".join(sorted(person.roles or ())))


def _ask_to_sign_in(request: Request, frame: PageFrame) -> Response:
    asked = request.url.query
    path = request.url.path.removeprefix(frame.root)
    return frame.see_other("sign-in", next=f"{path}?{asked}" if asked else path)


def _error_page(frame: PageFrame, told: Problem) -> Response:
    page = frame.page("error.html", HTTPStatus(told.status), title=told.title, problem=told)
    if "retry-after" in told.headers:
        page.headers["retry-after"] = told.headers["retry-after"]
    return page
