"""Embedders: by a function, and by a model that litellm knows."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from threading import Thread
from typing import Any, cast
from weakref import WeakKeyDictionary

from soorma_ai.adapters.models.faults import find_secrets, translate
from soorma_ai.adapters.models.guard import check_allowed
from soorma_ai.adapters.models.litellm.libraries import close_clients_with_loop, libraries
from soorma_ai.adapters.models.litellm.transport import describe_fault
from soorma_ai.errors import ConfigError, ModelUnavailable, SoormaError
from soorma_ai.kernel.domain.values import account_of

Vectors = Sequence[Sequence[float]]
CALL_SECONDS = 60.0


class ByFunction:
    """Embeds by a function. A plain one runs off the loop, one call after the other; one that is a coroutine function
    must not block. Another model needs another name: vectors of two do not compare."""

    def __init__(self, name: str, embed: Callable[[Sequence[str]], Vectors | Awaitable[Vectors]]) -> None:
        self.name = name
        self._embed = embed
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if iscoroutinefunction(self._embed):
            found = self._embed(texts)
        else:
            found = await self._in_thread(texts)
        return await found if isawaitable(found) else found

    async def _in_thread(self, texts: Sequence[str]) -> Vectors | Awaitable[Vectors]:
        """Call the library in a thread, which does not keep the process alive. The turn ends with the call, even after
        its caller has left."""
        loop = asyncio.get_running_loop()
        turn = self._turns.setdefault(loop, asyncio.Lock())
        called: asyncio.Future[Vectors | Awaitable[Vectors]] = loop.create_future()
        await turn.acquire()

        def end(settle: Callable[[], None]) -> None:
            turn.release()
            if not called.done():
                settle()

        def call() -> None:
            try:
                settle = partial(called.set_result, self._embed(texts))
            except BaseException as error:
                settle = partial(called.set_exception, ModelUnavailable(f"{self.name}: {account_of(error)}"))
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                loop.call_soon_threadsafe(end, settle)

        Thread(target=call, name=f"embedding by {self.name}", daemon=True).start()
        return await called


class LiteLLMEmbedder:
    """A litellm model string, such as `openai/text-embedding-3-small`; `options` go to its provider."""

    def __init__(self, model: str, **options: Any) -> None:
        self.name = model
        self._options = options

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Raise ModelUnavailable and RateLimited where trying again may help, and ConfigError."""
        check_allowed(self.name, cast("str | None", self._options.get("api_base")))
        libs = libraries()
        await close_clients_with_loop()
        try:
            options = {"timeout": CALL_SECONDS, **self._options, "num_retries": 0}
            response = await libs.litellm.aembedding(model=self.name, input=[*texts], **options)
            rows = cast("list[dict[str, Any]]", response.data)
            return [row["embedding"] for row in sorted(rows, key=lambda row: row["index"])]
        except libs.faults as error:
            secrets = find_secrets(cast("str | None", self._options.get("api_key")))
            failed = describe_fault(error, cast("str | None", self._options.get("api_base")))
            raise _translate(translate(failed, self.name, secrets), self.name) from None


def _translate(fault: Exception, model: str) -> Exception:
    """Return a fault as an error of an embedder."""
    return fault if isinstance(fault, SoormaError) else ConfigError(f"{model} gave no vectors: {fault}")
