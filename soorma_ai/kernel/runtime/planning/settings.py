"""Settings of a planner: its limits, its model, and the inputs of its prompt."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import tzinfo

from msgspec import Struct, field

from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.kernel.domain.decisions import OfferRoom
from soorma_ai.kernel.domain.history import DECIDE, HISTORY_TOKENS
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Clock, Reasoner
from soorma_ai.kernel.rules.plans.carry_out import PlanTerms
from soorma_ai.kernel.rules.prompting.today import name_day
from soorma_ai.kernel.runtime.handling.handling import Handling

# Definitions, a query, and how many are wanted: their names, the nearest first.
Means = Callable[[Sequence[EventDefinition], str, int], Awaitable[list[str]]]
# The same with a clock, by which an embedder is waited for.
Rank = Callable[[Sequence[EventDefinition], str, int, Clock], Awaitable[list[str]]]
# Returns the memories about these words.
Recall = Callable[[Handling, str], Awaitable[tuple[JsonObject, ...]]]


class PlannerSettings(Struct, frozen=True):
    """`awaits` are events to wait for without a live maker; `result_schemas` are by goal. `prompt_id` names the prompt
    of every decision, None without one. `has_model`: its `reasoner` is made at the start of the planner. `room` is the
    room of an offer in a request, `rank` finds events by their meaning, beside words. With a `zone`, the model is told
    the date there; with `recall`, memories about the goal; and the results of the last `earlier_plans` of the session.
    `title` is a plan's title, with fields of its goal data in braces. `history_tokens` is the room of a history."""

    name: str
    version: str
    limits: Limits
    terms: PlanTerms = field(default_factory=PlanTerms)
    has_model: bool = False
    reasoner: Reasoner | None = None
    instructions: str = ""
    strategy: str = "balanced"
    awaits: tuple[EventDefinition, ...] = ()
    result_schemas: dict[str, JsonObject | None] = field(default_factory=dict[str, JsonObject | None])
    prompt_id: str | None = None
    room: OfferRoom = field(default_factory=OfferRoom)
    rank: Rank | None = None
    zone: tzinfo | None = None
    recall: Recall | None = None
    earlier_plans: int = 0
    title: str = ""
    history_tokens: int = HISTORY_TOKENS

    def today(self, clock: Clock) -> str:
        """Return the prompt's text about the day; nothing without a zone."""
        return name_day(clock.now().astimezone(self.zone).date()) if self.zone else ""

    def means(self, clock: Clock) -> Means | None:
        """Return the ranking of events by meaning; None without an embedder."""
        rank = self.rank
        return None if rank is None else lambda definitions, query, most: rank(definitions, query, most, clock)

    @property
    def step_prompt(self) -> str:
        """The prompt of a step's decision."""
        return self.prompt_id or DECIDE

    def must_have_model(self) -> Reasoner:
        """Raise ConfigError for a planner without a model, LocalProtocolError for one that is not started."""
        if self.reasoner is not None:
            return self.reasoner
        if self.has_model:
            raise LocalProtocolError(f"planner {self.name} has not been started")
        raise ConfigError(without_model(self.name))


def without_model(name: str) -> str:
    return f"planner {name} cannot think: give reasoning_model='provider/model', or a reasoner="
