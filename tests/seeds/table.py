"""Every code block of the seed documents: the test that runs it and the lines changed for it, or why none does.

Where pages disagree, the one with the later date counts; of pages of one date, `sdk-refactoring-plan` does.
"""

from seeds.kinds import Change, How, Names, NotRun, Runs, Sample, Shown

DRAWING = NotRun("a drawing, no code")
FILES = NotRun("a list of files of an earlier implementation")
BEFORE = NotRun("shows the code before the refactoring")
LATER_PHASES = NotRun("comes later: phase agents")
LATER_GATEWAY = NotRun("comes later: the A2A gateway")

PACKAGE = "the package has another name, and gives its names at its top"
FILLED = "`...` is filled in"
WATCHED = "`...` is filled in, so that the test sees what comes"


def tools(*names: str) -> tuple[str, ...]:
    return tuple(f"seeds/test_tools.py::{name}" for name in names)


def workers(*names: str) -> tuple[str, ...]:
    return tuple(f"seeds/test_workers.py::{name}" for name in names)


def planners(*names: str) -> tuple[str, ...]:
    return tuple(f"seeds/test_planners.py::{name}" for name in names)


def people(*names: str) -> tuple[str, ...]:
    return tuple(f"seeds/test_people.py::{name}" for name in names)


def bus(*names: str) -> tuple[str, ...]:
    return tuple(f"seeds/test_bus_and_memory.py::{name}" for name in names)


def registry(*names: str) -> tuple[str, ...]:
    return tuple(f"seeds/test_registry.py::{name}" for name in names)


def flow(*names: str) -> tuple[str, ...]:
    """'tasks::test_name'."""
    return tuple(f"flow/test_{name.replace('::', '.py::')}" for name in names)


# What several documents show.

DECLARED_CALCULATOR = Runs(tools("test_a_declared_calculator_calculates"))
CALLER_OF_A_TOOL = Runs(
    tools("test_a_declared_calculator_calculates"),
    Change("", "found[:] = [request_schema, response_schema]", "the test looks at them"),
    Change(
        "",
        "await (await result.restore_task()).complete(calc_result)",
        "the sample breaks off here; a task that nothing would end is a failure",
    ),
)
INVOCATION = Names(
    tools("test_invocation_context_from_event"),
    "ids and the reply's address are read from the envelope: a payload cannot set them",
)
ON_INVOKE = Names(
    tools("test_tool_on_invoke_publishes_result", "test_tool_on_invoke_handles_error"),
    "an error is an object with code and message, and what may pass is tried again before the caller is told",
)
TASK = Names(
    workers(
        "test_task_context_save_restore",
        "test_worker_delegates_to_sub_agent",
        "test_three_analyses_at_once_are_one_result",
    ),
    "the reply carries the reply key of the request, and the task's id in its data; each of several sub-tasks of one "
    "type gets its own data; a sub-task that failed has ended, too, so nothing waits for it for ever",
)
RESULT = Names(
    workers("test_an_order_is_processed_when_the_stock_is_reserved"),
    "nothing is looked up: a result comes with the task that waits for it",
)
ON_TASK = Names(
    workers("test_a_worker_says_itself_that_it_is_done"),
    "a result is known by the request that it answers, on whatever topic that named; a task whose handler leaves "
    "nothing to wait for fails",
)
ONE_SUB_TASK = (
    Change(
        "await task.delegate(...)",
        'await task.delegate("web.search.requested", {"query": "more"}, "web.search.completed")',
        f"{FILLED}; it is not reached, since a task with one sub-task is complete when that is answered",
    ),
)
FAN_IN = (
    Change(
        "aggregated = task.aggregate_parallel_results(group_id)",
        "aggregated = await task.aggregate_parallel_results(group_id)",
        "agent-patterns-architecture, which is later, awaits it",
    ),
    Change(
        'await task.complete(result={"sentiment": aggregated[...]["result"], '
        '"entities": aggregated[...]["result"], "topics": aggregated[...]["result"]})',
        'await task.complete(result={"sentiment": aggregated[ids["sentiment.analyze"]]["result"], '
        '"entities": aggregated[ids["entity.extract"]]["result"], '
        '"topics": aggregated[ids["topic.classify"]]["result"]})',
        f"{FILLED}: results are kept by the ids of the sub-tasks",
    ),
    Change(
        "",
        "ids = {info.event_type: info.sub_task_id for info in task.sub_tasks.values()}",
        "finds those ids by what was asked",
    ),
)

TOOL_MODEL: tuple[tuple[int, str, str, How], ...] = (
    (1, "Key Files", "where the tool is", FILES),
    (2, "1. InvocationContext", "what a tool's handler gets", INVOCATION),
    (3, "2. Tool Class with on_invoke() Decorator", "the decorator of tools", ON_INVOKE),
    (4, "Tool Declaration with Schema", "a tool declares its schemas", DECLARED_CALCULATOR),
    (5, "Simple Tool Handler", "a handler returns its result", DECLARED_CALCULATOR),
    (6, "Caller Using Tool Dynamically", "a worker finds a tool and asks it", CALLER_OF_A_TOOL),
    (
        7,
        "Tests to Add",
        "four tests of tools",
        Runs(
            tools(
                "test_tool_on_invoke_publishes_result",
                "test_tool_on_invoke_handles_error",
                "test_tool_uses_caller_response_event",
                "test_invocation_context_from_event",
            ),
            Change("pass", "", "two of the tests are empty; here they test what their docstrings say"),
        ),
    ),
)

WORKER_MODEL: tuple[tuple[int, str, str, How], ...] = (
    (1, "Key Files", "where the worker is", FILES),
    (2, "Current Issue", "a worker that returns its result", BEFORE),
    (3, "1. TaskContext with Persistence", "the task of a worker", TASK),
    (4, "2. ResultContext for Restoring Task", "what a task waited for", RESULT),
    (5, "3. Worker Decorators", "the decorators of workers", ON_TASK),
    (
        6,
        "Sequential Delegation",
        "one sub-task",
        Runs(workers("test_a_researcher_delegates_and_completes_with_what_came"), *ONE_SUB_TASK),
    ),
    (
        7,
        "Parallel Fan-out / Fan-in",
        "three sub-tasks at once",
        Runs(
            workers("test_three_analyses_at_once_are_one_result"),
            *FAN_IN,
            Change(
                '@worker.on_result(event_type="topic.classify")',
                '@worker.on_result(event_type="topic.completed")',
                "names the request and not its answer; sdk-refactoring-plan has it right, and counts",
            ),
        ),
    ),
    (
        8,
        "Tests to Add",
        "six tests of workers",
        Runs(
            (
                *workers(
                    "test_task_context_save_restore",
                    "test_worker_delegates_to_sub_agent",
                    "test_a_researcher_delegates_and_completes_with_what_came",
                ),
                *flow("tasks::test_one_after_the_other"),
                *workers(
                    "test_an_order_is_fulfilled_when_both_services_have_answered",
                    "test_three_analyses_at_once_are_one_result",
                ),
            ),
            Change("pass", "", "four of the tests are empty; ours do what their docstrings say"),
            Change('task = TaskContext(task_id="t1")', "", "a task is made by the request that begins it"),
            Change(
                'restored = await TaskContext.restore("t1", context)',
                "restored = await TaskContext.restore(task.task_id, context)",
                "its id is that of its request",
            ),
            Change('assert restored.task_id == "t1"', "assert restored.task_id == task.task_id", "the same"),
            as_python=(('TaskContext(task_id="t1", ...)', 'TaskContext(task_id="t1")'),),
        ),
    ),
)

SDK_REFACTORING_PLAN: tuple[tuple[int, str, str, How], ...] = (
    (1, "2.1 SDK Structure (Current)", "where everything is", FILES),
    (2, "3.1 Vision: Progressive Abstraction Layers", "four layers of agents", DRAWING),
    (
        3,
        "Layer 1: Base Agent",
        "an agent hears a fact and asks for what follows",
        Runs(
            bus("test_an_agent_hears_a_fact_and_asks_for_what_follows"),
            Change("from soorma.agents import Agent", "", PACKAGE),
            Change(
                'agent = Agent(name="my-agent", capabilities=[...])',
                'agent = Agent(name="my-agent", capabilities=["ordering"])',
                FILLED,
            ),
            Change(
                "async def handle_order(event: Dict, context: PlatformContext):",
                "async def handle_order(event: EventContext, context: PlatformContext):",
                "an event is no dict: `event.data` is one",
            ),
            Change(
                'await context.bus.publish(topic="action-requests", event_type="inventory.check", data={...})',
                'await context.bus.publish(topic="action-requests", event_type="inventory.check", '
                'data={"order_id": event.data["order_id"]})',
                FILLED,
            ),
        ),
    ),
    (
        4,
        "Layer 2: Tool (Synchronous)",
        "a tool returns its result",
        Runs(
            tools("test_a_tool_of_layer_2_returns_its_result"),
            Change("from soorma.agents import Tool", "", PACKAGE),
            Change(
                'tool = Tool(name="calculator", capabilities=[...])',
                'tool = Tool(name="calculator", capabilities=["calculate"])',
                FILLED,
            ),
        ),
    ),
    (
        5,
        "Layer 3: Worker (Asynchronous)",
        "a worker delegates, and completes with what came",
        Runs(
            workers("test_a_researcher_delegates_and_completes_with_what_came"),
            Change("from soorma.agents import Worker", "", PACKAGE),
            Change(
                'worker = Worker(name="researcher", capabilities=[...])',
                'worker = Worker(name="researcher", capabilities=["research"])',
                FILLED,
            ),
            *ONE_SUB_TASK,
        ),
    ),
    (
        6,
        "Layer 4: Planner (Autonomous)",
        "a planner makes a plan and goes on with it",
        Runs(
            planners("test_a_planner_goes_by_the_plan_that_its_model_drew"),
            Change("from soorma.agents import Planner", "", PACKAGE),
            Change(
                'planner = Planner(name="research-planner", capabilities=[...])',
                'planner = Planner(name="research-planner", capabilities=["planning"], '
                "reasoner=ScriptedReasoner(script))",
                f"{FILLED}; no model is called in a test",
            ),
            Change(
                "agents = await context.registry.discover(goal.requirements)",
                'agents = await context.registry.discover(goal.data["requirements"])',
                "a goal is an event, and what it requires is in its data",
            ),
        ),
    ),
    (
        7,
        "3.3 Design Rationale: Why Structured/Discoverable Patterns?",
        "a prompt with the schema of an event",
        Runs(registry("test_a_prompt_is_given_the_schema_of_an_event")),
    ),
    (8, "RF-SDK-001: Remove Topic Inference from BusClient", "a topic is guessed", BEFORE),
    (
        9,
        "RF-SDK-001: Remove Topic Inference from BusClient",
        "what publish takes",
        Names(
            bus("test_a_fact_is_published_on_its_topic_or_announced"),
            of="BusClient",
            as_python=((") -> str:", ") -> str: ..."),),
        ),
    ),
    (
        10,
        "Convenience Methods for Request/Response Pattern",
        "request, respond and announce",
        Names(bus("test_a_request_a_response_and_an_announcement_have_their_topics")),
    ),
    (
        11,
        "Convenience Methods for Request/Response Pattern",
        "a request, a response and a fact",
        Runs(
            bus("test_a_request_a_response_and_an_announcement_have_their_topics"),
            Change(
                'await context.bus.respond(event_type="research.completed", data={"findings": [...]}, '
                "correlation_id=request.correlation_id)",
                'await context.bus.respond(event_type="research.completed", data={"findings": ["a page"]}, '
                "correlation_id=request.correlation_id)",
                FILLED,
            ),
        ),
    ),
    (12, "RF-SDK-002: Add Response Event to Action Requests", "an envelope without response_event", BEFORE),
    (
        13,
        "RF-SDK-002: Add Response Event to Action Requests",
        "an envelope with response_event",
        Runs(
            bus("test_a_request_says_where_its_response_goes"),
            Change(
                '{"id": "evt_123", "type": "research.requested", "topic": "action-requests", "data": {...}, '
                '"correlation_id": "corr_456", "response_event": "research.completed", '
                '"response_topic": "action-results"}',
                'envelope = {"id": asked.id, "type": "research.requested", "topic": "action-requests", '
                '"data": {"topic": "owls"}, "correlation_id": "corr_456", '
                '"response_event": "research.completed", "response_topic": "action-results"}',
                f"{FILLED}, and compared with an event that was sent: it has an id of its own",
            ),
        ),
    ),
    (14, "RF-SDK-003: Refactor on_event() Signature", "a handler without a topic", BEFORE),
    (
        15,
        "RF-SDK-003: Refactor on_event() Signature",
        "a handler names its topic",
        Runs(
            bus("test_a_handler_names_its_topic"),
            Change("...", "heard.append(event.topic)", WATCHED),
            as_python=(
                (
                    '@agent.on_event("data.requested", topic="business-facts")',
                    '@agent.on_event("data.requested", topic="business-facts")\nasync def handler(event, context): ...',
                ),
            ),
        ),
    ),
    (16, "RF-SDK-004: Worker Async Task Model", "a worker that returns its result", BEFORE),
    (17, "RF-SDK-004: Worker Async Task Model", "the task of a worker", TASK),
    (
        18,
        "RF-SDK-004: Worker Async Task Model",
        "three sub-tasks at once",
        Runs(workers("test_three_analyses_at_once_are_one_result"), *FAN_IN),
    ),
    (19, "RF-SDK-004: Worker Async Task Model", "the decorators of workers", ON_TASK),
    (20, "RF-SDK-004: Worker Async Task Model", "what a task waited for", RESULT),
    (21, "RF-SDK-005: Tool Synchronous Model (Simplify)", "the decorator of tools", ON_INVOKE),
    (22, "RF-SDK-005: Tool Synchronous Model (Simplify)", "a tool declares its schemas", DECLARED_CALCULATOR),
    (23, "RF-SDK-005: Tool Synchronous Model (Simplify)", "a worker finds a tool and asks it", CALLER_OF_A_TOOL),
    (
        24,
        "RF-SDK-006: Planner on_goal() and on_transition()",
        "a plan, and the parts of its state machine",
        Names(
            planners("test_the_event_decides_which_state_follows"),
            "the goal's answer carries the goal's reply key; each step has a key of its own, and not the plan's id",
        ),
    ),
    (
        25,
        "RF-SDK-006: Planner on_goal() and on_transition()",
        "a state machine whose transitions depend on events",
        Runs(planners("test_the_event_decides_which_state_follows")),
    ),
    (
        26,
        "RF-SDK-006: Planner on_goal() and on_transition()",
        "the decorators and methods of planners",
        Names(
            planners("test_a_planner_goes_by_the_plan_that_its_model_drew"),
            "on_transition is no subscription to everything: it gets what its own plans were waiting for",
        ),
    ),
    (
        27,
        "RF-SDK-007: Event Registration Tied to Agent",
        "a capability has whole events",
        Names(registry("test_events_belong_to_the_agent_that_registered_them"), "a capability may also be only a name"),
    ),
    (
        28,
        "RF-SDK-008: Agent Discovery by Capability (A2A Alignment)",
        "agents are discovered with their events",
        Names(registry("test_an_agent_is_discovered_with_the_events_by_which_it_is_asked")),
    ),
    (29, "A2A Gateway Pattern", "from HTTP to events", DRAWING),
    (30, "A2A Gateway Pattern", "cards and tasks of A2A", LATER_GATEWAY),
    (
        31,
        "RF-SDK-010: Memory SDK Alignment with Service Endpoints",
        "the memory of plans and tasks",
        Names(
            flow(
                "memory::test_a_task_is_found_by_its_id_and_by_what_it_asked",
                "memory::test_a_plan_is_found_by_what_it_asked_and_by_its_goal",
                "memory::test_a_session_is_made_by_hand_or_by_its_first_plan",
                "memory::test_a_handler_sees_what_it_did_and_others_only_when_it_is_done",
            ),
            "a task's row goes when it ends, and only its own events change it; a goal that arrives makes its plan",
        ),
    ),
    (
        32,
        "RF-SDK-011: Tracker via Events, Not API",
        "a worker reports its progress",
        Runs(bus("test_a_worker_reports_its_progress_by_an_event")),
    ),
    (33, "RF-SDK-012: Common Library DTOs", "what a library of an earlier implementation gives", BEFORE),
    (
        34,
        "RF-SDK-012: Common Library DTOs",
        "the parts of a state machine",
        Names(planners("test_the_event_decides_which_state_follows")),
    ),
    (35, "RF-SDK-012: Common Library DTOs", "the shapes of A2A", LATER_GATEWAY),
    (36, "RF-SDK-012: Common Library DTOs", "names that the package gives", Names()),
    (37, "RF-SDK-012: Common Library DTOs", "from A2A to events and back", LATER_GATEWAY),
    (
        38,
        "6.1 Breaking Changes",
        "publish names its topic",
        Runs(
            bus("test_a_fact_is_published_on_its_topic_or_announced"),
            Change(
                'await context.bus.publish(topic="business-facts", event_type="order.created", data={...})',
                'await context.bus.publish(topic="business-facts", event_type="order.created", data={"order_id": "1"})',
                FILLED,
            ),
            Change(
                'await context.bus.announce("order.created", data={...})',
                'await context.bus.announce("order.created", data={"order_id": "2"})',
                FILLED,
            ),
        ),
    ),
    (
        39,
        "6.1 Breaking Changes",
        "a handler names its topic",
        Runs(
            bus("test_a_handler_of_a_fact_names_its_topic"),
            as_python=(
                (
                    '@agent.on_event(topic="business-facts", event_type="order.created")',
                    '@agent.on_event(topic="business-facts", event_type="order.created")\n'
                    "async def created(event, context): heard.append(event.data)",
                ),
            ),
        ),
    ),
    (40, "6.1 Breaking Changes", "a worker ends its task", Runs(workers("test_a_worker_says_itself_that_it_is_done"))),
    (
        41,
        "6.1 Breaking Changes",
        "a sub-task is delegated",
        Runs(
            workers("test_a_sub_task_is_delegated_and_not_published"),
            Change(
                'await task.delegate(event_type="sub.task", data={...}, response_event="sub.task.done")',
                'await task.delegate(event_type="sub.task", data={"n": 1}, response_event="sub.task.done")',
                FILLED,
            ),
        ),
    ),
    (42, "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED", "a worker asks a person", DRAWING),
    (
        43,
        "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED",
        "a worker waits for a person",
        Runs(people("test_a_person_reviews_a_document"), within=people("reviewer")),
    ),
    (
        44,
        "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED",
        "a person who does not answer in time",
        Shown(
            people("test_a_review_that_nobody_makes_is_a_timeout_that_the_plan_can_take"),
            "comments only; no tracker fails the task but its own timer, and the reason is `task.timeout`",
        ),
    ),
    (
        45,
        "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED",
        "a plan is paused, and an outside event resumes it",
        Runs(
            people("test_a_plan_is_paused_until_its_budget_is_approved"),
            Change(
                "",
                "plan.update_state(transition.event)",
                "with on_transition, the handler itself moves the plan to where the event leads",
            ),
            Change("", 'seen.append((plan.status, plan.state["pause_reason"]))', "the test looks at them"),
        ),
    ),
    (
        46,
        "Q4: Re-entrant Plans for Long-Running Conversations",
        "what makes plans re-entrant",
        Names(people("test_a_plan_is_paused_until_its_budget_is_approved")),
    ),
    (47, "Q4: Re-entrant Plans for Long-Running Conversations", "conversations and their plans", DRAWING),
)

AGENT_PATTERNS_ARCHITECTURE: tuple[tuple[int, str, str, How], ...] = (
    (1, "Progressive Complexity", "four kinds of agents", DRAWING),
    (2, "Registration Lifecycle", "the base of agents", Names(bus("test_only_events_of_its_type_come_to_a_handler"))),
    (
        3,
        "Event Subscription Model",
        "a handler gets events of its type",
        Runs(
            bus("test_only_events_of_its_type_come_to_a_handler"),
            Change(
                'await context.bus.subscribe(topics=["action-requests"])',
                "",
                "a handler subscribes; there is no other way",
            ),
            Change("pass", "heard.append(event.type)", "so that the test sees what comes"),
        ),
    ),
    (4, "Context Injection", "what every handler gets", Names(tools("test_invocation_context_from_event"))),
    (5, "InvocationContext", "what a tool's handler gets", INVOCATION),
    (6, "on_invoke() Decorator", "the decorator of tools", ON_INVOKE),
    (
        7,
        "Usage Example",
        "a tool whose capability is a name",
        Runs(tools("test_a_tool_with_a_named_capability_answers_whom_it_was_told")),
    ),
    (8, "TaskContext Model", "the task of a worker", TASK),
    (
        9,
        "Worker Class with Decorators",
        "the decorators of workers, and a task given by hand",
        Names(
            (
                *workers("test_a_worker_says_itself_that_it_is_done"),
                *flow("tasks::test_a_task_is_given_to_one_worker_for_a_plan"),
            ),
            "a task given by hand goes through the inbox, and not around it",
        ),
    ),
    (10, "ResultContext", "what a task waited for", RESULT),
    (
        11,
        "Usage Example: Sequential Delegation",
        "an order is processed when its goods are reserved",
        Runs(workers("test_an_order_is_processed_when_the_stock_is_reserved")),
    ),
    (
        12,
        "Usage Example: Parallel Delegation",
        "an order is fulfilled when both services have answered",
        Runs(
            workers("test_an_order_is_fulfilled_when_both_services_have_answered"),
            Change("from soorma.task_context import DelegationSpec", "", PACKAGE),
        ),
    ),
    (
        13,
        "Handler-Only Event Registration (RF-SDK-022)",
        "only events with a handler are consumed",
        Names(workers("test_only_what_has_a_handler_is_consumed"), of="Worker"),
    ),
    (14, "Decorators", "the decorators of planners", Names(planners("test_the_event_decides_which_state_follows"))),
    (
        15,
        "PlanContext (State Machine)",
        "a plan",
        Names(
            planners("test_the_event_decides_which_state_follows"),
            as_python=tuple(
                (f"def {name}{given}", f"def {name}(): ...")
                for name, given in {
                    "create_from_goal": "(...)",
                    "save": "()",
                    "restore": "()",
                    "execute_next": "()",
                    "finalize": "()",
                }.items()
            ),
        ),
    ),
    (
        16,
        "ChoreographyPlanner (RF-SDK-016)",
        "a model decides, and code carries it out",
        Runs(
            planners("test_a_choreography_planner_reasons_and_carries_out"),
            Change("from soorma.ai.choreography import ChoreographyPlanner", "", PACKAGE),
            Change("from soorma.plan_context import PlanContext", "", PACKAGE),
            Change(
                'planner = ChoreographyPlanner(name="orchestrator", reasoning_model="gpt-4o", '
                'system_instructions="Business rules and constraints...", max_actions=20)',
                'planner = ChoreographyPlanner(name="orchestrator", reasoning_model="gpt-4o", '
                'system_instructions="Business rules and constraints...", max_actions=20, reasoner=reasoner)',
                "no model is called in a test",
            ),
        ),
    ),
    (
        17,
        "WAIT Action for Human-in-the-Loop",
        "a plan waits for an approval",
        Runs(people("test_a_plan_waits_for_an_approval_and_goes_on_by_itself")),
    ),
)

KNOWLEDGE_FORGE_AGENT_ARCHITECTURE: tuple[tuple[int, str, str, How], ...] = (
    (1, "Architecture Diagram", "a graph of phases", DRAWING),
    (2, "Transition Definition", "a transition between phases", LATER_PHASES),
    (3, "Required Fields", "what an agent knows of its phases", LATER_PHASES),
    (4, "Agent-Specific Extensions", "what a researcher knows beside", LATER_PHASES),
    (5, "Re-Entry Prompt Pattern", "another prompt for who comes back", LATER_PHASES),
    (6, "Re-Entry Prompt Template", "the words of that prompt", LATER_PHASES),
    (
        7,
        "Checkpoint Implementation",
        "a person approves, changes or rejects",
        Shown(
            flow(
                "waits::test_a_gated_publish_waits_for_a_person_and_is_then_published_exactly_as_approved",
                "waits::test_an_edited_payload_is_checked_again_and_published_instead",
                "machine::test_a_gate_holds_what_a_state_asks_if_its_receiver_would_take_it",
            ),
            "the checkpoints of phase agents come later; a plan of now is held by an approval in the same three ways",
        ),
    ),
    (8, "Backward Transition Events", "what is told of a way back", LATER_PHASES),
    (9, "Serialization Contract", "an agent's state is written out and read in", LATER_PHASES),
    (10, "Base Agent Interface", "the base of phase agents", LATER_PHASES),
    (11, "Research Agent", "the phases of a researcher", LATER_PHASES),
    (12, "Understand Agent", "the phases of a teacher", LATER_PHASES),
    (13, "Build Agent", "the phases of a builder", LATER_PHASES),
    (
        14,
        "Tool Wrapping Pattern",
        "who watches is told of each use of a tool",
        Shown(
            tools("test_who_follows_a_plan_sees_each_use_of_a_tool"),
            "nothing is wrapped: a tool's request and its reply are events, and whoever follows the plan gets them",
        ),
    ),
)

SAMPLES: tuple[Sample, ...] = tuple(
    Sample(document, *row)
    for document, rows in {
        "tool-model": TOOL_MODEL,
        "worker-model": WORKER_MODEL,
        "sdk-refactoring-plan": SDK_REFACTORING_PLAN,
        "agent-patterns-architecture": AGENT_PATTERNS_ARCHITECTURE,
        "knowledge-forge-agent-architecture": KNOWLEDGE_FORGE_AGENT_ARCHITECTURE,
    }.items()
    for row in rows
)
