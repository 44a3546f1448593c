"""A browser's authenticated call: its caller, its fields, and its replies."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Final, Literal, Protocol
from urllib.parse import quote, urlencode

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from soorma_ai.api.server.app_state import AppState
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.runtime.client.client import Client

_POLICY = "content-security-policy"
_FRAMED_BY = "frame-ancestors 'none'"
HEADERS: Final[Mapping[str, str]] = {
    _POLICY: (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"form-action 'self'; {_FRAMED_BY}; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    # With no-referrer, browsers send forms of our own with an origin of null.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
HTML = "text/html; charset=utf-8"
LONGEST_PLACE = 200


class Section(Struct, frozen=True):
    """An entry of the navigation."""

    path: str
    name: str


SECTIONS: Final = (
    Section("/home", "Home"),
    Section("/inbox", "Inbox"),
    Section("/plans", "Plans"),
    Section("/agents", "Agents"),
    Section("/choreography", "Choreography"),
)


class Render(Protocol):
    """Renders a template by its name. `apps.console` gives the body."""

    def __call__(self, template: str, values: Mapping[str, object]) -> str: ...


class PageFrame(Struct, frozen=True):
    """Frame of every page. `root` is the mount path of the console, `user` the signed-in name; `is_open`: sign-in is
    off. `ancestors` are the sites with the right to embed this page."""

    render: Render
    root: str
    form_token: str
    user: str = ""
    tenant: str = ""
    roles: str = ""
    is_open: bool = False
    ancestors: tuple[str, ...] = ()

    @property
    def headers(self) -> Mapping[str, str]:
        if not self.ancestors:
            return HEADERS
        framed_by = f"frame-ancestors {' '.join(self.ancestors)}"
        return {**HEADERS, _POLICY: HEADERS[_POLICY].replace(_FRAMED_BY, framed_by)}

    def page(self, template: str, status: HTTPStatus = HTTPStatus.OK, **values: object) -> Response:
        """Return a page. `title` is among the values of all templates, `section` the path of the one it belongs to."""
        said = {"frame": self, "sections": SECTIONS, "section": "", **values}
        return Response(self.render(template, said), status, self.headers, HTML)

    def path(self, *parts: str, **asked: str | int | None) -> str:
        """Return the path of a page, as `path("plans", plan_id, tab="events")`; fields of None are left out."""
        fields = urlencode({name: value for name, value in asked.items() if value is not None})
        place = "/".join((self.root, *(quote(part, safe="") for part in parts)))
        return f"{place}?{fields}" if fields else place

    def see_other(self, *parts: str, **asked: str | int | None) -> Response:
        """Return a redirect to a page, read by GET."""
        return Response(None, HTTPStatus.SEE_OTHER, {**HEADERS, "location": self.path(*parts, **asked)})

    def go_on(self, target: str) -> Response:
        """Return a redirect to a path below the console, as asked for; to the front page for anything else."""
        is_ours = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
        place = f"{self.root}{quote(target, safe='/?&=%')}" if is_ours else self.path("home")
        return Response(None, HTTPStatus.SEE_OTHER, {**HEADERS, "location": place})


class OpenedLink(Protocol):
    """Link that opened a page: its kind, and the id of its subject."""

    @property
    def kind(self) -> str: ...

    @property
    def about(self) -> str: ...


class PageContext(Struct, frozen=True):
    """An authenticated caller. `client` makes calls in their name; `sent` are the fields of a form, in their order;
    `link` is the signed link of the call, with its subject."""

    request: Request
    client: Client
    frame: PageFrame
    surroundings: AppState
    sent: Sequence[tuple[str, str]] = field(default=())
    link: OpenedLink | None = None

    @property
    def now(self) -> datetime:
        return self.client.services.clock.now()

    @property
    def place(self) -> Place | None:
        """Return the beginning or the end of a list's page, as the query gives it."""
        for name in ("after", "before"):
            said = self.query_value(name)
            if said.isprintable() and 0 < len(said) <= LONGEST_PLACE:
                return Place(said, is_back=name == "before")
        return None

    def query_value(self, name: str, default: str = "") -> str:
        """Return a field of the query."""
        return self.request.query_params.get(name, default)

    def part(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def form_value(self, name: str, default: str = "") -> str:
        """Return a field of the form, the first of its name."""
        return next((value for key, value in self.sent if key == name), default)


Handler = Callable[[PageContext], Awaitable[ASGIApp]]


class PageRoute(Struct, frozen=True):
    """One page, for a session, or for a link of a kind in `by_link`: then the path has the link's `{token}`."""

    method: Literal["GET", "POST"]
    path: str
    handle: Handler
    by_link: tuple[str, ...] = ()


def get(path: str, handle: Handler) -> PageRoute:
    return PageRoute("GET", path, handle)


def post(path: str, handle: Handler) -> PageRoute:
    return PageRoute("POST", path, handle)
