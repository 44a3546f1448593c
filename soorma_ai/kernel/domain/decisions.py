"""Decisions of a planner: four kinds, told apart by `action`. Publishing has a form for one and one for several."""

from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Annotated, Literal, Self, cast

from msgspec import Struct
from pydantic import Field, field_validator, model_validator

from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.people import ladder_fault
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import (
    LONGEST_WAIT_SECONDS,
    Frozen,
    Json,
    JsonObject,
    Same,
    compact,
    derived_id,
    digest,
    identity_of,
)


class PublishAction(Frozen):
    """Ask a live agent to do something."""

    action: Literal["publish"] = "publish"
    """Kind of the action."""
    event_type: str
    """Name of the request."""
    data: JsonObject = Field(default_factory=dict)
    """Payload of the request."""


class PublishAllAction(Frozen):
    """Publish several requests at once, and decide again after `need` answers (all, if it is None), or after
    `timeout_seconds`. A failure, a person's refusal and silence past a deadline count as answers, too.

    All of them are published, or none: each is checked on its own. A request in need of an approval is held, and the
    others are sent. An answer after the join wakes nobody; the next decision sees it.
    """

    action: Literal["publish_all"] = "publish_all"
    """Kind of the action."""
    requests: tuple[PublishAction, ...] = Field(min_length=1)
    """Requests, in order."""
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
    """Kind of the action."""
    result: Json = None
    outcome: Literal["achieved", "not_achieved"] = "achieved"
    """Outcome of the goal."""
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
    """Wait for `expected_event`, or for a person's answer to `message`.

    Without `timeout_seconds` the wait lasts up to the plan's end. Approvers, reminders and escalation are for code to
    set; a model is offered none of them.
    """

    action: Literal["wait"] = "wait"
    """Kind of the action."""
    expected_event: str
    reason: str = ""
    """Reason of the wait."""
    message: str = ""
    timeout_seconds: float | None = Field(None, gt=0, le=LONGEST_WAIT_SECONDS)
    approvers: tuple[str, ...] = ()
    """Roles with the right to answer; none means anybody of the tenant."""
    reminders: tuple[timedelta, ...] = ()
    """Times of the reminders, from the opening."""
    escalate_after: timedelta | None = None
    """Time of the escalation, from the opening."""
    escalate_to: tuple[str, ...] = ()
    """Further roles with the right to answer from then on."""

    @model_validator(mode="after")
    def _check_ladder(self) -> Self:
        if fault := ladder_fault(self.reminders, self.escalate_after, self.escalate_to):
            raise ValueError(fault)
        return self


class DelegateAction(Frozen):
    """Give a goal to another planner."""

    action: Literal["delegate"] = "delegate"
    """Kind of the action."""
    target_planner: str
    """Name of the planner."""
    goal_event: str
    """Name of the goal."""
    goal_data: JsonObject = Field(default_factory=dict)
    """Payload of the goal."""


PlanAction = Annotated[
    PublishAction | PublishAllAction | CompleteAction | WaitAction | DelegateAction, Field(discriminator="action")
]

# How they are told apart.
ACTIONS = frozenset({"publish", "publish_all", "complete", "wait", "delegate"})
# COMPLETE without the goal reached has a name of its own in answers of models.
GIVE_UP = "give_up"


class PlannerDecision(Frozen):
    """Decision of a planner, with its reasoning."""

    next_action: PlanAction
    """Next action."""
    reasoning: str = ""
    """Reasoning of the model."""


class EventDecision(Frozen):
    """Event chosen by a model for publication, with data in the event's form, and the reason."""

    event_type: str
    """Name of the event."""
    data: JsonObject = Field(default_factory=dict)
    """Payload of the event."""
    reasoning: str = ""
    """Reasoning of the model."""


class AcceptedDecision(Struct, frozen=True):
    """Valid decision; with `approval`, it is carried out only after a person's yes.

    `producers` are the agents with the right to end a wait by their event; `parts` the requests to publish together.
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
    schemas: int = 30
    pinned: tuple[str, ...] = ()


class Showing(Record, frozen=True, dict=True):
    """Part of an offer shown to a decision, by the names of the choices: those with `schemas`, the `lines` with a fixed
    place all through a plan, the later `added` lines, and the number of the `hidden` others."""

    schemas: tuple[str, ...]
    lines: tuple[str, ...]
    added: tuple[str, ...] = ()
    hidden: int = 0

    @cached_property
    def digest(self) -> str:
        return derived_id("shown", compact([[*self.schemas], [*self.lines], [*self.added], self.hidden]))


def requests_in(decision: PlannerDecision) -> list[tuple[str, JsonObject, str | None]]:
    """Return the requests of a decision, as (event type, data, the planner for a goal)."""
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
    """Name the rejection of exactly this request, to recognise a repetition of the request."""
    return derived_id("rejected", event_type, digest(data), target or "")


def fingerprint(decision: PlannerDecision, state: str) -> str:
    """Name this decision in this state: `state` is the known state at its making, the trigger in words."""
    return _fingerprint(identity_of(decision), state)


# Asked for when a decision is judged, and when it is carried out.
@lru_cache(maxsize=64)
def _fingerprint(same: Same[PlannerDecision], state: str) -> str:
    return derived_id("decision", compact(same().next_action.model_dump(mode="json")), state)
