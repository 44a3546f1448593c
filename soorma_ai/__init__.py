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
    from soorma_ai.agents.contexts.plan import EventContext, GoalContext, PlanContext, TransitionContext
    from soorma_ai.agents.contexts.platform import PlatformContext
    from soorma_ai.agents.contexts.task import ResultContext, TaskContext
    from soorma_ai.agents.planner import Planner
    from soorma_ai.agents.tool import InvocationContext, Tool
    from soorma_ai.agents.worker import Worker
    from soorma_ai.domain.decisions import (
        CompleteAction,
        DelegateAction,
        PlanAction,
        PlannerDecision,
        PublishAction,
        PublishAllAction,
        WaitAction,
    )
    from soorma_ai.domain.doubts import Done, Failed, NotDone, OutsideEffects, StillUnknown
    from soorma_ai.domain.events import EventEnvelope, EventTopic
    from soorma_ai.domain.expectations import Wait
    from soorma_ai.domain.letters import Letter
    from soorma_ai.domain.limits import Limits
    from soorma_ai.domain.memory import PlanSummary, SessionSummary
    from soorma_ai.domain.people import AnswerOutcome
    from soorma_ai.domain.plans import PlanStatus
    from soorma_ai.domain.registry import AgentCapability, Approval, DiscoveredAgent, EventDefinition
    from soorma_ai.domain.states import PlanDefinition, StateAction, StateConfig, StateTransition
    from soorma_ai.domain.tasks import DelegationSpec, SubTaskInfo
    from soorma_ai.domain.tracking import ActionStatus, DelegationGroup, PlanProgress
    from soorma_ai.errors import PlanCancelled, PlanFailed, Reject, Retry, SoormaError
    from soorma_ai.platform import Platform
    from soorma_ai.runtime.client.client import Client
    from soorma_ai.runtime.client.plan_handle import PlanHandle

__all__ = [
    "ActionStatus",
    "Agent",
    "AgentCapability",
    "AnswerOutcome",
    "Approval",
    "ChoreographyPlanner",
    "Client",
    "CompleteAction",
    "DelegateAction",
    "DelegationGroup",
    "DelegationSpec",
    "DiscoveredAgent",
    "Done",
    "EventContext",
    "EventDefinition",
    "EventEnvelope",
    "EventTopic",
    "Failed",
    "GoalContext",
    "InvocationContext",
    "Letter",
    "Limits",
    "NotDone",
    "OutsideEffects",
    "PlanAction",
    "PlanCancelled",
    "PlanContext",
    "PlanDefinition",
    "PlanFailed",
    "PlanHandle",
    "PlanProgress",
    "PlanStatus",
    "PlanSummary",
    "Planner",
    "PlannerDecision",
    "Platform",
    "PlatformContext",
    "PublishAction",
    "PublishAllAction",
    "Reject",
    "ResultContext",
    "Retry",
    "SessionSummary",
    "SoormaError",
    "StateAction",
    "StateConfig",
    "StateTransition",
    "StillUnknown",
    "SubTaskInfo",
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
    "agents.contexts.plan": (
        "EventContext",
        "GoalContext",
        "PlanContext",
        "TransitionContext",
    ),
    "agents.contexts.platform": ("PlatformContext",),
    "agents.contexts.task": (
        "ResultContext",
        "TaskContext",
    ),
    "agents.planner": ("Planner",),
    "agents.tool": (
        "InvocationContext",
        "Tool",
    ),
    "agents.worker": ("Worker",),
    "domain.decisions": (
        "CompleteAction",
        "DelegateAction",
        "PlanAction",
        "PlannerDecision",
        "PublishAction",
        "PublishAllAction",
        "WaitAction",
    ),
    "domain.doubts": (
        "Done",
        "Failed",
        "NotDone",
        "OutsideEffects",
        "StillUnknown",
    ),
    "domain.events": (
        "EventEnvelope",
        "EventTopic",
    ),
    "domain.expectations": ("Wait",),
    "domain.letters": ("Letter",),
    "domain.limits": ("Limits",),
    "domain.memory": (
        "PlanSummary",
        "SessionSummary",
    ),
    "domain.people": ("AnswerOutcome",),
    "domain.plans": ("PlanStatus",),
    "domain.registry": (
        "AgentCapability",
        "Approval",
        "DiscoveredAgent",
        "EventDefinition",
    ),
    "domain.states": (
        "PlanDefinition",
        "StateAction",
        "StateConfig",
        "StateTransition",
    ),
    "domain.tasks": (
        "DelegationSpec",
        "SubTaskInfo",
    ),
    "domain.tracking": (
        "ActionStatus",
        "DelegationGroup",
        "PlanProgress",
    ),
    "errors": (
        "PlanCancelled",
        "PlanFailed",
        "Reject",
        "Retry",
        "SoormaError",
    ),
    "platform": ("Platform",),
    "runtime.client.client": ("Client",),
    "runtime.client.plan_handle": ("PlanHandle",),
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
