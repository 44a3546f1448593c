"""Choreography planners: an LLM steers real work between independent services, by events, under limits that hold.

An independent implementation, not affiliated with soorma.ai.
"""

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
from soorma_ai.runtime.client import Client, PlanHandle

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
