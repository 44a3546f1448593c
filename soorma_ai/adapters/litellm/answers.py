"""Answers of models, read out of litellm's responses: the text, what it cost, and what is wrong with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from soorma_ai.adapters.litellm.faults import scrub
from soorma_ai.adapters.litellm.shapes import ANSWER, Mode
from soorma_ai.domain.values import Json, clip
from soorma_ai.errors import ContentFiltered, ModelRefused, ModelUnavailable

EMPTY = "the answer is empty; give one JSON object that fits the schema"


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class RawAnswer:
    """An answer as it came. `calls` are the (name, arguments) of the tools that the model called."""

    finish: str
    content: str
    refusal: str
    calls: tuple[tuple[str, str], ...]

    def text(self, mode: Mode) -> str:
        if mode == "tools" and self.calls:
            return "\n".join(arguments for _, arguments in self.calls)
        return self.content


def read_answer(response: Any, model: str) -> RawAnswer:
    """Read an answer. Raises ModelRefused, ContentFiltered; ModelUnavailable when the model said nothing at all."""
    choices: list[Any] = list(getattr(response, "choices", None) or ())
    if not choices:
        raise ModelUnavailable(f"{model}: the provider answered without choices")
    message = choices[0].message
    extra: Mapping[str, Any] = getattr(message, "provider_specific_fields", None) or {}
    raw = RawAnswer(
        finish=str(choices[0].finish_reason or ""),
        content=str(message.content or ""),
        refusal=str(extra.get("refusal") or getattr(message, "refusal", None) or ""),
        calls=tuple(_call(call) for call in (message.tool_calls or ())),
    )
    if raw.refusal:
        raise ModelRefused(f"{model} refused: {clip(scrub(raw.refusal), 400)}")
    if raw.finish == "content_filter":
        raise ContentFiltered(f"{model}: the provider filtered the answer")
    return raw


def _call(call: Any) -> tuple[str, str]:
    arguments = call.function.arguments
    return str(call.function.name or ""), arguments if isinstance(arguments, str) else json.dumps(arguments)


def fault_in(raw: RawAnswer, mode: Mode) -> str:
    """Return what keeps this from being one answer, before it is parsed, in words for the model; empty if nothing."""
    if raw.finish == "length":
        return "the answer was cut off before its end; answer more briefly"
    if mode == "tools":
        match raw.calls:
            case ():
                return f"no tool was called; call {ANSWER} exactly once"
            case ((name, arguments),):
                if name != ANSWER:
                    return f"the tool {clip(name, 80)!r} was called; the only one is {ANSWER}"
                return "" if arguments.strip() else EMPTY
            case several:
                return f"{len(several)} tools were called; call {ANSWER} exactly once"
    return "" if raw.content.strip() else EMPTY


def object_in(made: Any) -> tuple[Json, str]:
    """Return (the object, what kept it from being one)."""
    value = cast(Json, made.model_extra or {})
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return None, "the answer holds a number that JSON does not know (NaN or Infinity)"
    return value, ""


def describe_misreading(cause: BaseException | None) -> str:
    """Return in words for the model why the text could not be parsed."""
    errors = getattr(cause, "errors", None)
    found = errors() if callable(errors) else None
    reason = cast(list[dict[str, Any]], found)[0]["msg"] if found else str(cause)
    return f"the answer is no JSON object: {clip(str(reason), 300)}"


def usage_in(response: Any, price: Mapping[str, Any] | None) -> Usage:
    usage = getattr(response, "usage", None)
    prompt = int(getattr(usage, "prompt_tokens", 0) or 0)
    completion = int(getattr(usage, "completion_tokens", 0) or 0)
    if price is None:
        return Usage(prompt, completion, None)
    hidden: Mapping[str, Any] = getattr(response, "_hidden_params", None) or {}
    cost = hidden.get("response_cost")
    if not isinstance(cost, float):
        cost = cost_by(price, prompt, completion)
    return Usage(prompt, completion, cost)


def cost_by(price: Mapping[str, Any], prompt_tokens: int, completion_tokens: int) -> float:
    output = float(price.get("output_cost_per_token") or 0)
    return prompt_tokens * float(price["input_cost_per_token"]) + completion_tokens * output
