"""Provider's own words about an answer: its end and its usage. litellm maps the ends to a few of its own, and makes
good ones of bad ones; it tells no usage when it cannot read the rest."""

import json
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, cast

from msgspec import Struct

from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import Json, JsonObject, follow
from soorma_ai.kernel.rules.schemas.combine import object_in

Form = Literal["openai", "anthropic", "gemini", "ollama", "bedrock", "other"]

GOOD: Mapping[Form, frozenset[str]] = {
    "openai": frozenset({"stop", "tool_calls", "function_call", "eos", "eos_token"}),
    "anthropic": frozenset({"end_turn", "tool_use", "stop_sequence"}),
    "gemini": frozenset({"STOP"}),
    "ollama": frozenset({"stop"}),
    "bedrock": frozenset({"end_turn", "tool_use", "stop_sequence"}),
}
ANY_GOOD = frozenset({"COMPLETE", "TOOL_CALL", "completed"}).union(*GOOD.values())
CUT = frozenset({"length", "max_tokens", "MAX_TOKENS"})
REFUSED = frozenset({"refusal"})
FILTERED = frozenset(
    {
        *("content_filter", "content_filtered", "guardrail_intervened", "sensitive", "ERROR_TOXIC", "MODEL_ARMOR"),
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    }
)
ABSENT, NOT_DONE = "absent", "not done"
MOST_TOKENS = 10**9  # more is no count


class Usage(NamedTuple):
    """Tokens in and out. Of those in, `cached_tokens` had been kept by the provider, and `written_tokens` are kept from
    now on."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    written_tokens: int = 0


class Body(Struct, frozen=True):
    """Read body of an answer. `finishes` are all its ends, in its provider's words; `usage` is None for a body without
    it."""

    form: Form
    finishes: tuple[str, ...]
    usage: Usage | None
    content: JsonObject


def ending_of(form: Form, finishes: Iterable[str], also_good: frozenset[str]) -> tuple[Ending, str]:
    """Return the worst of the ends, and its name. An end outside of the lists of good ones is bad."""
    named = [*finishes] or [ABSENT]
    for number, finish in enumerate(named):
        good = ANY_GOOD if number else GOOD.get(form, ANY_GOOD)
        if finish not in good | CUT | also_good:
            return Ending.ODD, finish
    cut = next((finish for finish in named if finish in CUT - also_good), None)
    return (Ending.CUT, cut) if cut else (Ending.GOOD, named[0])


def read_body(text: object) -> Body | None:
    """Read an answer in one of the forms that are known; None for anything else, such as an error."""
    try:
        body = cast(Json, json.loads(text)) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return body_of(body)


def body_of(body: Json) -> Body | None:
    if not isinstance(body, dict) or body.get("error"):
        return None
    if isinstance(body.get("choices"), list):
        return _openai(body)
    if "stop_reason" in body:
        return _body("anthropic", [body["stop_reason"]], _anthropic_usage(body), body)
    if "candidates" in body or "promptFeedback" in body:
        return _gemini(body)
    if isinstance(body.get("done"), bool):
        finish = body.get("done_reason") if body["done"] else NOT_DONE
        return _body("ollama", [finish], usage_of(body.get("prompt_eval_count"), body.get("eval_count")), body)
    if "stopReason" in body:
        told = object_in(body.get("usage"))
        cached, written = told.get("cacheReadInputTokens"), told.get("cacheWriteInputTokens")
        used = usage_of(_sum(told.get("inputTokens"), cached, written), told.get("outputTokens"), cached, written)
        return _body("bedrock", [body["stopReason"]], used, body)
    return None


def usage_of(tokens_in: object, tokens_out: object, cached: object = None, written: object = None) -> Usage | None:
    """Return the usage of a call. Numbers below zero, or none at all, are no usage. Kept tokens count up to the number
    of tokens in."""
    if not _is_count(tokens_in) or not _is_count(tokens_out):
        return None
    came, went = int(cast(float, tokens_in)), int(cast(float, tokens_out))
    if min(came, went) < 0 or not (came or went):
        return None
    kept = min(came, _count(cached))
    return Usage(came, went, kept, min(came - kept, _count(written)))


def _openai(body: JsonObject) -> Body:
    choices = [choice for choice in cast(list[Json], body["choices"]) if isinstance(choice, dict)]
    finishes = [choice.get("finish_reason") or follow(choice, ["finish_details", "type"], None) for choice in choices]
    # A router tells both: its own word, and that of the provider behind it.
    behind = [choice["native_finish_reason"] for choice in choices if choice.get("native_finish_reason")]
    told = object_in(body.get("usage"))
    details = object_in(told.get("prompt_tokens_details"))
    cached = details.get("cached_tokens") or told.get("prompt_cache_hit_tokens")
    used = usage_of(told.get("prompt_tokens"), told.get("completion_tokens"), cached, details.get("cache_write_tokens"))
    return _body("openai", [*finishes, *behind], used, body)


def _anthropic_usage(body: JsonObject) -> Usage | None:
    told = object_in(body.get("usage"))
    cached, written = told.get("cache_read_input_tokens"), told.get("cache_creation_input_tokens")
    return usage_of(_sum(told.get("input_tokens"), cached, written), told.get("output_tokens"), cached, written)


def _gemini(body: JsonObject) -> Body:
    candidates = body.get("candidates")
    finishes = [follow(one, ["finishReason"], None) for one in candidates] if isinstance(candidates, list) else []
    if not finishes and follow(body, ["promptFeedback", "blockReason"], None):
        finishes = ["PROHIBITED_CONTENT"]
    told = object_in(body.get("usageMetadata"))
    used = _sum(told.get("promptTokenCount"), told.get("toolUsePromptTokenCount"))
    made = _sum(told.get("candidatesTokenCount"), told.get("thoughtsTokenCount"))
    return _body("gemini", finishes, usage_of(used, made, told.get("cachedContentTokenCount")), body)


def _body(form: Form, finishes: Iterable[Json], usage: Usage | None, body: JsonObject) -> Body:
    named = tuple(finish if isinstance(finish, str) and finish else ABSENT for finish in finishes)
    return Body(form, named, usage, body)


def _is_count(told: object) -> bool:
    return isinstance(told, int | float) and not isinstance(told, bool) and abs(told) <= MOST_TOKENS


def _count(told: object) -> int:
    """Return a count that need not be told."""
    return max(0, int(cast(float, told))) if _is_count(told) else 0


def _sum(first: object, *more: object) -> float | None:
    """Return the sum of the told numbers; None without the first, and for a number below zero."""
    counts = [cast(float, count) for count in (first, *more) if _is_count(count)]
    return sum(counts) if _is_count(first) and min(counts) >= 0 else None
