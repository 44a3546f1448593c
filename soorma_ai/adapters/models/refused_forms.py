"""Refusals of a form: the words of each provider against a schema or a tool, and its other name for a parameter."""

import re
from collections.abc import Mapping

from soorma_ai.kernel.domain.values import Json

# By provider, in its own words. A server behind a router speaks as its provider does, so all of them are looked for.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "openai": (
        r"invalid schema",
        r"response_format",
        r"json_schema",
        r"structured output",
        r"text\.format",
        r"invalid_function_parameters",
        r"tools? (is|are) not supported",
        r"'?tools'? is not supported",
    ),
    "anthropic": (
        r"output_format",
        r"output_config",
        r"compiled grammar is too large",
        r"too many strict tools",
        r"schema is too complex",
        r"tools\.\d+\.(custom\.)?(input_schema|strict)",
    ),
    "gemini": (
        r"response_?schema",
        r"response_?json_?schema",
        r"too many states",
        r"nesting depth",
        r"function calling is not enabled",
        r"function_declarations\[\d+\]",
    ),
    "ollama": (r"failed to parse grammar", r"invalid json schema in format", r"does not support tools"),
    "bedrock": (r"toolConfig", r"outputConfig", r"doesn't support tool use", r"toolChoice"),
    "vllm": (r"guided_json", r"guided decoding", r"xgrammar", r"enable-auto-tool-choice", r"tool choice requires"),
    "openrouter": (r"no endpoints found that support",),
}
_REFUSED = re.compile("|".join(word for words in _WORDS.values() for word in words), re.IGNORECASE)
# Servers of a grammar fail with 500 where it cannot be made.
_REFUSED_AS_FAILURE = re.compile(r"failed to parse grammar|xgrammar|guided decoding", re.IGNORECASE)
_NAMES = ("max_completion_tokens", "max_tokens")
_NAME = r"\b(max_completion_tokens|max_tokens)\b"
_INSTEAD = re.compile(f"{_NAME}.{{0,120}}{_NAME}", re.DOTALL)


def refuses_form(status: int | None, text: str) -> bool:
    """Tell whether a provider refuses the form of the answer, and not the question."""
    if status is not None and status >= 500:
        return _REFUSED_AS_FAILURE.search(text) is not None
    return _REFUSED.search(text) is not None


def replacement_of(text: str, parameter: Json) -> str | None:
    """Return the name for the longest answer in a refusal of another name. `parameter` is the refused one, in the
    provider's own field."""
    found = _INSTEAD.search(text)
    if found is None or found[1] == found[2]:
        return None
    refused = parameter if parameter in _NAMES else found[1]
    return next(name for name in _NAMES if name != refused)
