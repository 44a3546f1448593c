"""Embedders: by a function, and by a model that litellm knows."""

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Any, cast

from soorma_ai.adapters.models.faults import find_secrets, translate
from soorma_ai.adapters.models.guard import check_allowed
from soorma_ai.adapters.models.litellm.libraries import close_clients_with_loop, libraries
from soorma_ai.adapters.models.litellm.transport import describe_fault
from soorma_ai.errors import ConfigError, SoormaError

Vectors = Sequence[Sequence[float]]
CALL_SECONDS = 60.0


class ByFunction:
    """Embeds by a function, which may be a coroutine function. Another model needs another name: vectors of two do not
    compare."""

    def __init__(self, name: str, embed: Callable[[Sequence[str]], Vectors | Awaitable[Vectors]]) -> None:
        self.name = name
        self._embed = embed

    async def embed(self, texts: Sequence[str]) -> Vectors:
        found = self._embed(texts)
        return await found if isawaitable(found) else found


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
            raise _known(translate(failed, self.name, secrets), self.name) from None


def _known(fault: Exception, model: str) -> Exception:
    """Return a fault as what an embedder may raise."""
    return fault if isinstance(fault, SoormaError) else ConfigError(f"{model} gave no vectors: {fault}")
