"""Authentication of callers, and admission of their calls."""

from collections.abc import Callable, Collection
from ipaddress import ip_address
from typing import Final

from msgspec import Struct
from starlette.requests import Request

from soorma_ai.api.server.rates import Buckets
from soorma_ai.api.tokens import sources_of
from soorma_ai.errors import Forbidden, Overloaded, Unauthenticated
from soorma_ai.kernel.domain.identity import Caller, TokenSources
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Authenticator, Clock

LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
LONGEST_TOKEN = 16_384
# The token of a call, or whom it comes from where that was found out before.
TokenOf = Callable[[Request], str | Caller]
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# Headers by which proxies tell for whom they ask: what comes through one is not of this machine.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


class AccessControl(Struct, frozen=True):
    """Access control of a server. `hosts` None allows every name of this server. Without `auth`, every caller from this
    machine is `local`."""

    auth: Authenticator | None
    hosts: frozenset[str] | None
    origins: frozenset[str]
    local_roles: frozenset[str]
    buckets: Buckets | None

    @property
    def tokens(self) -> TokenSources | None:
        """Origins of the tokens; None without `auth`."""
        return None if self.auth is None else sources_of(self.auth)

    async def admit(self, request: Request, clock: Clock, token_of: TokenOf | None = None) -> Caller:
        """Return the caller, by the bearer token or the result of `token_of`. Raise Unauthenticated, Forbidden, and
        Overloaded for too frequent calls."""
        self._check_host(request)
        self._check_origin(request)
        caller = await self.identify(request, token_of)
        if self.auth is not None and self.buckets is not None:
            wait = self.buckets.take(name_of(caller), clock.monotonic())
            if wait is not None:
                raise Overloaded("too many calls with this token: call again later", retry_after=wait)
        return caller

    def let_post(self, request: Request, clock: Clock) -> None:
        """Raise Forbidden, and Overloaded for an address with too frequent posts, without a token of a caller."""
        self._check_host(request)
        address = request.client.host if request.client else ""
        wait = self.buckets.take(f"post\n{address}", clock.monotonic()) if self.buckets is not None else None
        if wait is not None:
            raise Overloaded("too many posts from this address: post again later", retry_after=wait)

    def let_by_link(self, request: Request, clock: Clock) -> None:
        """Raise as `let_post` does, and Forbidden for a request of another site's page."""
        self.let_post(request, clock)
        self._check_origin(request)

    async def sign_in(self, request: Request, clock: Clock, token: str) -> Caller:
        """Return the caller of a token sent by a page. Raise as `admit` does, and Overloaded by the address."""
        self.let_by_link(request, clock)
        return await self.identify(request, lambda _: token)

    async def is_still_in(self, request: Request, token_of: TokenOf | None = None) -> bool:
        """Tell whether the token of a call that goes on is still good."""
        try:
            await self.identify(request, token_of)
        except (Unauthenticated, Forbidden):
            return False
        return True

    async def identify(self, request: Request, token_of: TokenOf | None = None) -> Caller:
        """Return the caller, uncounted. Raise Unauthenticated, Forbidden."""
        if self.auth is None:
            _must_be_local(request)
            return Caller(Person(roles=self.local_roles))
        found = (token_of or _token)(request)
        return found if isinstance(found, Caller) else await self.auth.authenticate(found)

    def _check_host(self, request: Request) -> None:
        if self.hosts is not None and host_of(request.headers.get("host", "")) not in self.hosts:
            found = clip(request.headers.get("host", "none"), 80)
            raise Forbidden(f"Host {found!r} is none of this server's names: {', '.join(sorted(self.hosts))}")

    def _check_origin(self, request: Request) -> None:
        """Raise Forbidden for a change here requested by another site's page in a browser."""
        if request.method in _SAFE:
            return
        origin = request.headers.get("origin")
        if origin is None:
            if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
                raise Forbidden("a page of another site may change nothing here")
        elif origin not in self.origins and origin.partition("://")[2] != request.headers.get("host"):
            raise Forbidden(f"a page of {clip(origin, 80)!r} may change nothing here; allow it with origins=")


def is_local(address: str) -> bool:
    """Tell whether a host is this machine, by its name or its address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def host_of(header: str) -> str:
    """Return the name in a Host header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def host_names(given: Collection[str] | None, *, is_open: bool) -> frozenset[str] | None:
    """Return the valid names of a server: for an open one, without tokens, only local ones."""
    if given is not None:
        return frozenset(host_of(name) for name in given)
    return LOCAL_HOSTS if is_open else None


def _must_be_local(request: Request) -> None:
    came_through = [name for name in _FORWARDED if name in request.headers]
    if request.client is None or not is_local(request.client.host) or came_through:
        raise Forbidden("this server asks for no token, so it serves its own machine only: give it auth=")


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("give a token: Authorization: Bearer TOKEN")
    if len(token) > LONGEST_TOKEN:
        raise Unauthenticated(f"the token is longer than {LONGEST_TOKEN} characters")
    return token.strip()


def name_of(caller: Caller) -> str:
    """Return the name of a caller for counting: their key, or their person."""
    return caller.key_id or f"{caller.person.tenant_id}\n{caller.person.user_id}"
