"""Connections that end with the event loop that they belong to."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from weakref import WeakKeyDictionary

_keepers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncGenerator[None, None]]] = WeakKeyDictionary()


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
