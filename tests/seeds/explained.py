"""The names that the seed documents print and that are not here, each with the reason."""

from seeds.names import SKETCHES

_MADE_HERE = "the framework makes contexts from the delivery in hand, and keeps them; a test makes its data by hand"
_ONE_ENVELOPE = "there is one class of events, `EventEnvelope`; its topic says whether it asks or answers"
_SERVICE = "there are no services behind the package: an agent registers with its `Platform`, in process"
_OWN = "the sample's own"
_CHECKPOINT = "of the sample's own `response`: an answer at a checkpoint is `platform.answer(...)`, in words of its own"
_MEMOS = "what is remembered beyond plans is given as parameters: `store_knowledge(...)`, `log_interaction(...)`"
_STREAM = "nothing is wrapped: a request and its reply are events, which `plan.events()` gives to whoever follows"

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
    "BaseDTO": "data has no base class of its own: what is registered is a pydantic model, what is read a record",
    "StateMachine": "a machine is a dict of states by their names; there is no class of that name to make",
    "bus.subscribe": "a handler is the subscription: `@agent.on_event(event_type, topic=...)`",
    "topics": "a parameter of `bus.subscribe`",
    **dict.fromkeys(("task.id", "task.message", "task.sessionId"), "the sample's `task` is an `A2ATask`, which has it"),
    "event_to_task_response": "the sample's own; `A2AGatewayHelper.event_to_response` is the printed helper's",
    **dict.fromkeys(("approved", "current", "rejection_reason"), _CHECKPOINT),
    **dict.fromkeys(("EpisodicMemoryCreate", "SemanticMemoryCreate"), _MEMOS),
    "soorma_common": "there is one package, `soorma_ai`, which gives its names at its top",
}

# What a reader of the documents writes by habit, though no sample has it.
HABITS: dict[str, str] = {
    '`event["data"]`': "an event is an `EventEnvelope` and no dict: `event.data`, which is one, `event.type`, "
    "`event.correlation_id`",
    "`TaskContext(...)`, `PlanContext(...)` by hand": "both stand for a row and what its handling records, so a test "
    "takes `Platform` with a file in a temporary folder, which starts in milliseconds, and `ScriptedReasoner` and "
    "`VirtualClock` of `soorma_ai.testing`. `InvocationContext(request_id=..., event_type=..., data=...)` and "
    "`GoalContext(event_type=..., data=...)` are only data, and made by hand",
    "`bus.request` in `on_goal`": "its answer is no plan's; `goal.dispatch(event_type, data)` asks for the plan, and "
    "the failure of a plan that was left so says that",
    "`await plan.save()`, `await task.save()`": "may be left out: the working copy is saved when the handler returns, "
    "with all that it did, or not at all",
    "`events_consumed=[...]`": "is checked when the agent is started: what it names must have a handler, and a handler "
    "alone consumes",
}
