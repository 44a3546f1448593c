"""The names that the seed documents print and that are not here, each with the reason; and what is built later."""

from seeds.names import SKETCHES


def _all(names: str, why: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), why)


_MADE_HERE = "the framework makes contexts from the delivery in hand, and keeps them; a test makes its data by hand"
_ONE_ENVELOPE = "there is one class of events, `EventEnvelope`; its topic says whether it asks or answers"
_SERVICE = "there are no services behind the package: an agent registers with its `Platform`, in process"
_OWN = "the sample's own"
_STREAM = "nothing is wrapped: a request and its reply are events, which `plan.events()` gives to whoever follows"

EXPLAINED: dict[str, str] = {
    **{name: sketch.why for name, sketch in SKETCHES.items() if not sketch.ours and "A2A" not in name},
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
    **dict.fromkeys(("ToolWrapper", "ToolStartEvent", "ToolSuccessEvent", "ToolErrorEvent"), _STREAM),
    **dict.fromkeys(("emit", "parameters", "result_summary", "tool_name"), _STREAM),
    **dict.fromkeys(("compute", "heard", "tool", "worker"), _OWN),
    "BaseDTO": "data has no base class of its own: what is registered is a pydantic model, what is read a dataclass",
    "StateMachine": "a machine is a dict of states by their names; there is no class of that name to make",
    "bus.subscribe": "a handler is the subscription: `@agent.on_event(event_type, topic=...)`",
    "topics": "a parameter of `bus.subscribe`",
    "soorma_common": "there is one package, `soorma_ai`, which gives its names at its top",
}

_PHASES = "phase agents"
_A2A = "the A2A gateway"
_MEMORY = "memory of people, of meaning and of what happened"

# Not yet; whoever builds one takes its name out, or leaves it here, with the reason where it is called otherwise.
LATER: dict[str, str] = {
    **_all(
        "A2AAgentCard A2AAuthentication A2AAuthType A2AGatewayHelper A2AMessage A2APart A2ASkill A2ATask "
        "A2ATaskResponse A2ATaskStatus agent_to_card authentication credentials event_to_response "
        "event_to_task_response GatewayHelper inputSchema mimeType outputSchema schemes sessionId skills tags "
        "task.id task.message task.sessionId task_to_event",
        _A2A,
    ),
    **_all(
        "adjacent_questions AdjacentQuestion agent_type AgentCompleteEvent AgentThinkingEvent "
        "answered_questions approved backward_trigger backward_trigger_detail BaseForgeAgent BasePhaseContext "
        "categories category_insights CategoryQuestion Checkpoint checkpoint_id CheckpointEvent "
        "complete_phase current current_phase existing_work from_phase initial_phase initialize is_backward "
        "JourneyDesignBrief modifications Phase phase_context phase_transitions phase_visits "
        "PhaseChangedEvent PhaseTransition priority process_message Question questions rejection_reason "
        "requires_approval ResearchPhaseContext Source sources SSEEvent summary timestamp to_phase "
        "transition_history TransitionRecord",
        _PHASES,
    ),
    **_all("EpisodicMemoryCreate SemanticMemoryCreate", _MEMORY),
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
