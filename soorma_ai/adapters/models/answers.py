"""Answers of models: the one meant object, its cost, and its faults."""

from math import isfinite

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.adapters.extraction import Extraction, find_object, the_one
from soorma_ai.adapters.models.bodies import ABSENT, FILTERED, REFUSED, Usage, ending_of
from soorma_ai.adapters.models.faults import scrub
from soorma_ai.adapters.models.forms import ANSWER
from soorma_ai.adapters.models.prices import Price
from soorma_ai.adapters.models.transport import ProviderAnswer
from soorma_ai.errors import ContentFiltered, ModelRefused, Paid, UnreadableAnswer
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Mode
from soorma_ai.kernel.rules.decisions.sent import ends_blank

JSON_BY_TOOL = "json_tool_call"  # by which litellm asks providers for JSON that know only tools
CUT_OFF = "the answer was cut off before its end; answer more briefly, or raise max_output_tokens="
CUT_IN_BLANKS = "the answer was cut off within blanks; give it again as compact JSON, without blanks between its parts"
NO_END = (
    "the answer came without an end, so it may be cut off; give it again, and whole. A server that never names an end "
    f"needs finish_reasons=[{ABSENT!r}]"
)


class RawAnswer(Struct, frozen=True):
    """An answer as it came. `finish` is the provider's own word for its `ending`; `contents` are the texts of its
    choices, and `calls` the (name, arguments) of the tools that the model called."""

    ending: Ending
    finish: str
    contents: tuple[str, ...]
    calls: tuple[tuple[str, str], ...]

    @property
    def is_prose(self) -> bool:
        """Tell whether it ended well and holds no JSON."""
        return self.ending is Ending.GOOD and not self.calls and not any("{" in text for text in self.contents)

    def text(self, mode: Mode) -> str:
        if mode == "tools" and self.calls:
            return "\n".join(arguments for _, arguments in self.calls)
        return "\n".join(self.contents)


def read_answer(said: ProviderAnswer, model: str, also_good: frozenset[str]) -> RawAnswer:
    """Read an answer. Raises ModelRefused, ContentFiltered; UnreadableAnswer when the model said nothing at all."""
    finishes = said.body.finishes if said.body else said.finishes
    if said.refusal or REFUSED & {*finishes}:
        words = said.refusal or "\n".join(said.contents)
        raise ModelRefused(f"{model} refused: {clip(scrub(words), 400)}")
    if FILTERED & {*finishes}:
        raise ContentFiltered(f"{model}: the provider filtered the answer")
    if not said.contents:
        raise UnreadableAnswer(f"{model}: the provider answered without choices")
    ending, finish = ending_of(said.body.form if said.body else "other", finishes, also_good)
    if ending is Ending.CUT and any(map(ends_blank, (*said.contents, *(arguments for _, arguments in said.calls)))):
        ending = Ending.BLANK
    return RawAnswer(ending, finish, said.contents, said.calls)


def find_answer(raw: RawAnswer, mode: Mode, needed: frozenset[str]) -> Extraction:
    """Return the one object that was answered where it was asked for; no other that has the `needed` names may stand
    beside it."""
    if raw.ending is Ending.CUT:
        return Extraction(fault=CUT_OFF)
    if raw.ending is Ending.BLANK:
        return Extraction(fault=CUT_IN_BLANKS)
    if raw.ending is Ending.ODD and raw.finish == ABSENT:
        return Extraction(fault=NO_END)
    if raw.ending is Ending.ODD:
        return Extraction(fault=f"the answer ended with {raw.finish!r}, which is no good end; give it again, and whole")
    if mode == "tools":
        if not raw.calls:
            said = the_one([find_object(text) for text in raw.contents])
            if said.value is not None and needed <= said.value.keys():
                return replace(said, how=", ".join(filter(None, ("in the text, without a call", said.how))))
            return Extraction(fault=f"no tool was called; call {ANSWER} exactly once")
        if strange := [name for name, _ in raw.calls if name != ANSWER]:
            return Extraction(fault=f"the tool {clip(strange[0], 80)!r} was called; the only one is {ANSWER}")
    arguments = tuple(arguments for _, arguments in raw.calls)
    is_called = mode == "tools" or {name for name, _ in raw.calls} == {JSON_BY_TOOL}
    wanted, beside = (arguments, raw.contents) if is_called else (raw.contents, arguments)
    one = the_one([find_object(text) for text in wanted])
    others = [found for text in beside if (found := find_object(text)).value and needed <= found.value.keys()]
    return one if one.value is None or not others else the_one([one, *others])


def cost_of(said: ProviderAnswer, price: Price | None) -> Paid:
    """Return the cost of an answer, by the usage in its provider's own words; unknown without a usage."""
    usage = said.body.usage if said.body else said.usage
    if usage is None:
        return Paid(0, 0, None if price is None else 0.0, uncounted=1)
    told = said.cost_usd
    if told is not None and isfinite(told) and told >= 0 and said.usage and usage[:2] == said.usage[:2]:
        return _cost(usage, told if price else None)
    return _cost(usage, price.cost(usage) if price else None)


def add_up(payments: list[Paid]) -> Paid:
    costs = [paid.cost_usd for paid in payments]
    return Paid(
        sum(paid.prompt_tokens for paid in payments),
        sum(paid.completion_tokens for paid in payments),
        None if None in costs else sum((cost for cost in costs if cost is not None), 0.0),
        sum(paid.uncounted for paid in payments),
        sum(paid.cached_tokens for paid in payments),
    )


def _cost(usage: Usage, cost_usd: float | None) -> Paid:
    return Paid(usage.prompt_tokens, usage.completion_tokens, cost_usd, cached_tokens=usage.cached_tokens)
