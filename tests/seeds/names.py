"""The public names sketched by the seed documents, and the differences here."""

from dataclasses import dataclass, field

FRAMEWORK = "the framework makes it from the delivery in hand"


@dataclass(frozen=True)
class Sketch:
    """A sketched class. `ours` is its path in `soorma_ai`. `has` names its members, each method with its parameters.

    `differs` has the reason for each difference: a missing 'member', a missing parameter as 'member(parameter)', or, as
    'member()', a coroutine on one side only. A missing class has only `why`.
    """

    ours: str
    has: dict[str, str] = field(default_factory=dict[str, str])
    differs: dict[str, str] = field(default_factory=dict[str, str])
    why: str = ""


def fields(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "")


SKETCHES: dict[str, Sketch] = {
    "Agent": Sketch(
        "Agent",
        {"__init__": "name capabilities events_consumed events_produced", "on_event": "topic event_type", "run": ""},
        {"run()": "it is a process of its own; inside a program, agents are started by `platform.start`"},
    ),
    "PlatformContext": Sketch("PlatformContext", fields("bus memory registry tenant_id user_id agent_id")),
    "BusClient": Sketch(
        "agents.contexts.platform.BusClient",
        {
            "publish": "topic event_type data correlation_id response_event",
            "request": "event_type data response_event correlation_id response_topic",
            "respond": "event_type data correlation_id topic",
            "announce": "event_type data correlation_id",
        },
    ),
    "InvocationContext": Sketch(
        "InvocationContext",
        fields("request_id event_type correlation_id data response_event response_topic tenant_id user_id"),
        {"from_event": FRAMEWORK},
    ),
    "Tool": Sketch("Tool", {"on_invoke": "event_type"}),
    "TaskContext": Sketch(
        "TaskContext",
        {
            **fields("task_id event_type plan_id data response_event response_topic sub_tasks state"),
            **fields("tenant_id user_id agent_id save is_complete"),
            "restore": "sub_task_id context",
            "delegate": "event_type data response_event assigned_to",
            "delegate_parallel": "sub_tasks",
            "aggregate_parallel_results": "parallel_group_id",
            "update_sub_task_result": "sub_task_id result",
            "complete": "result",
        },
        {"aggregate_parallel_results()": "it may be awaited, as in agent-patterns-architecture, or looked at as it is"},
    ),
    "SubTaskInfo": Sketch(
        "SubTaskInfo", fields("sub_task_id event_type response_event status parallel_group_id result")
    ),
    "DelegationSpec": Sketch("DelegationSpec", fields("event_type data response_event")),
    "ResultContext": Sketch(
        "ResultContext", fields("event_type correlation_id sub_task_id data success error restore_task")
    ),
    "Worker": Sketch(
        "Worker", {"on_task": "event_type", "on_result": "event_type", "execute_task": "task_name data plan_id goal_id"}
    ),
    "Planner": Sketch(
        "Planner",
        {
            "on_goal": "event_type",
            "on_transition": "",
            "create_plan": "goal agents context",
            "reason_next_action": "plan event context",
        },
    ),
    "PlanContext": Sketch(
        "PlanContext",
        {
            **fields("plan_id goal_event goal_data response_event status state_machine current_state results"),
            **fields("parent_plan_id session_id tenant_id user_id save is_complete"),
            "create_from_goal": "",
            "restore": "plan_id context",
            "restore_by_correlation": "correlation_id context",
            "get_next_state": "event",
            "execute_next": "trigger_event",
            "finalize": "result",
            "pause": "reason",
            "resume": "input_data",
        },
        {"transitions": "they are those of the states in `state_machine`"},
    ),
    "StateConfig": Sketch("StateConfig", fields("state_name description action transitions default_next is_terminal")),
    "StateTransition": Sketch("StateTransition", fields("on_event to_state condition")),
    "StateAction": Sketch("StateAction", fields("event_type response_event data")),
    "PlanDefinition": Sketch("PlanDefinition", fields("plan_type description initial_state states")),
    "PlanRegistrationRequest": Sketch(
        "",
        why="`Planner.add_plan_type` takes a `PlanDefinition`, also as JSON; `Planner.accept_plan_types` takes one in "
        "each goal",
    ),
    "PlanInstanceRequest": Sketch(
        "", why="`platform.submit` takes the plan type as its goal, the data, the session and the parent"
    ),
    "AgentCapability": Sketch("AgentCapability", fields("task_name description consumed_event produced_events")),
    "RegistryClient": Sketch("agents.contexts.platform.RegistryClient", {"discover": "requirements include_events"}),
    "DiscoveredAgent": Sketch(
        "DiscoveredAgent",
        {
            **fields("agent_id name description version capabilities"),
            "get_consumed_event_schema": "capability",
            "get_produced_event_schema": "capability",
        },
    ),
    "MemoryClient": Sketch(
        "agents.contexts.memory.MemoryClient",
        {
            "store_task_context": "task_id plan_id context",
            "get_task_context": "task_id",
            "delete_task_context": "task_id",
            "get_task_by_subtask": "sub_task_id",
            "store_plan_context": "plan_id session_id context",
            "get_plan_context": "plan_id",
            "get_plan_by_correlation": "correlation_id",
            "create_plan": "goal_event goal_data response_event session_id parent_plan_id",
            "create_session": "name metadata",
            "list_plans": "status session_id limit",
            "list_sessions": "limit",
            "store": "key value plan_id",
            "retrieve": "key plan_id",
        },
    ),
    "PlanSummary": Sketch("PlanSummary", fields("plan_id goal_event status session_id created_at updated_at")),
    "SessionSummary": Sketch("SessionSummary", fields("session_id plan_count created_at last_activity")),
    "PhaseTransition": Sketch("PhaseTransition", fields("from_phase to_phase condition is_backward priority")),
    "BasePhaseContext": Sketch(
        "BasePhaseContext", fields("phase_visits transition_history backward_trigger backward_trigger_detail")
    ),
    "ResearchPhaseContext": Sketch(
        "forge.research.ResearchPhaseContext",
        fields("categories questions answered_questions sources category_insights adjacent_questions"),
    ),
    "BaseForgeAgent": Sketch(
        "forge.BaseForgeAgent",
        {
            **fields("Phase phase_transitions initial_phase complete_phase get_state"),
            "initialize": "journey_brief",
            "process_message": "message context",
            "restore_state": "state",
        },
        {"process_message()": "a generator is iterated, and not awaited"},
    ),
    "A2AAuthType": Sketch("gateways.a2a.A2AAuthType"),
    "A2AAuthentication": Sketch("gateways.a2a.A2AAuthentication", fields("schemes credentials")),
    "A2ASkill": Sketch("gateways.a2a.A2ASkill", fields("id name description tags inputSchema outputSchema")),
    "A2AAgentCard": Sketch(
        "gateways.a2a.A2AAgentCard", fields("name description url version provider capabilities skills authentication")
    ),
    "A2APart": Sketch("gateways.a2a.A2APart", fields("type text data mimeType")),
    "A2AMessage": Sketch("gateways.a2a.A2AMessage", fields("role parts")),
    "A2ATask": Sketch("gateways.a2a.A2ATask", fields("id sessionId message metadata")),
    "A2ATaskStatus": Sketch("gateways.a2a.A2ATaskStatus"),
    "A2ATaskResponse": Sketch("gateways.a2a.A2ATaskResponse", fields("id sessionId status message error")),
    "A2AGatewayHelper": Sketch(
        "gateways.a2a.A2AGatewayHelper",
        {
            "agent_to_card": "agent gateway_url auth",
            "task_to_event": "task event_type response_event",
            "event_to_response": "event task_id",
        },
    ),
    "ActionRequestEvent": Sketch("", why="an event of any topic is an `EventEnvelope`"),
    "ActionResultEvent": Sketch("", why="an event of any topic is an `EventEnvelope`"),
    "GatewayHelper": Sketch("", why="an earlier page's draft of `A2AGatewayHelper`"),
}
