"""Settings of a planner: its limits, its model, and the inputs of its prompt."""

from collections.abc import Awaitable, Callable
from datetime import datetime, tzinfo
from functools import partial

from msgspec import Struct, field

from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.kernel.domain.decisions import OfferRoom
from soorma_ai.kernel.domain.history import DECIDE
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Clock, Reasoner
from soorma_ai.kernel.rules.plans.carry_out import PlanTerms
from soorma_ai.kernel.rules.prompting.today import name_day
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.handling.semantic_search import Means, SemanticSearch

# Returns the memories about these words.
Recall = Callable[[Handling, str], Awaitable[tuple[JsonObject, ...]]]


class PlannerSettings(Struct, frozen=True):
    """Settings of a planner. `awaits` are further events for its plans to wait for, without a live producer;
    `result_schemas` those of the goals. `prompt_id` names the prompt of every decision, if there is one. `has_model`:
    it has one; its `reasoner` is made at the planner's start. `room` is that of the offer in a request, `meanings` find
    events beside words. With a `zone`, the prompt has the date there; with `recall`, memories about the goal; of the
    earlier plans of its session, the last `earlier_plans` results. `title` is that of a plan, with fields of its goal
    data in braces."""

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
    meanings: SemanticSearch | None = None
    zone: tzinfo | None = None
    recall: Recall | None = None
    earlier_plans: int = 0
    title: str = ""

    def today(self, now: datetime) -> str:
        """Return the prompt's text about the day; nothing without a zone."""
        return name_day(now.astimezone(self.zone).date()) if self.zone else ""

    def means(self, clock: Clock) -> Means | None:
        """Return the ranking of events by meaning; None without an embedder."""
        return partial(self.meanings.rank, clock=clock) if self.meanings else None

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
