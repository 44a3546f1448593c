"""Provider's own words about an answer: how it ended, and what it used. litellm maps the first to a few of its own, and
makes good ends of bad ones; of the second it tells nothing when it cannot read the rest."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from soorma_ai.domain.history import Ending
from soorma_ai.domain.values import Json, JsonObject, follow

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


@dataclass(frozen=True)
class Body:
    """`finishes` are all that it names, in its provider's words; `usage` tokens in and out, if it tells them."""

    form: Form
    finishes: tuple[str, ...]
    usage: tuple[int, int] | None
    content: JsonObject


def ending_of(form: Form, finishes: Iterable[str], also_good: frozenset[str]) -> tuple[Ending, str]:
    """Return the worst of the ends, and its name: what is not on a list of good ones is none."""
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
    if not isinstance(body, dict) or body.get("error"):
        return None
    if isinstance(body.get("choices"), list):
        return _openai(body)
    if "stop_reason" in body:
        used = _sum(body, ["usage"], "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return _body("anthropic", [body["stop_reason"]], used, _sum(body, ["usage"], "output_tokens"), body)
    if "candidates" in body or "promptFeedback" in body:
        return _gemini(body)
    if isinstance(body.get("done"), bool):
        finish = body.get("done_reason") if body["done"] else NOT_DONE
        return _body("ollama", [finish], _sum(body, [], "prompt_eval_count"), _sum(body, [], "eval_count"), body)
    if "stopReason" in body:
        used = _sum(body, ["usage"], "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        return _body("bedrock", [body["stopReason"]], used, _sum(body, ["usage"], "outputTokens"), body)
    return None


def usage_of(tokens_in: object, tokens_out: object) -> tuple[int, int] | None:
    """Return tokens in and out. Below zero, or nothing at all, is no usage."""
    if not all(isinstance(count, int | float) and not isinstance(count, bool) for count in (tokens_in, tokens_out)):
        return None
    found = int(cast(float, tokens_in)), int(cast(float, tokens_out))
    return found if min(found) >= 0 and any(found) else None


def _openai(body: JsonObject) -> Body | None:
    choices = [choice for choice in cast(list[Json], body["choices"]) if isinstance(choice, dict)]
    finishes = [choice.get("finish_reason") or follow(choice, ["finish_details", "type"], None) for choice in choices]
    # A router tells both: its own word, and that of the provider behind it.
    behind = [choice["native_finish_reason"] for choice in choices if choice.get("native_finish_reason")]
    used, made = _sum(body, ["usage"], "prompt_tokens"), _sum(body, ["usage"], "completion_tokens")
    return _body("openai", [*finishes, *behind], used, made, body)


def _gemini(body: JsonObject) -> Body:
    candidates = body.get("candidates")
    finishes = [follow(one, ["finishReason"], None) for one in candidates] if isinstance(candidates, list) else []
    if not finishes and follow(body, ["promptFeedback", "blockReason"], None):
        finishes = ["PROHIBITED_CONTENT"]
    used = _sum(body, ["usageMetadata"], "promptTokenCount", "toolUsePromptTokenCount")
    made = _sum(body, ["usageMetadata"], "candidatesTokenCount", "thoughtsTokenCount")
    return _body("gemini", finishes, used, made, body)


def _body(form: Form, finishes: Iterable[Json], used: object, made: object, body: JsonObject) -> Body:
    named = tuple(finish if isinstance(finish, str) and finish else ABSENT for finish in finishes)
    return Body(form, named, usage_of(used, made), body)


def _sum(body: JsonObject, path: list[str | int], first: str, *more: str) -> float | None:
    """Add up what is told; None where the first is not, or where one of it is below zero."""
    told = follow(body, path, None)
    given = [told.get(name) for name in (first, *more)] if isinstance(told, dict) else [None]
    counts = [count for count in given if isinstance(count, int | float)]
    return sum(counts) if isinstance(given[0], int | float) and min(counts) >= 0 else None
