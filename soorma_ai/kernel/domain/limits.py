"""Budgets of a plan's whole tree, and how much of them is spent."""

from datetime import timedelta
from math import isfinite
from typing import Annotated, Self, get_type_hints

from msgspec import Struct
from msgspec.structs import astuple, replace

from soorma_ai.errors import ConfigError, Paid
from soorma_ai.kernel.domain.records import Record

# Deliveries that may wait before clients are told to come back later.
MAX_BACKLOG = 10_000
# Seconds that a statement of a database on a server may take, before its connection is given up.
STATEMENT_SECONDS = 30.0

# Cures for a limit in dollars on a model of unknown price.
UNPRICED_CURES = (
    "give the planner price=(in, out), in dollars per token, or pip install 'soorma-ai[llm]', whose table has the "
    "prices of known models; or limit max_tokens instead"
)
# One handling publishes at most so many events, and none with more data, wherever its agent runs.
MAX_EVENTS_AT_ONCE = 5_000
MAX_EVENT_BYTES = 2**20
# Bytes of one commit over HTTP, as a server takes them by default.
MOST_COMMITTED = 2**20
# The budget of events drawn of a root is named so, with the root behind it.
DRAWN = "events:"
# Events of one type that clients send for one plan before it waits for them; what the events hold, in characters.
MOST_EARLY = 200
MOST_EARLY_CHARS = 2 * 2**20


class Bound(Struct, frozen=True):
    """Bound of a limit's value, declared at its field."""

    kinds: tuple[type, ...]
    least: float | timedelta
    wanted: str


Count = Annotated[int | None, Bound((int,), 0, "a number from 0")]
Repeats = Annotated[int | None, Bound((int,), 1, "a number from 1")]
Dollars = Annotated[float | None, Bound((int, float), 0, "a number from 0")]
Span = Annotated[timedelta | None, Bound((timedelta,), timedelta.resolution, "a span above zero")]


class Limits(Record, frozen=True):
    """Limits of a plan's tree, the circuit breaker. None switches one off. An action is a published request or a
    DELEGATE.

    Counts are kept with the root plan: children, restarts and pauses all draw on the same budget. `max_depth` counts
    planners in a row; `max_repeats` stops the same decision in the same state. Three limits hold for all descendants of
    one root, outside of plans too: `max_nesting` counts requests within each other, `max_hops` facts in a row,
    `max_events` everything. A tree of 1,000 parts with ten events each makes about 30,000 events.
    """

    max_actions: Count = 20
    """Published requests and DELEGATEs; 20 by default."""
    max_llm_calls: Count = 60
    """Calls of models; 60 by default."""
    max_tokens: Count = 500_000
    """Tokens of prompts and answers; 500,000 by default."""
    max_cost_usd: Dollars = None
    """US dollars of model calls; no limit by default."""
    deadline: Span = timedelta(days=7)
    """Time from the goal to its answer; seven days by default."""
    max_depth: Count = 5
    max_parallel: Count = 32
    """Open requests at once; 32 by default."""
    max_repeats: Repeats = 3
    max_nesting: Count = 16
    max_hops: Count = 64
    max_events: Count = 50_000

    @classmethod
    def off(cls) -> Self:
        """Return limits without any bound."""
        return cls(**dict.fromkeys(cls.__struct_fields__))

    def __post_init__(self) -> None:
        for value, (name, bound) in zip(astuple(self), _BOUNDS.items(), strict=True):
            if value is not None and not (type(value) in bound.kinds and value >= bound.least):
                raise ConfigError(f"Limits({name}={value!r}): give {bound.wanted}, or None to switch the limit off")


_BOUNDS: dict[str, Bound] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(Limits, include_extras=True).items()
}


class Reserved(Record, frozen=True):
    """Reserved for calls without an answer yet: it counts for the limits, and is not spent."""

    llm_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0


class Spent(Record, frozen=True):
    """Amounts spent by a plan's tree, each call settled with its actuals.

    `cost_usd` is None after a call of unknown price; `at_least_usd` is then the cost of the others.
    """

    actions: int = 0
    llm_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    at_least_usd: float = 0.0
    reserved: Reserved = Reserved()


class Payer(Struct, frozen=True):
    """Payer of model calls, and the limits in force: a plan with its tree, or outside of any plan one handling, named
    in the journal and budget instead of a plan."""

    plan_id: str
    root_plan_id: str
    limits: Limits


class Charge(Record, frozen=True):
    """Model call, reserved at its estimate before it is sent and settled with its actuals. `unpriced_calls` are those
    of unknown price, left out of `cost_usd`."""

    root_plan_id: str
    llm_calls: int
    tokens: int
    cost_usd: float
    unpriced_calls: int = 0

    def plus(self, more: "Charge") -> "Charge":
        calls, tokens, cost = more.llm_calls, more.tokens, more.cost_usd
        return Charge(self.root_plan_id, self.llm_calls + calls, self.tokens + tokens, self.cost_usd + cost)


def room_to_hold(limits: Limits) -> Limits:
    """Return the bound up to where uncertain calls are held: the half, so no sibling's call fails by them."""
    calls, tokens, cost = limits.max_llm_calls, limits.max_tokens, limits.max_cost_usd
    return replace(
        limits,
        max_llm_calls=None if calls is None else calls // 2,
        max_tokens=None if tokens is None else tokens // 2,
        max_cost_usd=None if cost is None else cost / 2,
    )


def next_call_after(charge: Charge) -> Charge:
    """Return the reservation after a call with this one: a tenth more, since a history grows."""
    return replace(charge, llm_calls=1, tokens=charge.tokens + charge.tokens // 10, cost_usd=charge.cost_usd * 1.1)


def beyond(needed: Charge, held: Charge) -> Charge | None:
    """Return the need of a call beyond its reservation; None for none."""
    calls, tokens = needed.llm_calls - held.llm_calls, needed.tokens - held.tokens
    cost = needed.cost_usd - held.cost_usd
    if max(calls, tokens, cost) <= 0:
        return None
    return Charge(needed.root_plan_id, max(0, calls), max(0, tokens), max(0.0, cost))


def fill_in(paid: Paid, reserved: Paid) -> Paid:
    """Return the cost of a call: an answer of unknown or negative usage costs its reservation."""
    known = paid if min(paid.prompt_tokens, paid.completion_tokens) >= 0 else Paid(0, 0, None, paid.uncounted + 1)
    times = known.uncounted
    return Paid(
        known.prompt_tokens + times * reserved.prompt_tokens,
        known.completion_tokens + times * reserved.completion_tokens,
        _cost(known.cost_usd, reserved.cost_usd, times),
        cached_tokens=known.cached_tokens,
    )


def _cost(told: float | None, reserved: float | None, times: int) -> float | None:
    is_told = told is not None and isfinite(told) and told >= 0
    if reserved is None:
        return told if is_told and not times else None
    return told + times * reserved if told is not None and is_told else max(1, times) * reserved
