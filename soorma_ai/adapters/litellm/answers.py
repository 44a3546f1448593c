"""Answers of models, read out of litellm's responses: the text, what it cost, and what is wrong with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from soorma_ai.adapters.litellm.bodies import FILTERED, REFUSED, Body, ending_of, usage_of
from soorma_ai.adapters.litellm.faults import scrub
from soorma_ai.adapters.litellm.shapes import ANSWER, Mode
from soorma_ai.core.deciding.finding import Found, find_object, the_one
from soorma_ai.domain.history import Ending
from soorma_ai.domain.values import clip
from soorma_ai.errors import ContentFiltered, ModelRefused, ModelUnavailable, Paid

JSON_BY_TOOL = "json_tool_call"  # by which litellm asks providers for JSON that know only tools
CUT_OFF = "the answer was cut off before its end; answer more briefly"


@dataclass(frozen=True)
class RawAnswer:
    """An answer as it came. `finish` is the provider's own word for its `ending`; `contents` are the texts of its
    choices, and `calls` the (name, arguments) of the tools that the model called."""

    ending: Ending
    finish: str
    contents: tuple[str, ...]
    calls: tuple[tuple[str, str], ...]

    def text(self, mode: Mode) -> str:
        if mode == "tools" and self.calls:
            return "\n".join(arguments for _, arguments in self.calls)
        return "\n".join(self.contents)


def read_answer(response: Any, body: Body | None, model: str, also_good: frozenset[str]) -> RawAnswer:
    """Read an answer. Raises ModelRefused, ContentFiltered; ModelUnavailable when the model said nothing at all."""
    choices: list[Any] = list(getattr(response, "choices", None) or ())
    finishes = body.finishes if body else tuple(_finish(choice) for choice in choices[:1])
    refusal = next((said for choice in choices if (said := _refusal(choice.message))), "")
    if refusal or REFUSED & {*finishes}:
        said = refusal or "\n".join(str(choice.message.content or "") for choice in choices)
        raise ModelRefused(f"{model} refused: {clip(scrub(said), 400)}")
    if FILTERED & {*finishes}:
        raise ContentFiltered(f"{model}: the provider filtered the answer")
    if not choices:
        raise ModelUnavailable(f"{model}: the provider answered without choices")
    return RawAnswer(
        *ending_of(body.form if body else "other", finishes, also_good),
        contents=tuple(str(choice.message.content or "") for choice in choices),
        calls=tuple(_call(call) for choice in choices for call in (choice.message.tool_calls or ())),
    )


def find_answer(raw: RawAnswer, mode: Mode, needed: frozenset[str]) -> Found:
    """Return the one object that was answered where it was asked for; no other that has the `needed` names may stand
    beside it."""
    if raw.ending is Ending.CUT:
        return Found(fault=CUT_OFF)
    if raw.ending is Ending.ODD:
        return Found(fault=f"the answer ended with {raw.finish!r}, which is no good end; give it again, and whole")
    if mode == "tools":
        if not raw.calls:
            said = the_one([find_object(text) for text in raw.contents])
            if said.value is not None and needed <= said.value.keys():
                return replace(said, how=", ".join(filter(None, ("in the text, without a call", said.how))))
            return Found(fault=f"no tool was called; call {ANSWER} exactly once")
        if strange := [name for name, _ in raw.calls if name != ANSWER]:
            return Found(fault=f"the tool {clip(strange[0], 80)!r} was called; the only one is {ANSWER}")
    arguments = tuple(arguments for _, arguments in raw.calls)
    is_called = mode == "tools" or {name for name, _ in raw.calls} == {JSON_BY_TOOL}
    wanted, beside = (arguments, raw.contents) if is_called else (raw.contents, arguments)
    one = the_one([find_object(text) for text in wanted])
    others = [found for text in beside if (found := find_object(text)).value and needed <= found.value.keys()]
    return one if one.value is None or not others else the_one([one, *others])


def paid_for(response: Any, body: Body | None, price: Mapping[str, Any] | None) -> Paid:
    """Return what an answer has cost, by its own words; where it tells no usage, that is not known."""
    told = getattr(response, "usage", None)
    litellms = usage_of(getattr(told, "prompt_tokens", None), getattr(told, "completion_tokens", None))
    usage = body.usage if body else litellms
    if usage is None:
        return Paid(0, 0, None if price is None else 0.0, uncounted=1)
    if price is None:
        return Paid(*usage, None)
    hidden: Mapping[str, Any] = getattr(response, "_hidden_params", None) or {}
    cost = hidden.get("response_cost")
    is_told = isinstance(cost, float) and isfinite(cost) and cost >= 0 and usage == litellms
    return Paid(*usage, cost if is_told else cost_by(price, *usage))


def add_up(payments: list[Paid]) -> Paid:
    costs = [paid.cost_usd for paid in payments]
    return Paid(
        sum(paid.prompt_tokens for paid in payments),
        sum(paid.completion_tokens for paid in payments),
        None if None in costs else sum((cost for cost in costs if cost is not None), 0.0),
        sum(paid.uncounted for paid in payments),
    )


def cost_by(price: Mapping[str, Any], prompt_tokens: int, completion_tokens: int) -> float:
    output = float(price.get("output_cost_per_token") or 0)
    return prompt_tokens * float(price["input_cost_per_token"]) + completion_tokens * output


def _finish(choice: Any) -> str:
    """Return the provider's own word, which litellm keeps where it has replaced it."""
    extra: Mapping[str, Any] = getattr(choice, "provider_specific_fields", None) or {}
    return str(extra.get("native_finish_reason") or choice.finish_reason or "")


def _refusal(message: Any) -> str:
    extra: Mapping[str, Any] = getattr(message, "provider_specific_fields", None) or {}
    return str(extra.get("refusal") or getattr(message, "refusal", None) or "")


def _call(call: Any) -> tuple[str, str]:
    arguments = call.function.arguments
    return str(call.function.name or ""), arguments if isinstance(arguments, str) else json.dumps(arguments)
