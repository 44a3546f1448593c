"""Choreography planners: an LLM steers real work between independent services, by events, under enforced limits.

An independent implementation, not affiliated with soorma.ai.

The names of most programs are here, and are loaded on first use: a small program, such as the command line, starts at
once. Further names are public in their modules:

* `soorma_ai.adapters.tokens`: the person of a bearer token (`ApiKeys`, `FirstOf`, `ByFunction`).
* `soorma_ai.kernel.domain.doubts`: answers of a `reconcile` hook (`Done`, `NotDone`, `Failed`, `StillUnknown`).
* `soorma_ai.context_parts.progress`: records of `platform.tracker` (`PlanProgress`, `ActionStatus`, `DelegationGroup`).
* `soorma_ai.features.dead_letters.records`: records of `platform.dead_letters` (`Letter`).
* `soorma_ai.kernel.domain.people`: the result of `platform.answer` (`AnswerOutcome`).
* `soorma_ai.features.phases.records`: records of a phase agent (`SSEEvent` and its kinds, `TransitionRecord`).
* `soorma_ai.kernel.domain.plans`: status of a plan (`PlanStatus`).
* `soorma_ai.errors`: the whole tree, including the errors of stores, buses and models.
* `soorma_ai.forge`: agents with phases (`ResearchAgent`, `UnderstandAgent`, `BuildAgent`).
* `soorma_ai.kernel.ports`: Protocols and records for adapters.
* `soorma_ai.features.tracking.story`: the trace of a plan, as in `soorma plans show` (`print_trace`).
* `soorma_ai.testing`: a scripted model, a virtual clock, recordings.
"""

from typing import TYPE_CHECKING

from soorma_ai.late_names import late_function, late_names
from soorma_ai.process import AgentProcess

# Type checkers take a public name only where it is spelled; a test holds both lists together.
if TYPE_CHECKING:
    from soorma_ai.agents.agent import Agent as Agent
    from soorma_ai.agents.choreography import ChoreographyPlanner as ChoreographyPlanner
    from soorma_ai.agents.contexts.plan import EventContext as EventContext
    from soorma_ai.agents.contexts.plan import GoalContext as GoalContext
    from soorma_ai.agents.contexts.plan import PlanContext as PlanContext
    from soorma_ai.agents.contexts.plan import TransitionContext as TransitionContext
    from soorma_ai.agents.contexts.platform import PlatformContext as PlatformContext
    from soorma_ai.agents.contexts.task import ResultContext as ResultContext
    from soorma_ai.agents.contexts.task import TaskContext as TaskContext
    from soorma_ai.agents.planner import Planner as Planner
    from soorma_ai.agents.tool import InvocationContext as InvocationContext
    from soorma_ai.agents.tool import Tool as Tool
    from soorma_ai.agents.worker import Worker as Worker
    from soorma_ai.clients.asynchronous import AsyncClient as AsyncClient
    from soorma_ai.clients.blocking import Client as Client
    from soorma_ai.clients.protocol import PlatformClient as PlatformClient
    from soorma_ai.errors import BusUnavailable as BusUnavailable
    from soorma_ai.errors import ConfigError as ConfigError
    from soorma_ai.errors import ContentFiltered as ContentFiltered
    from soorma_ai.errors import DeadlineExceeded as DeadlineExceeded
    from soorma_ai.errors import DecisionError as DecisionError
    from soorma_ai.errors import Forbidden as Forbidden
    from soorma_ai.errors import Held as Held
    from soorma_ai.errors import IllegalTransition as IllegalTransition
    from soorma_ai.errors import InvalidPlan as InvalidPlan
    from soorma_ai.errors import InvalidResult as InvalidResult
    from soorma_ai.errors import LimitExceeded as LimitExceeded
    from soorma_ai.errors import LocalProtocolError as LocalProtocolError
    from soorma_ai.errors import ModelBlocked as ModelBlocked
    from soorma_ai.errors import ModelRefused as ModelRefused
    from soorma_ai.errors import ModelUnavailable as ModelUnavailable
    from soorma_ai.errors import NotFound as NotFound
    from soorma_ai.errors import Overloaded as Overloaded
    from soorma_ai.errors import PlanCancelled as PlanCancelled
    from soorma_ai.errors import PlanFailed as PlanFailed
    from soorma_ai.errors import RateLimited as RateLimited
    from soorma_ai.errors import Reject as Reject
    from soorma_ai.errors import RemoteProtocolError as RemoteProtocolError
    from soorma_ai.errors import Retry as Retry
    from soorma_ai.errors import ServerUnavailable as ServerUnavailable
    from soorma_ai.errors import SoormaError as SoormaError
    from soorma_ai.errors import StoreUnavailable as StoreUnavailable
    from soorma_ai.errors import TransientError as TransientError
    from soorma_ai.errors import Unauthenticated as Unauthenticated
    from soorma_ai.features.phases.agent import PhaseAgent as PhaseAgent
    from soorma_ai.features.phases.records import BasePhaseContext as BasePhaseContext
    from soorma_ai.features.phases.records import Checkpoint as Checkpoint
    from soorma_ai.features.phases.records import CheckpointKind as CheckpointKind
    from soorma_ai.features.phases.records import JourneyDesignBrief as JourneyDesignBrief
    from soorma_ai.features.phases.records import PhaseTransition as PhaseTransition
    from soorma_ai.features.retrieval.selector import EventSelector as EventSelector
    from soorma_ai.features.retrieval.toolkit import EventToolkit as EventToolkit
    from soorma_ai.gateways.mcp.server import McpServer as McpServer
    from soorma_ai.kernel.domain.approvals import Approval as Approval
    from soorma_ai.kernel.domain.approvals import HelpRequest as HelpRequest
    from soorma_ai.kernel.domain.decisions import CompleteAction as CompleteAction
    from soorma_ai.kernel.domain.decisions import DelegateAction as DelegateAction
    from soorma_ai.kernel.domain.decisions import EventDecision as EventDecision
    from soorma_ai.kernel.domain.decisions import PlanAction as PlanAction
    from soorma_ai.kernel.domain.decisions import PlannerDecision as PlannerDecision
    from soorma_ai.kernel.domain.decisions import PublishAction as PublishAction
    from soorma_ai.kernel.domain.decisions import PublishAllAction as PublishAllAction
    from soorma_ai.kernel.domain.decisions import WaitAction as WaitAction
    from soorma_ai.kernel.domain.events import EventEnvelope as EventEnvelope
    from soorma_ai.kernel.domain.events import EventTopic as EventTopic
    from soorma_ai.kernel.domain.expectations import Wait as Wait
    from soorma_ai.kernel.domain.limits import Limits as Limits
    from soorma_ai.kernel.domain.memory import PlanSummary as PlanSummary
    from soorma_ai.kernel.domain.memory import SessionSummary as SessionSummary
    from soorma_ai.kernel.domain.registry import AgentCapability as AgentCapability
    from soorma_ai.kernel.domain.registry import DiscoveredAgent as DiscoveredAgent
    from soorma_ai.kernel.domain.registry import EventDefinition as EventDefinition
    from soorma_ai.kernel.domain.states import PlanDefinition as PlanDefinition
    from soorma_ai.kernel.domain.states import StateAction as StateAction
    from soorma_ai.kernel.domain.states import StateConfig as StateConfig
    from soorma_ai.kernel.domain.states import StateTransition as StateTransition
    from soorma_ai.kernel.domain.tasks import DelegationSpec as DelegationSpec
    from soorma_ai.kernel.domain.tasks import SubTaskInfo as SubTaskInfo
    from soorma_ai.kernel.ports.bus import Bus as Bus
    from soorma_ai.kernel.ports.bus import Clock as Clock
    from soorma_ai.kernel.ports.model import Embedder as Embedder
    from soorma_ai.kernel.ports.model import Reasoner as Reasoner
    from soorma_ai.kernel.ports.shadows import Change as Change
    from soorma_ai.kernel.ports.store import Store as Store
    from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle as PlanHandle
    from soorma_ai.platform import Platform as Platform
    from soorma_ai.remote import RemoteAgents as RemoteAgents

_HOMES = {
    "agents.agent": "Agent",
    "agents.choreography": "ChoreographyPlanner",
    "agents.contexts.plan": "EventContext GoalContext PlanContext TransitionContext",
    "agents.contexts.platform": "PlatformContext",
    "agents.contexts.task": "ResultContext TaskContext",
    "agents.planner": "Planner",
    "agents.tool": "InvocationContext Tool",
    "agents.worker": "Worker",
    "clients.asynchronous": "AsyncClient",
    "clients.blocking": "Client",
    "clients.protocol": "PlatformClient",
    "errors": (
        "BusUnavailable ConfigError ContentFiltered DeadlineExceeded DecisionError Forbidden Held "
        "IllegalTransition InvalidPlan "
        "InvalidResult LimitExceeded LocalProtocolError ModelBlocked ModelRefused ModelUnavailable NotFound Overloaded "
        "PlanCancelled PlanFailed RateLimited Reject RemoteProtocolError Retry ServerUnavailable SoormaError "
        "StoreUnavailable TransientError Unauthenticated"
    ),
    "features.phases.agent": "PhaseAgent",
    "features.phases.records": "BasePhaseContext Checkpoint CheckpointKind JourneyDesignBrief PhaseTransition",
    "features.retrieval.selector": "EventSelector",
    "features.retrieval.toolkit": "EventToolkit",
    "gateways.mcp.server": "McpServer",
    "kernel.domain.approvals": "Approval HelpRequest",
    "kernel.domain.decisions": (
        "CompleteAction DelegateAction EventDecision PlanAction PlannerDecision PublishAction PublishAllAction "
        "WaitAction"
    ),
    "kernel.domain.events": "EventEnvelope EventTopic",
    "kernel.domain.expectations": "Wait",
    "kernel.domain.limits": "Limits",
    "kernel.domain.memory": "PlanSummary SessionSummary",
    "kernel.domain.registry": "AgentCapability DiscoveredAgent EventDefinition",
    "kernel.domain.states": "PlanDefinition StateAction StateConfig StateTransition",
    "kernel.domain.tasks": "DelegationSpec SubTaskInfo",
    "kernel.ports.bus": "Bus Clock",
    "kernel.ports.model": "Embedder Reasoner",
    "kernel.ports.shadows": "Change",
    "kernel.ports.store": "Store",
    "kernel.runtime.client.plan_handle": "PlanHandle",
    "platform": "Platform",
    "remote": "RemoteAgents",
}

__getattr__, __dir__ = late_names(__name__, _HOMES)
AgentProcess.runner = late_function("soorma_ai.platform", "run")
