"""Servers with OpenAI's wire format: their addresses, their keys, and the parameters that they take."""

import os
import re

from msgspec import Struct


class ProviderEndpoint(Struct, frozen=True):
    """`base` None: only the caller knows where it is. Of `bases` and `keys`, variables of the environment, the first
    one that is set counts."""

    base: str | None
    bases: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    needs_key: bool = True


# Others speak it too, but litellm has to know of differences; these differ in nothing that is sent.
PLACES = {
    "openai": ProviderEndpoint(
        "https://api.openai.com/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",)
    ),
    "hosted_vllm": ProviderEndpoint(None, ("HOSTED_VLLM_API_BASE",), ("HOSTED_VLLM_API_KEY",), needs_key=False),
    "custom_openai": ProviderEndpoint(None, (), ("OPENAI_API_KEY",)),
    "openai_like": ProviderEndpoint(None, ("OPENAI_LIKE_API_BASE",), ("OPENAI_LIKE_API_KEY",), needs_key=False),
    "litellm_proxy": ProviderEndpoint(None, ("LITELLM_PROXY_API_BASE",), ("LITELLM_PROXY_API_KEY",), needs_key=False),
    "lm_studio": ProviderEndpoint(None, ("LM_STUDIO_API_BASE",), ("LM_STUDIO_API_KEY",), needs_key=False),
    "llamafile": ProviderEndpoint(None, ("LLAMAFILE_API_BASE",), ("LLAMAFILE_API_KEY",), needs_key=False),
    "openrouter": ProviderEndpoint("https://openrouter.ai/api/v1", ("OPENROUTER_API_BASE",), ("OPENROUTER_API_KEY",)),
    "groq": ProviderEndpoint("https://api.groq.com/openai/v1", ("GROQ_API_BASE",), ("GROQ_API_KEY",)),
    "deepseek": ProviderEndpoint("https://api.deepseek.com/v1", ("DEEPSEEK_API_BASE",), ("DEEPSEEK_API_KEY",)),
    "xai": ProviderEndpoint("https://api.x.ai/v1", ("XAI_API_BASE",), ("XAI_API_KEY",)),
    "together_ai": ProviderEndpoint("https://api.together.xyz/v1", (), ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY")),
    "fireworks_ai": ProviderEndpoint(
        "https://api.fireworks.ai/inference/v1", (), ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY")
    ),
    "cerebras": ProviderEndpoint("https://api.cerebras.ai/v1", (), ("CEREBRAS_API_KEY",)),
}
# Those that are called directly wherever they are; the others where the caller gives their address.
_USUAL = frozenset({"openai", "hosted_vllm"})
_ELSEWHERE = ("responses/", "text-completion-openai/", "chat/")
_COUNTS_THOUGHTS = re.compile(r"(o\d|gpt-5|codex)")
_CALLS_ONE_TOOL = re.compile(r"o\d")

# Settings that the wire format knows, beside `extra_headers` and `extra_body`, which are sent as they are.
PASSED_ON = frozenset(
    {"temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty", "logit_bias", "user"}
    | {"reasoning_effort", "service_tier", "store", "prompt_cache_key", "safety_identifier", "verbosity"}
    | {"extra_headers", "extra_body"}
)


def speaks_openai(model: str, base: str | None) -> bool:
    """Tell whether a model is called directly if nothing else is said. `base` is the address that was given."""
    provider, _, name = model.partition("/")
    if not name or provider not in PLACES or name.startswith(_ELSEWHERE):
        return False
    return provider in _USUAL or base is not None


def address_of(model: str, base: str | None) -> str | None:
    """Return the given address, or that of the environment or of the provider; None without any."""
    place = PLACES[model.partition("/")[0]]
    return base or next((os.environ[name] for name in place.bases if os.environ.get(name)), place.base)


def key_of(model: str) -> str | None:
    place = PLACES[model.partition("/")[0]]
    return next((os.environ[name] for name in place.keys if os.environ.get(name)), None)


def room_of(model: str) -> str:
    """Return the name under which the longest answer is told: OpenAI's newer models count their thoughts too."""
    provider, _, name = model.partition("/")
    is_newer = provider == "openai" and _COUNTS_THOUGHTS.match(name)
    return "max_completion_tokens" if is_newer else "max_tokens"


def may_call_several(model: str) -> bool:
    """Tell whether a model may call several tools at once, and has to be told not to; others refuse to be told."""
    provider, _, name = model.partition("/")
    return provider != "openai" or not _CALLS_ONE_TOOL.match(name)
