"""The libraries behind litellm, imported at first use since that takes seconds, and kept from calling out meanwhile."""

import asyncio
import importlib
import logging
import os
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from soorma_ai.adapters.models.transport import close_with_loop
from soorma_ai.errors import ModelBlocked

_SWITCHES = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else prices are fetched from GitHub at import
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # the same, at the first call of Anthropic
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",  # else a .env file is read from wherever the process stands
    "LITELLM_RUST": "0",  # HTTP stays where cassettes can see it
    "DISABLE_AIOHTTP_TRANSPORT": "True",  # the same: one transport for all providers
}

# All call by httpx; from version 3 on, openai calls by httpx2, which comes with it.
_TRANSPORTS = ("httpx", "httpx2")


class Libraries(Struct, frozen=True):
    """The untyped libraries. `faults` are all errors that a call of litellm has been seen to raise."""

    litellm: Any
    modes: Any
    shape: Callable[..., tuple[Any, dict[str, Any]]]
    prepare: Callable[[type[Any]], type[Any]]
    faults: tuple[type[Exception], ...]


@cache
def libraries() -> Libraries:
    for name, value in _SWITCHES.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            litellm: Any = importlib.import_module("litellm")
            instructor: Any = importlib.import_module("instructor")
            processing: Any = importlib.import_module("instructor.processing")
            openai = importlib.import_module("openai")
            transports = [importlib.import_module(name) for name in _TRANSPORTS if name == "httpx" or find_spec(name)]
        except ImportError as error:
            raise ModelBlocked(
                f"calling a model needs {error.name or 'a library'} that is not installed: pip install 'soorma-ai[llm]'"
            ) from error
        litellm.ModelResponse()  # builds its models now, while their warnings are not heard
    # Modules of litellm 1.109 that are imported within a call build types of which pydantic warns.
    warnings.filterwarnings("ignore", r"Items? .* on TypedDict class", UserWarning, r"pydantic\.")
    litellm.suppress_debug_info = True
    # They print their failures; the caller gets these as errors, and decides how bad they are.
    logging.getLogger("instructor").setLevel(logging.CRITICAL)
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    defects = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, AssertionError)
    return Libraries(
        litellm=litellm,
        modes=instructor.Mode,
        shape=processing.handle_response_model,
        prepare=processing.response_schema,
        faults=(openai.OpenAIError, *(transport.HTTPError for transport in transports), OSError, *defects),
    )


async def close_clients_with_loop() -> None:
    """Close litellm's connections, which it keeps per event loop and never closes, when the running loop ends."""
    suffix = libraries().litellm.in_memory_llm_clients_cache.update_cache_key_with_event_loop("")
    await close_with_loop("litellm", partial(_close_clients, suffix))


async def _close_clients(suffix: str) -> None:
    kept = libraries().litellm.in_memory_llm_clients_cache
    for key in [key for key in kept.cache_dict if str(key).endswith(suffix)]:
        client = kept.cache_dict[key]
        kept.delete_cache(key)
        close = getattr(client, "close", None) or getattr(client, "aclose", None)
        closing = close() if close is not None else None
        if asyncio.iscoroutine(closing):
            await closing
