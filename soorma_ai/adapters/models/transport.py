"""Transports to a model, and the end of their connections with the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from msgspec import Struct

from soorma_ai.adapters.models.bodies import Body, Usage
from soorma_ai.adapters.models.forms import AnswerForm
from soorma_ai.adapters.models.prices import Price
from soorma_ai.errors import Paid
from soorma_ai.kernel.ports import Message

_keepers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncGenerator[None, None]]] = WeakKeyDictionary()


class ProviderCall(Struct, frozen=True):
    """A question to one model, in one form. `base` and `key` None are those of its provider. `spent` collects the
    charges for answers that cannot be used. `room_name` is the provider's name for the longest answer, if it has told
    one."""

    model: str
    messages: tuple[Message, ...]
    form: AnswerForm
    base: str | None
    key: str | None
    timeout: float
    room: int
    extra: Mapping[str, Any]
    price: Price | None
    spent: list[Paid]
    room_name: str | None = None


class ProviderAnswer(Struct, frozen=True):
    """An answer. `contents` are the texts of its choices, `calls` the (name, arguments) of the tools that the model
    called. `finishes` and `usage` are used without a `body`; there, the provider tells them itself. `cost_usd` is
    the sum of a library between."""

    body: Body | None
    contents: tuple[str, ...]
    calls: tuple[tuple[str, str], ...] = ()
    finishes: tuple[str, ...] = ()
    refusal: str = ""
    usage: Usage | None = None
    cost_usd: float | None = None


class Transport(Protocol):
    def provider(self, model: str) -> str:
        """Return the name of the model's provider. Raises ConfigError for a model of none that it knows."""
        ...

    def check(self, model: str, base: str | None) -> None:
        """Raise ConfigError for a model that cannot be reached by this name; `base` is the address that was given."""
        ...

    def missing_keys(self, model: str) -> list[str]:
        """Return the environment's variables that may hold the key, where none of them does."""
        ...

    def price(self, model: str) -> Price | None: ...

    async def send(self, call: ProviderCall) -> ProviderAnswer:
        """Call once. Raises SoormaError, SchemaRejected, BadGeneration."""
        ...


async def close_with_loop(name: str, close: Callable[[], Awaitable[None]]) -> None:
    """Call `close` when the running loop ends, once per loop and name. All that a loop is sure to do before it is
    closed is to finish its open generators, so one of these waits for that."""
    kept = _keepers.setdefault(asyncio.get_running_loop(), {})
    if name not in kept:
        kept[name] = _keeper(close)
        await anext(kept[name])


async def _keeper(close: Callable[[], Awaitable[None]]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await close()
