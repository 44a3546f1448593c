"""Choreography planners: an LLM steers real work between independent services, by events, under limits that hold.

An independent implementation, not affiliated with soorma.ai.

A name is loaded when it is first used, so that a program that needs few of them (the command line, above all) starts
at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soorma_ai.agents.agent import Agent
    from soorma_ai.agents.choreography import ChoreographyPlanner
    from soorma_ai.agents.context import PlatformContext
    from soorma_ai.agents.planner import GoalContext, PlanContext, TransitionContext
    from soorma_ai.agents.tool import InvocationContext, Tool
    from soorma_ai.agents.worker import TaskContext, Worker
    from soorma_ai.domain.decisions import (
        CompleteAction,
        DelegateAction,
        PlanAction,
        PlannerDecision,
        PublishAction,
        WaitAction,
    )
    from soorma_ai.domain.events import EventEnvelope, EventTopic
    from soorma_ai.domain.limits import Limits
    from soorma_ai.domain.plans import PlanStatus
    from soorma_ai.domain.registry import AgentCapability, Approval, EventDefinition
    from soorma_ai.domain.waits import AnswerOutcome, Wait
    from soorma_ai.errors import PlanCancelled, PlanFailed, Reject, Retry, SoormaError
    from soorma_ai.platform import Platform
    from soorma_ai.runtime.client import Client
    from soorma_ai.runtime.follow import PlanHandle

__all__ = [
    "Agent",
    "AgentCapability",
    "AnswerOutcome",
    "Approval",
    "ChoreographyPlanner",
    "Client",
    "CompleteAction",
    "DelegateAction",
    "EventDefinition",
    "EventEnvelope",
    "EventTopic",
    "GoalContext",
    "InvocationContext",
    "Limits",
    "PlanAction",
    "PlanCancelled",
    "PlanContext",
    "PlanFailed",
    "PlanHandle",
    "PlanStatus",
    "PlannerDecision",
    "Platform",
    "PlatformContext",
    "PublishAction",
    "Reject",
    "Retry",
    "SoormaError",
    "TaskContext",
    "Tool",
    "TransitionContext",
    "Wait",
    "WaitAction",
    "Worker",
]

_HOMES = {
    "agents.agent": ("Agent",),
    "agents.choreography": ("ChoreographyPlanner",),
    "agents.context": ("PlatformContext",),
    "agents.planner": ("GoalContext", "PlanContext", "TransitionContext"),
    "agents.tool": ("InvocationContext", "Tool"),
    "agents.worker": ("TaskContext", "Worker"),
    "domain.decisions": (
        "CompleteAction",
        "DelegateAction",
        "PlanAction",
        "PlannerDecision",
        "PublishAction",
        "WaitAction",
    ),
    "domain.events": ("EventEnvelope", "EventTopic"),
    "domain.limits": ("Limits",),
    "domain.plans": ("PlanStatus",),
    "domain.registry": ("AgentCapability", "Approval", "EventDefinition"),
    "domain.waits": ("AnswerOutcome", "Wait"),
    "errors": ("PlanCancelled", "PlanFailed", "Reject", "Retry", "SoormaError"),
    "platform": ("Platform",),
    "runtime.client": ("Client",),
    "runtime.follow": ("PlanHandle",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
