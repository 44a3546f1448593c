"""The missing names of the seed documents, each with the reason."""

from seeds.names import SKETCHES
from soorma_ai.features.phases.hooks import REPLACED_HELPERS

_MADE_HERE = "the framework makes and keeps contexts, from the current delivery; a test makes its data by hand"
_ONE_ENVELOPE = "there is one class of events, `EventEnvelope`; its topic separates requests from answers"
_SERVICE = "no class of its own: `platform.start` registers an agent in process, `POST /v1/agents` over HTTP"
_OWN = "the sample's own"
_CHECKPOINT = "of the sample's own `response`: an answer at a checkpoint is `platform.answer(...)`, in words of its own"
_MEMOS = "long-term memory takes parameters: `store_knowledge(...)`, `log_interaction(...)`"
_STREAM = (
    "nothing is wrapped: a request and its reply are events of `plan.events()`; a phase agent's stream has "
    "`tool.start`, `tool.success` and `tool.error`"
)

EXPLAINED: dict[str, str] = {
    **{name: sketch.why for name, sketch in SKETCHES.items() if not sketch.ours},
    **dict.fromkeys(
        (
            "InvocationContext.from_event",
            "TaskContext.from_event",
            "ResultContext.from_event",
            "from_event",
            "TaskContext.from_dict",
            "from_dict",
            "to_dict",
        ),
        _MADE_HERE,
    ),
    **dict.fromkeys(("ActionRequestEvent", "ActionResultEvent"), _ONE_ENVELOPE),
    **dict.fromkeys(("AgentDefinition", "AgentRegistrationRequest", "EventRegistrationRequest"), _SERVICE),
    **dict.fromkeys(("ToolWrapper", "emit"), _STREAM),
    **dict.fromkeys(("compute", "heard", "tool", "worker"), _OWN),
    "BaseDTO": "data has no base class of its own: registered data is a pydantic model, read data a record",
    "StateMachine": "a machine is a dict of states by their names; there is no class of that name to make",
    "bus.subscribe": "a handler is the subscription: `@agent.on_event(event_type, topic=...)`",
    "topics": "a parameter of `bus.subscribe`",
    **dict.fromkeys(("task.id", "task.message", "task.sessionId"), "the sample's `task` is an `A2ATask`, which has it"),
    "event_to_task_response": "the sample's own; `A2AGatewayHelper.event_to_response` is the printed helper's",
    **dict.fromkeys(("approved", "current", "rejection_reason"), _CHECKPOINT),
    **dict.fromkeys(("EpisodicMemoryCreate", "SemanticMemoryCreate"), _MEMOS),
    "soorma_common": "there is one package, `soorma_ai`, which gives its names at its top",
}

# Habits of readers of the documents, beyond its samples.
HABITS: dict[str, str] = {
    '`event["data"]`': "an event is an `EventEnvelope` and no dict: `event.data`, which is one, `event.type`, "
    "`event.correlation_id`",
    "`TaskContext(...)`, `PlanContext(...)` by hand": "both stand for a row and the effects of its handling, so a test "
    "takes `Platform` with a file in a temporary folder, which starts in milliseconds, and `ScriptedReasoner` and "
    "`VirtualClock` of `soorma_ai.testing`. `InvocationContext(request_id=..., event_type=..., data=...)` and "
    "`GoalContext(event_type=..., data=...)` are only data, and made by hand",
    "`bus.request` in `on_goal`": "its answer is no plan's; `goal.dispatch(event_type, data)` asks for the plan, and "
    "the failure of a plan that was left so says that",
    "`await plan.save()`, `await task.save()`": "may be left out: the working copy is saved when the handler returns, "
    "with all that it did, or not at all",
    "`events_consumed=[...]`": "is checked when the agent starts: each of its events needs a handler, and only a "
    "handler consumes",
}

# The printed helpers of the base agent without a call here, refused in a subclass.
HELPERS: dict[str, str] = {
    f"`{name}`": f"refused when the class is made: {cure}" for name, cure in REPLACED_HELPERS.items()
}

# The printed imports, with `soorma_ai` in the place of `soorma`.
IMPORTS: dict[str, str] = {
    "from soorma.agents import Agent, Planner, Tool, Worker": "as printed",
    "from soorma.ai.choreography import ChoreographyPlanner": "as printed",
    "from soorma.plan_context import PlanContext": "as printed",
    "from soorma.task_context import DelegationSpec": "as printed",
    "from soorma_common import EventDefinition": "and its like: from the top of the package; the forms of A2A from "
    "`soorma_ai.gateways.a2a`",
}

_ROLES = "as printed; a caller without `response_event` gets the tool's default name"
_KINDS = "as printed; a tool that raises answers with an error, and a transient fault is retried first"
_PLAN = "a plan of work, and no statement about code"

# The printed tables, by document and first row.
TABLES: dict[tuple[str, str], str] = {
    ("agent-patterns-architecture", "Element, Owner, Notes"): _ROLES,
    ("knowledge-forge-agent-architecture", "Property, Description"): "the hooks of `PhaseAgent`; docs/phases.md "
    "lists them. Entry and exit conditions are those of the transitions",
    ("knowledge-forge-agent-architecture", "Trigger Type, Example"): "conditions of backward transitions; a request of "
    "the user is a message, which conditions see",
    ("knowledge-forge-agent-architecture", "Aspect, First Visit, Re-Entry"): "as printed, by `_get_phase_prompt` and "
    "`_get_reentry_prompt`; `phase.changed` has `is_backward` and the reason",
    ("knowledge-forge-agent-architecture", "Phase Transition, Checkpoint?, Purpose"): "as printed; the optional one "
    "goes on after its time",
    ("knowledge-forge-agent-architecture", "Category, Events, When"): "as printed; over HTTP with "
    "`?named=true`, since a browser hears named events by `addEventListener` alone",
    ("sdk-refactoring-plan", "Issue, Current Behavior, Impact, Priority"): _PLAN,
    ("sdk-refactoring-plan", "Level, Pattern, Event Definition, Payload Handling"): "as printed",
    ("sdk-refactoring-plan", "Benefit, Without Schema, With Schema"): "as printed; a refusal has path, rule, found and "
    "wanted",
    ("sdk-refactoring-plan", "A2A Agent Card Field, Soorma Equivalent, Notes"): "as printed by `A2AGatewayHelper`; "
    "`A2AGateway` serves one card for all goals of a tenant, with `requests=True` also for the requests to tools and "
    "workers",
    ("sdk-refactoring-plan", "Service Endpoint, SDK Method, Notes"): "row by row under Printed endpoints",
    ("sdk-refactoring-plan", "Level, Events, Agent Registration"): "as printed; a schema in `events_consumed` is the "
    "handler's",
    ("sdk-refactoring-plan", "Level, Agent Type, Decorator, Behavior"): "as printed",
    ("sdk-refactoring-plan", "Aspect, Plan-Level Pause, Worker-Level HITL"): "as printed; the failure of a worker's "
    "question is `task.timeout`",
    ("tool-model", "Aspect, Details"): _PLAN,
    ("tool-model", "Aspect, Tool, Worker"): _KINDS,
    ("tool-model", "Element, Owner, Notes"): _ROLES,
    ("worker-model", "Aspect, Details"): _PLAN,
}

# The printed endpoints of the memory service, with the printed method of the client.
ENDPOINTS: dict[str, str] = {
    "`POST /v1/memory/task-context`, `store_task_context()`": "as printed; a handler with the task in hand runs "
    "again, on the new state",
    "`GET /v1/memory/task-context/{id}`, `get_task_context()`": "as printed",
    "`DELETE /v1/memory/task-context/{id}`, `delete_task_context()`": "false after its end: the row went with the "
    "task; 409 while it is open, since only its worker ends it",
    "`GET /v1/memory/task-context/by-subtask/{id}`, `get_task_by_subtask()`": "as printed",
    "`POST /v1/memory/plan-context`, `store_plan_context()`": "as printed",
    "`GET /v1/memory/plan-context/{id}`, `get_plan_context()`": "as printed",
    "`POST /v1/memory/plans`, `create_plan()`": "as printed: it submits the goal, as `POST /v1/plans` does; "
    "`response_event` may be left out",
    "`GET /v1/memory/plans`, `list_plans()`": "as printed",
    "`POST /v1/memory/sessions`, `create_session()`": "as printed",
    "`GET /v1/memory/sessions`, `list_sessions()`": "as printed",
    "`POST /v1/working-memory/{plan_id}`, `store()`": "as printed",
    "`GET /v1/working-memory/{plan_id}/{key}`, `retrieve()`": "as printed",
}
