"""Trusted proxies, and a bound on the calls in hand of each address."""

from collections import Counter
from collections.abc import Collection
from http import HTTPStatus
from ipaddress import ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

from soorma_ai.api.server.connection_bounds import address_of
from soorma_ai.api.server.problems import Problem, problem, response_of
from soorma_ai.api.server.rates import RETRY
from soorma_ai.errors import ConfigError


class TrustedProxies:
    """Trusted proxies, by address or network: their `X-Forwarded-For` and `X-Forwarded-Proto` count. Raise ConfigError
    for anything else."""

    def __init__(self, named: Collection[str] = ()) -> None:
        self.named = tuple(named)
        try:
            self._networks = tuple(map(ip_network, named))
        except ValueError as error:
            raise ConfigError(
                f"trusted proxies {', '.join(named)}: {error}; give addresses and networks, as 10.0.0.7 or 10.0.0.0/8"
            ) from error

    def __contains__(self, host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


class CallsByAddress:
    """Bounds the calls in hand of each address. Behind a trusted proxy that is the address it forwards."""

    def __init__(self, served: ASGIApp, proxies: TrustedProxies, most_each: int) -> None:
        self._served = served
        self._proxies = proxies
        self._most_each = most_each
        self._of = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client: tuple[str, int] | None = scope.get("client")
        if client is None or client[0] in self._proxies:
            await self._served(scope, receive, send)
            return
        address = address_of(client[0])
        if self._of[address] >= self._most_each:
            await response_of(self.refusal)(scope, receive, send)
            return
        self._of[address] += 1
        try:
            await self._served(scope, receive, send)
        finally:
            self._of[address] -= 1
            if not self._of[address]:
                del self._of[address]

    @property
    def refusal(self) -> Problem:
        return crowded(f"{self._most_each} calls of this address are in hand: try again later")


def crowded(detail: str) -> Problem:
    """Return the problem for a surplus connection or call."""
    told = problem(HTTPStatus.SERVICE_UNAVAILABLE, "overloaded", detail)
    return told.model_copy(update={"retry_after": RETRY.total_seconds()})
