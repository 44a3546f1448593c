"""The way straight to a server, over httpx."""

import asyncio
import importlib
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from soorma_ai.adapters.models.direct.providers import PLACES, address_of, key_of
from soorma_ai.adapters.models.direct.wire import read, write
from soorma_ai.adapters.models.faults import BadGeneration, CallFailure, find_secrets, translate, unreached_url
from soorma_ai.adapters.models.prices import Price, installed_table, price_in
from soorma_ai.adapters.models.transport import ProviderAnswer, ProviderCall, close_with_loop
from soorma_ai.errors import ModelBlocked, ModelUnavailable, Paid, UnreadableAnswer

MOST_CONNECTIONS = 1_000
MOST_BYTES = 8 * 1024 * 1024


class Direct:
    def __init__(self) -> None:
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, Any]] = WeakKeyDictionary()

    def provider(self, model: str) -> str:
        return model.partition("/")[0]

    def check(self, model: str, base: str | None) -> None:
        _httpx()
        _address(model, base)

    def missing_keys(self, model: str) -> list[str]:
        place = PLACES[self.provider(model)]
        return [] if key_of(model) or not place.needs_key else [*place.keys]

    def price(self, model: str) -> Price | None:
        return price_in(installed_table(), model)

    async def send(self, call: ProviderCall) -> ProviderAnswer:
        cause: Exception | None = None
        try:
            async with asyncio.timeout(call.timeout):
                answer = await self._post(call)
        except (_httpx().HTTPError, OSError) as error:
            kinds = frozenset(kind.__name__ for kind in type(error).__mro__)
            said = str(error) or type(error).__name__
            answer, cause = CallFailure(said, kinds=kinds, unreached=unreached_url(error)), error
        if isinstance(answer, ProviderAnswer):
            return answer
        secrets = find_secrets(call.key)
        fault = translate(replace(answer, base=call.base), call.model, secrets)
        if answer.timed_out or isinstance(fault, BadGeneration | UnreadableAnswer):
            call.spent.append(Paid(uncounted=1))
        # A provider's complaint about a key repeats parts of it; then nothing of it may reach a log.
        raise fault from (None if answer.names_a_key(secrets) else cause)

    async def _post(self, call: ProviderCall) -> ProviderAnswer | CallFailure:
        address = _address(call.model, call.base)
        client = await self._client(is_plain=address.startswith("http://"))
        key = (call.key or key_of(call.model) or "").strip()
        if not key.isascii():
            raise ModelBlocked(f"the key of {call.model} holds characters that no key has; copy it again")
        headers: dict[str, str] = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {key}"} if key else {}),
            **(call.extra.get("extra_headers") or {}),
        }
        url = f"{address.rstrip('/')}/chat/completions"
        try:
            request = client.build_request("POST", url, content=write(call), headers=headers, timeout=call.timeout)
            response = await client.send(request, stream=True)
        except (_httpx().InvalidURL, _httpx().UnsupportedProtocol) as error:
            raise ModelBlocked(
                f"{call.model}: api_base={address!r} is no address; give one as https://host/v1"
            ) from error
        try:
            content = await _content_of(response, call.model)
        finally:
            await response.aclose()
        if response.is_redirect:
            raise ModelBlocked(
                f"{call.model}: {address} sends its callers elsewhere; give api_base= the address that answers"
            )
        return read(response.status_code, content, response.headers.get("retry-after"))

    async def _client(self, *, is_plain: bool) -> Any:
        """Return the client of this loop. Where nothing is encrypted it needs no certificates, which take long to
        read."""
        kept = self._clients.setdefault(asyncio.get_running_loop(), {})
        if is_plain not in kept:
            httpx = _httpx()
            limits = httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS // 10)
            kept[is_plain] = httpx.AsyncClient(limits=limits, verify=not is_plain)
            await close_with_loop(f"direct {is_plain}", kept[is_plain].aclose)
        return kept[is_plain]


def _address(model: str, base: str | None) -> str:
    address = address_of(model, base)
    if not address:
        raise ModelBlocked(f"it is not known where {model} is: give api_base=, the address of its server")
    return address


async def _content_of(response: Any, model: str) -> bytes:
    """Return the body. Raises ModelUnavailable for one that no answer needs."""
    parts: list[bytes] = []
    room = MOST_BYTES
    async for part in response.aiter_bytes():
        parts.append(part)
        room -= len(part)
        if room < 0:
            raise ModelUnavailable(f"{model}: the answer is longer than {MOST_BYTES} bytes")
    return b"".join(parts)


@cache
def _httpx() -> Any:
    try:
        return importlib.import_module("httpx")
    except ImportError as error:
        raise ModelBlocked(
            "calling a model directly needs httpx, which is not installed: pip install 'soorma-ai[direct]', or [llm]"
        ) from error
