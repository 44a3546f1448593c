"""Every code block of the seed documents: its test with the changed lines, or the reason for none.

Of contradicting pages the one with the later date counts; of pages of one date, `sdk-refactoring-plan`.
"""

from collections.abc import Callable

from seeds.kinds import Change, How, Names, NotRun, Runs, Sample, Shown

DRAWING = NotRun("a drawing, no code")
FILES = NotRun("a list of files of an earlier implementation")
BEFORE = NotRun("shows the code before the refactoring")

Rows = tuple[tuple[int, str, How], ...]

PACKAGE = "the package is `soorma_ai`, with the same path; its top has the names, too"
FILLED = "`...` is filled in"
WATCHED = "`...` is filled in, so that the test sees the event"


def tests_in(file: str) -> Callable[..., tuple[str, ...]]:
    """Return a function from names of tests in `file` to their paths."""
    return lambda *names: tuple(f"seeds/test_{file}.py::{name}" for name in names)


tools, workers, planners, people, bus, registry, gateway = map(
    tests_in, ("tools", "workers", "planners", "people", "bus_and_memory", "registry", "gateway")
)


def fill_in(seed: str, *parts: str, why: str = FILLED) -> Change:
    """A line with `parts` in place of each `...`."""
    ours = seed
    for part in parts:
        ours = ours.replace("...", part, 1)
    return Change(seed, ours, why)


def flow(*names: str) -> tuple[str, ...]:
    """Paths of tests in `tests/flow`, from 'tasks::test_name'."""
    return tuple(f"flow/test_{name.replace('::', '.py::')}" for name in names)


# Samples in several documents.

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
    "`from_event` is missing: the framework makes it. Ids, tenant, user and the reply's address are read from the "
    "envelope; fields of these names in the payload are data and set nothing. By hand it is made of `request_id`, "
    "`event_type` and `data`",
)
ON_INVOKE = Names(
    tools("test_tool_on_invoke_publishes_result", "test_tool_on_invoke_handles_error"),
    "an error is an object with code and message; a transient fault is retried before the caller is told",
)
TASK = Names(
    workers(
        "test_task_context_save_restore",
        "test_worker_delegates_to_sub_agent",
        "test_three_parallel_analyses_become_one_result",
    ),
    "the reply carries the reply key of the request, and the task's id in its data; each of several sub-tasks of one "
    "type gets its own data; a sub-task that failed has ended, too, so nothing waits for it for ever",
)
RESULT = Names(
    workers("test_an_order_is_processed_after_the_reservation_of_its_stock"),
    "nothing is looked up: a result comes with its waiting task",
)
ON_TASK = Names(
    workers("test_a_worker_completes_its_task_itself"),
    "a result is known by its request, on the topic named there; a task fails if its handler leaves no open wait",
)
ONE_SUB_TASK = (
    fill_in(
        "await task.delegate(...)",
        '"web.search.requested", {"query": "more"}, "web.search.completed"',
        why=f"{FILLED}; it is not reached, since a task with one sub-task is complete when that is answered",
    ),
)
FAN_IN = (
    fill_in(
        'await task.complete(result={"sentiment": aggregated[...]["result"], '
        '"entities": aggregated[...]["result"], "topics": aggregated[...]["result"]})',
        'ids["sentiment.analyze"]',
        'ids["entity.extract"]',
        'ids["topic.classify"]',
        why=f"{FILLED}: results are kept by the ids of the sub-tasks",
    ),
    Change(
        "",
        "ids = {info.event_type: info.sub_task_id for info in task.sub_tasks.values()}",
        "finds those ids by their requests",
    ),
)

TOOL_MODEL: Rows = (
    (1, "Key Files", FILES),
    (2, "1. InvocationContext", INVOCATION),
    (3, "2. Tool Class with on_invoke() Decorator", ON_INVOKE),
    (4, "Tool Declaration with Schema", DECLARED_CALCULATOR),
    (5, "Simple Tool Handler", DECLARED_CALCULATOR),
    (6, "Caller Using Tool Dynamically", CALLER_OF_A_TOOL),
    (
        7,
        "Tests to Add",
        Runs(
            tools(
                "test_tool_on_invoke_publishes_result",
                "test_tool_on_invoke_handles_error",
                "test_tool_uses_caller_response_event",
                "test_invocation_context_from_event",
            ),
            Change("pass", "", "two of the tests are empty; here they test their docstrings"),
        ),
    ),
)

WORKER_MODEL: Rows = (
    (1, "Key Files", FILES),
    (2, "Current Issue", BEFORE),
    (3, "1. TaskContext with Persistence", TASK),
    (4, "2. ResultContext for Restoring Task", RESULT),
    (5, "3. Worker Decorators", ON_TASK),
    (
        6,
        "Sequential Delegation",
        Runs(workers("test_a_researcher_delegates_and_completes_with_the_result"), *ONE_SUB_TASK),
    ),
    (
        7,
        "Parallel Fan-out / Fan-in",
        Runs(
            workers("test_three_parallel_analyses_become_one_result"),
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
        Runs(
            (
                *workers(
                    "test_task_context_save_restore",
                    "test_worker_delegates_to_sub_agent",
                    "test_a_researcher_delegates_and_completes_with_the_result",
                ),
                *flow("tasks::test_a_worker_asks_for_one_part_after_the_other"),
                *workers(
                    "test_an_order_is_fulfilled_after_answers_of_both_services",
                    "test_three_parallel_analyses_become_one_result",
                ),
            ),
            Change("pass", "", "four of the tests are empty; ours test their docstrings"),
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

SDK_REFACTORING_PLAN: Rows = (
    (1, "2.1 SDK Structure (Current)", FILES),
    (2, "3.1 Vision: Progressive Abstraction Layers", DRAWING),
    (
        3,
        "Layer 1: Base Agent",
        Runs(
            bus("test_an_agent_receives_a_fact_and_publishes_a_request"),
            Change("from soorma.agents import Agent", "", PACKAGE),
            fill_in('agent = Agent(name="my-agent", capabilities=[...])', '"ordering"'),
            Change(
                "async def handle_order(event: Dict, context: PlatformContext):",
                "async def handle_order(event: EventContext, context: PlatformContext):",
                "an event is no dict: `event.data` is one",
            ),
            fill_in(
                'await context.bus.publish(topic="action-requests", event_type="inventory.check", data={...})',
                '"order_id": event.data["order_id"]',
            ),
        ),
    ),
    (
        4,
        "Layer 2: Tool (Synchronous)",
        Runs(
            tools("test_a_tool_of_layer_2_returns_its_result"),
            Change("from soorma.agents import Tool", "", PACKAGE),
            fill_in('tool = Tool(name="calculator", capabilities=[...])', '"calculate"'),
        ),
    ),
    (
        5,
        "Layer 3: Worker (Asynchronous)",
        Runs(
            workers("test_a_researcher_delegates_and_completes_with_the_result"),
            Change("from soorma.agents import Worker", "", PACKAGE),
            fill_in('worker = Worker(name="researcher", capabilities=[...])', '"research"'),
            *ONE_SUB_TASK,
        ),
    ),
    (
        6,
        "Layer 4: Planner (Autonomous)",
        Runs(
            planners("test_a_planner_follows_the_machine_drawn_by_its_model"),
            Change("from soorma.agents import Planner", "", PACKAGE),
            Change(
                'planner = Planner(name="research-planner", capabilities=[...])',
                'planner = Planner(name="research-planner", capabilities=["planning"], '
                "reasoner=ScriptedReasoner(script))",
                f"{FILLED}; no model is called in a test",
            ),
            otherwise="`goal.requirements` are those that its data names under that key",
        ),
    ),
    (
        7,
        "3.3 Design Rationale: Why Structured/Discoverable Patterns?",
        Runs(registry("test_a_prompt_gets_the_schema_of_an_event")),
    ),
    (8, "RF-SDK-001: Remove Topic Inference from BusClient", BEFORE),
    (
        9,
        "RF-SDK-001: Remove Topic Inference from BusClient",
        Names(
            bus("test_a_fact_is_published_on_its_topic_or_announced"),
            of="BusClient",
            as_python=((") -> str:", ") -> str: ..."),),
        ),
    ),
    (
        10,
        "Convenience Methods for Request/Response Pattern",
        Names(bus("test_a_request_a_response_and_an_announcement_have_their_topics")),
    ),
    (
        11,
        "Convenience Methods for Request/Response Pattern",
        Runs(
            bus("test_a_request_a_response_and_an_announcement_have_their_topics"),
            fill_in(
                'await context.bus.respond(event_type="research.completed", data={"findings": [...]}, '
                "correlation_id=request.correlation_id)",
                '"a page"',
            ),
        ),
    ),
    (12, "RF-SDK-002: Add Response Event to Action Requests", BEFORE),
    (
        13,
        "RF-SDK-002: Add Response Event to Action Requests",
        Runs(
            bus("test_a_request_names_its_response_event_and_topic"),
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
    (14, "RF-SDK-003: Refactor on_event() Signature", BEFORE),
    (
        15,
        "RF-SDK-003: Refactor on_event() Signature",
        Runs(
            bus("test_a_handler_names_its_topic"),
            fill_in("...", "heard.append(event.topic)", why=WATCHED),
            as_python=(
                (
                    '@agent.on_event("data.requested", topic="business-facts")',
                    '@agent.on_event("data.requested", topic="business-facts")\nasync def handler(event, context): ...',
                ),
            ),
        ),
    ),
    (16, "RF-SDK-004: Worker Async Task Model", BEFORE),
    (17, "RF-SDK-004: Worker Async Task Model", TASK),
    (
        18,
        "RF-SDK-004: Worker Async Task Model",
        Runs(workers("test_three_parallel_analyses_become_one_result"), *FAN_IN),
    ),
    (19, "RF-SDK-004: Worker Async Task Model", ON_TASK),
    (20, "RF-SDK-004: Worker Async Task Model", RESULT),
    (21, "RF-SDK-005: Tool Synchronous Model (Simplify)", ON_INVOKE),
    (22, "RF-SDK-005: Tool Synchronous Model (Simplify)", DECLARED_CALCULATOR),
    (23, "RF-SDK-005: Tool Synchronous Model (Simplify)", CALLER_OF_A_TOOL),
    (
        24,
        "RF-SDK-006: Planner on_goal() and on_transition()",
        Names(
            planners("test_the_event_decides_on_the_next_state"),
            "the goal's answer carries the goal's reply key; each step has a key of its own, and not the plan's id",
        ),
    ),
    (
        25,
        "RF-SDK-006: Planner on_goal() and on_transition()",
        Runs(planners("test_the_event_decides_on_the_next_state")),
    ),
    (
        26,
        "RF-SDK-006: Planner on_goal() and on_transition()",
        Names(
            planners("test_a_planner_follows_the_machine_drawn_by_its_model"),
            "on_transition is no subscription to everything: it gets the awaited events of its own plans",
        ),
    ),
    (
        27,
        "RF-SDK-007: Event Registration Tied to Agent",
        Names(
            registry("test_events_belong_to_the_agent_with_their_registration"), "a capability may also be only a name"
        ),
    ),
    (
        28,
        "RF-SDK-008: Agent Discovery by Capability (A2A Alignment)",
        Names(registry("test_an_agent_is_discovered_with_its_consumed_and_produced_events")),
    ),
    (
        29,
        "A2A Gateway Pattern",
        NotRun("a drawing; `A2AGateway` serves its card and its tasks, and docs/a2a.md lists the differences"),
    ),
    (30, "A2A Gateway Pattern", Names(gateway("test_a_task_becomes_a_request_and_its_reply_the_answer"))),
    (
        31,
        "RF-SDK-010: Memory SDK Alignment with Service Endpoints",
        Names(
            flow(
                "memory::test_a_task_is_found_by_its_id_and_by_its_sub_tasks",
                "memory::test_a_plan_is_found_by_its_requests_and_by_its_goal",
                "memory::test_a_session_is_made_by_hand_or_by_its_first_plan",
                "memory::test_a_handler_sees_its_changes_at_once_and_others_see_them_after_its_commit",
            ),
            "a task's row goes when it ends, and only its own events change it; a goal that arrives makes its plan",
        ),
    ),
    (32, "RF-SDK-011: Tracker via Events, Not API", Runs(bus("test_a_worker_reports_its_progress_with_an_event"))),
    (33, "RF-SDK-012: Common Library DTOs", BEFORE),
    (34, "RF-SDK-012: Common Library DTOs", Names(planners("test_the_event_decides_on_the_next_state"))),
    (35, "RF-SDK-012: Common Library DTOs", Names(gateway("test_an_agent_becomes_a_card"))),
    (36, "RF-SDK-012: Common Library DTOs", Names()),
    (
        37,
        "RF-SDK-012: Common Library DTOs",
        Names(
            gateway("test_an_agent_becomes_a_card", "test_a_task_becomes_a_request_and_its_reply_the_answer"),
            "events are envelopes; an agent is a registration, or as the registry finds it",
        ),
    ),
    (
        38,
        "6.1 Breaking Changes",
        Runs(
            bus("test_a_fact_is_published_on_its_topic_or_announced"),
            fill_in(
                'await context.bus.publish(topic="business-facts", event_type="order.created", data={...})',
                '"order_id": "1"',
            ),
            fill_in('await context.bus.announce("order.created", data={...})', '"order_id": "2"'),
        ),
    ),
    (
        39,
        "6.1 Breaking Changes",
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
    (40, "6.1 Breaking Changes", Runs(workers("test_a_worker_completes_its_task_itself"))),
    (
        41,
        "6.1 Breaking Changes",
        Runs(
            workers("test_a_sub_task_is_delegated_and_not_published"),
            fill_in('await task.delegate(event_type="sub.task", data={...}, response_event="sub.task.done")', '"n": 1'),
        ),
    ),
    (
        42,
        "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED",
        Shown(
            flow("open_pause::test_a_user_agent_hears_a_question_and_answers_it_by_its_event"),
            "a drawing; the user-agent is one that makes the event which answers, named in its `events_produced`",
        ),
    ),
    (
        43,
        "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED",
        Runs(
            people("test_a_person_reviews_a_document"),
            within=people("reviewer"),
            otherwise="the question goes out under the task's id for any `correlation_id`; it is answered by "
            "`platform.answer`, by the inbox, or by the event, from a client or from an agent that produces it",
        ),
    ),
    (
        44,
        "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED",
        Shown(
            people("test_a_missing_review_is_a_timeout_with_a_transition_of_the_plan"),
            "comments only; no tracker fails the task but its own timer, and the reason is `task.timeout`",
        ),
    ),
    (
        45,
        "Q2: HITL (Human-in-the-Loop) Events ✅ RESOLVED",
        Runs(
            people("test_a_plan_is_paused_until_its_budget_is_approved"),
            Change(
                "",
                "plan.update_state(transition.event)",
                "with on_transition, the handler itself moves the plan to where the event leads",
            ),
            Change("", 'seen.append((plan.status, plan.state["pause_reason"]))', "the test looks at them"),
            otherwise="a root plan is paused without end, also beyond the seven days that a plan has: its deadline "
            "moves by the length of the pause. A child's pause ends with its parent's deadline",
        ),
    ),
    (
        46,
        "Q4: Re-entrant Plans for Long-Running Conversations",
        Names(people("test_a_plan_is_paused_until_its_budget_is_approved")),
    ),
    (47, "Q4: Re-entrant Plans for Long-Running Conversations", DRAWING),
)

AGENT_PATTERNS_ARCHITECTURE: Rows = (
    (1, "Progressive Complexity", DRAWING),
    (2, "Registration Lifecycle", Names(bus("test_a_handler_gets_only_events_of_its_topic_and_type"))),
    (
        3,
        "Event Subscription Model",
        Runs(
            bus("test_a_handler_gets_only_events_of_its_topic_and_type"),
            Change(
                'await context.bus.subscribe(topics=["action-requests"])',
                "",
                "a handler subscribes; there is no other way",
            ),
            Change("pass", "heard.append(event.type)", "so that the test sees the event"),
        ),
    ),
    (4, "Context Injection", Names(tools("test_invocation_context_from_event"))),
    (5, "InvocationContext", INVOCATION),
    (6, "on_invoke() Decorator", ON_INVOKE),
    (7, "Usage Example", Runs(tools("test_a_tool_with_a_named_capability_replies_with_the_callers_response_event"))),
    (8, "TaskContext Model", TASK),
    (
        9,
        "Worker Class with Decorators",
        Names(
            (
                *workers("test_a_worker_completes_its_task_itself"),
                *flow("tasks::test_a_task_is_given_to_one_worker_for_a_plan"),
            ),
            "a task given by hand goes through the inbox, and not around it",
        ),
    ),
    (10, "ResultContext", RESULT),
    (
        11,
        "Usage Example: Sequential Delegation",
        Runs(workers("test_an_order_is_processed_after_the_reservation_of_its_stock")),
    ),
    (
        12,
        "Usage Example: Parallel Delegation",
        Runs(
            workers("test_an_order_is_fulfilled_after_answers_of_both_services"),
            Change("from soorma.task_context import DelegationSpec", "", PACKAGE),
        ),
    ),
    (
        13,
        "Handler-Only Event Registration (RF-SDK-022)",
        Names(workers("test_only_events_with_a_handler_are_consumed"), of="Worker"),
    ),
    (14, "Decorators", Names(planners("test_the_event_decides_on_the_next_state"))),
    (
        15,
        "PlanContext (State Machine)",
        Names(
            planners("test_the_event_decides_on_the_next_state"),
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
        Runs(
            planners("test_a_choreography_planner_reasons_and_executes_its_decision"),
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
        Runs(
            people("test_a_plan_waits_for_an_approval_and_continues_by_itself"),
            otherwise="as printed it is the author's decision, handed to `execute_decision`, and declares its event; a "
            "model may wait only for events of live agents or of the planner's `external_events`. The event is "
            "sent under the wait's id or the plan's, also as its correlation id",
        ),
    ),
)

KNOWLEDGE_FORGE_AGENT_ARCHITECTURE: Rows = (
    (1, "Architecture Diagram", DRAWING),
    (
        2,
        "Transition Definition",
        Names(
            flow("phases::test_a_condition_may_be_a_question_to_the_model"),
            "a condition may also be an expression or a question to the model, and which one decided is recorded",
        ),
    ),
    (
        3,
        "Required Fields",
        Names(
            flow("phases::test_a_backward_trigger_is_cleared_by_the_next_transition"),
            "visits are counted when a phase is entered, the first one included; a trigger belongs to one transition",
        ),
    ),
    (
        4,
        "Agent-Specific Extensions",
        Names(
            flow("forge::test_research_ends_with_a_report_of_answers_insights_sources_and_a_frontier"),
            "the classes that it names are defined nowhere, so they are ours; answers are kept beside their questions",
        ),
    ),
    (
        5,
        "Re-Entry Prompt Pattern",
        Shown(
            flow("phases::test_a_backward_transition_leads_back_with_its_reason_and_the_work_done"),
            "the initial prompt is that of visit 1, since the first phase is entered as well; prompts are files",
        ),
    ),
    (
        6,
        "Re-Entry Prompt Template",
        Shown(
            flow("forge::test_the_prompt_after_a_way_back_holds_its_phase_its_reason_and_the_work_done"),
            "it is the file `forge/reentry`, with text of people and models between fences",
        ),
    ),
    (
        7,
        "Checkpoint Implementation",
        Shown(
            flow(
                "phases::test_a_person_approves_modifies_or_rejects_at_a_blocking_checkpoint",
                "phases::test_a_rejection_by_a_person_may_send_the_journey_back",
                "phases::test_only_an_answer_passes_a_checkpoint_and_no_event_does",
            ),
            "its `return` in a generator is a yield and a stop: a checkpoint is announced, and the plan goes on by "
            "its answer",
        ),
    ),
    (
        8,
        "Backward Transition Events",
        Shown(
            flow("phases::test_a_backward_transition_leads_back_with_its_reason_and_the_work_done"),
            "the framework yields both whenever a backward transition is taken",
        ),
    ),
    (
        9,
        "Serialization Contract",
        Names(
            flow(
                "phases::test_an_exported_state_is_that_of_the_journey_and_imports_into_its_plan",
                "phases::test_a_state_of_another_store_goes_on_as_one_plan_after_repeated_imports",
            ),
            "an import never makes a second live plan: it goes on with the one that is there",
            of="BaseForgeAgent",
        ),
    ),
    (
        10,
        "Base Agent Interface",
        Names(
            flow(
                "phases::test_phases_follow_each_other_and_the_last_one_ends_the_plan",
                "phases::test_a_journey_without_a_transition_asks_a_person_and_does_not_spin",
            ),
            "a journey is a plan, so one agent has many at once; where no transition holds, it waits for a message",
        ),
    ),
    *(
        (number, f"{name} Agent", Shown(flow("forge::test_every_edge_of_the_graph_is_walked"), "a graph, and no code"))
        for number, name in ((11, "Research"), (12, "Understand"), (13, "Build"))
    ),
    (
        14,
        "Tool Wrapping Pattern",
        Shown(
            tools("test_a_plans_event_stream_shows_each_use_of_a_tool"),
            "nothing is wrapped: a tool's request and its reply are events of the plan's stream",
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
