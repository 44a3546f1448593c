"""What a planner may decide: four kinds, told apart by `action`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from soorma_ai.domain.values import Json, JsonObject

LONGEST_WAIT_SECONDS = 10 * 366 * 24 * 3600


class _Action(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishAction(_Action):
    """Ask a live agent to do something."""

    action: Literal["publish"] = "publish"
    event_type: str
    data: JsonObject = Field(default_factory=dict)


class CompleteAction(_Action):
    """The goal is reached; `result` is its answer."""

    action: Literal["complete"] = "complete"
    result: Json = None


class WaitAction(_Action):
    """Stop until `expected_event` comes, or a person answers `message`.

    Without `timeout_seconds` the wait may last as long as the plan.
    """

    action: Literal["wait"] = "wait"
    expected_event: str
    reason: str = ""
    message: str = ""
    timeout_seconds: float | None = Field(None, gt=0, le=LONGEST_WAIT_SECONDS)


class DelegateAction(_Action):
    """Give a goal to another planner."""

    action: Literal["delegate"] = "delegate"
    target_planner: str
    goal_event: str
    goal_data: JsonObject = Field(default_factory=dict)


PlanAction = Annotated[PublishAction | CompleteAction | WaitAction | DelegateAction, Field(discriminator="action")]


class PlannerDecision(BaseModel):
    """One decision with the reasoning that was given for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    next_action: PlanAction
    reasoning: str = ""
