"""Decisions of a planner: four kinds, told apart by `action`. Publishing has a form for one and one for several."""

from datetime import timedelta
from functools import cached_property
from typing import Annotated, Literal, Self, cast

from msgspec import Struct
from pydantic import Field, field_validator, model_validator

from soorma_ai.kernel.domain.people import ladder_fault
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import Approval, EventDefinition
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, Frozen, Json, JsonObject, compact, derived_id, digest


class PublishAction(Frozen):
    """Ask a live agent to do something."""

    action: Literal["publish"] = "publish"
    event_type: str
    data: JsonObject = Field(default_factory=dict)


class PublishAllAction(Frozen):
    """Ask for several things at once, and decide again when `need` of them have come (all, if it is None), or when
    `timeout_seconds` are over. A failure, a refusal by a person and silence after a deadline count as come, too.

    All of them are published, or none: each is checked as if it were alone. One that a person must approve is held,
    and the others go. An answer that comes after the join wakes nobody; the planner is told it at its next decision.
    """

    action: Literal["publish_all"] = "publish_all"
    requests: tuple[PublishAction, ...] = Field(min_length=1)
    need: int | None = Field(None, ge=1)
    timeout_seconds: float | None = Field(None, gt=0, le=LONGEST_WAIT_SECONDS)

    @field_validator("requests", mode="before")
    @classmethod
    def _make_tuple(cls, given: object) -> object:
        return tuple(cast("list[object]", given)) if isinstance(given, list) else given

    @model_validator(mode="after")
    def _check_need(self) -> Self:
        if self.need is not None and self.need > len(self.requests):
            raise ValueError(f"need={self.need} can never come: only {len(self.requests)} requests are published")
        return self


class CompleteAction(Frozen):
    """End the plan. The goal is reached, and `result` is its answer; or it is `not_achieved`, for a `reason`.

    `missing` names the missing things, one each: an agent, a value, a permission. A plan that gives up fails with the
    code `gave_up`.
    """

    action: Literal["complete"] = "complete"
    result: Json = None
    outcome: Literal["achieved", "not_achieved"] = "achieved"
    reason: str = ""
    missing: tuple[str, ...] = ()

    @field_validator("missing", mode="before")
    @classmethod
    def _make_tuple(cls, given: object) -> object:
        return tuple(cast("list[object]", given)) if isinstance(given, list) else given

    @model_validator(mode="after")
    def _check_outcome(self) -> Self:
        if self.outcome == "not_achieved" and not self.reason.strip():
            raise ValueError("giving up needs a reason: say why the goal cannot be reached")
        if self.outcome == "not_achieved" and self.result is not None:
            raise ValueError("giving up has a reason and no result")
        if self.outcome == "achieved" and (self.reason or self.missing):
            raise ValueError("a reached goal has a result, and neither a reason nor missing things")
        return self


class WaitAction(Frozen):
    """Stop until `expected_event` comes, or a person answers `message`.

    Without `timeout_seconds` the wait may last as long as the plan. Who may answer, who is reminded when, and who may
    answer beside them after a while is for code to say; a model is offered none of it.
    """

    action: Literal["wait"] = "wait"
    expected_event: str
    reason: str = ""
    message: str = ""
    timeout_seconds: float | None = Field(None, gt=0, le=LONGEST_WAIT_SECONDS)
    approvers: tuple[str, ...] = ()
    reminders: tuple[timedelta, ...] = ()
    escalate_after: timedelta | None = None
    escalate_to: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_ladder(self) -> Self:
        if fault := ladder_fault(self.reminders, self.escalate_after, self.escalate_to):
            raise ValueError(fault)
        return self


class DelegateAction(Frozen):
    """Give a goal to another planner."""

    action: Literal["delegate"] = "delegate"
    target_planner: str
    goal_event: str
    goal_data: JsonObject = Field(default_factory=dict)


PlanAction = Annotated[
    PublishAction | PublishAllAction | CompleteAction | WaitAction | DelegateAction, Field(discriminator="action")
]

# How they are told apart.
ACTIONS = frozenset({"publish", "publish_all", "complete", "wait", "delegate"})
# COMPLETE without the goal reached has a name of its own in answers of models.
GIVE_UP = "give_up"


class PlannerDecision(Frozen):
    """One decision with the reasoning that was given for it."""

    next_action: PlanAction
    reasoning: str = ""


class EventDecision(Frozen):
    """One event that a model chose to be published, its data as it fits the event's schema, and why."""

    event_type: str
    data: JsonObject = Field(default_factory=dict)
    reasoning: str = ""


class AcceptedDecision(Struct, frozen=True):
    """A decision that may be carried out; with `approval`, only after a person said yes.

    `producers` are those whose event ends a wait; `parts` the requests that are published together.
    """

    decision: PlannerDecision
    definition: EventDefinition | None = None
    approval: Approval | None = None
    producers: tuple[str, ...] = ()
    parts: tuple["AcceptedDecision", ...] = ()


class OfferRoom(Struct, frozen=True):
    """Room for an offer in a request: tokens of its lines, and how many schemas are shown where not all fit. `pinned`
    events are always among these."""

    tokens: int = 4_000
    schemas: int = 20
    pinned: tuple[str, ...] = ()


class Showing(Record, frozen=True, dict=True):
    """What of an offer a decision was shown, by the names of the choices: those with `schemas`, the `lines` that stand
    in the same place all through a plan, the lines that were `added` later, and the number of the `hidden` others."""

    schemas: tuple[str, ...]
    lines: tuple[str, ...]
    added: tuple[str, ...] = ()
    hidden: int = 0

    @cached_property
    def digest(self) -> str:
        return derived_id("shown", compact([[*self.schemas], [*self.lines], [*self.added], self.hidden]))


def requests_in(decision: PlannerDecision) -> list[tuple[str, JsonObject, str | None]]:
    """Return what is asked of agents, as (event type, data, the planner that it is a goal for)."""
    match decision.next_action:
        case PublishAction(event_type=name, data=data):
            return [(name, data, None)]
        case PublishAllAction(requests=requests):
            return [(request.event_type, request.data, None) for request in requests]
        case DelegateAction(goal_event=name, goal_data=data, target_planner=target):
            return [(name, data, target)]
        case WaitAction() | CompleteAction():
            return []


def rejection_of(event_type: str, data: JsonObject, target: str | None) -> str:
    """Name the rejection of exactly this request, so that it is recognised when it is made again."""
    return derived_id("rejected", event_type, digest(data), target or "")


def fingerprint(decision: PlannerDecision, state: str) -> str:
    """Name this decision in this state: `state` is what was known when it was made, the trigger in words."""
    return derived_id("decision", compact(decision.next_action.model_dump(mode="json")), state)
