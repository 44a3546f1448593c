"""What went wrong when an earlier implementation of the same documents was run, a line each, and the tests that show
that it does not go wrong here. What belongs to a part that does not exist here yet says so.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """`tests` are paths below `tests`, with the test's name. `later` says which part is not there yet, and what holds
    until then."""

    what: str
    tests: tuple[str, ...] = ()
    later: str = ""


FAULTS = (
    # As it was shipped
    Fault(
        "a planner could not be given a token, and a wrong option was sent to the provider of its model",
        (
            "flow/test_platform.py::test_a_misspelt_option_of_a_planner_is_no_setting_of_its_model",
            "recorded/test_litellm_failures.py::test_what_the_reasoner_sets_itself_cannot_be_set",
        ),
        later="tokens come with the HTTP API; agents in the process of their store need none",
    ),
    Fault(
        "the example that was to show it all failed at every planner's call",
        (
            "acceptance/test_examples.py::test_every_run_of_the_order_example_ends_well_and_prints_its_trace",
            "acceptance/test_examples.py::test_the_quickstart_asks_and_books",
            "acceptance/test_readme.py::test_a_program_of_the_readme_runs",
        ),
    ),
    Fault(
        "a new project, as the command line made it, neither ran nor passed its own test",
        ("acceptance/test_readme.py::test_every_soorma_command_of_the_readme_exists",),
        later="there is no command that makes a project yet; what the README shows is run",
    ),
    Fault(
        "the bus brought one tenant's payloads to another tenant's agents",
        (
            "flow/test_agents.py::test_one_tenant_never_sees_anothers_events_goals_or_replies",
            "contract/test_store_inbox.py::test_an_agent_of_a_tenant_gets_that_tenants_events_and_a_shared_one_all",
            "contract/test_store_log.py::test_events_of_a_tenant_are_its_own",
            "flow/test_tracker.py::test_nothing_is_told_of_another_tenants_plan",
        ),
        later="subjects and permissions per tenant come with NATS",
    ),
    Fault(
        "of two tenants' agents with one name, each got what was for the other",
        (
            "flow/test_agents.py::test_a_name_that_another_tenants_agent_had_gets_nothing_of_what_waits_for_that",
            "contract/test_store_registry.py::test_what_waits_under_a_name_does_not_go_over_to_another_tenant",
            "flow/test_platform.py::test_two_agents_of_one_name_are_refused_and_neither_starts",
        ),
    ),
    Fault(
        "everybody could list who was connected",
        ("flow/test_directory.py::test_a_tenant_finds_its_own_and_the_shared",),
        later="connections from outside come with the HTTP API; who is registered is shown by tenant",
    ),
    Fault(
        "an answer that had the name of its request replaced it in the registry, and the model was shown the answer",
        (
            "flow/test_directory.py::test_one_name_on_two_topics_stays_two_events",
            "flow/test_decisions.py::test_of_a_request_and_an_answer_of_one_name_the_model_is_shown_the_request",
        ),
    ),
    Fault(
        "a query for an agent by its name found nothing, since an error was taken for an empty answer",
        ("flow/test_directory.py::test_a_query_by_name_and_by_everything_else_works",),
    ),
    Fault(
        "a worker that reported its progress failed",
        ("flow/test_tasks.py::test_progress_is_told_at_once_and_moves_nothing",),
    ),
    Fault(
        "a planner without a model could not begin a plan",
        (
            "flow/test_machine.py::test_a_search_that_finds_something_is_analyzed_and_done",
            "flow/test_explicit.py::test_a_goal_handler_makes_the_first_step_and_the_planner_goes_on_by_itself",
        ),
    ),
    Fault(
        "several requests of one type sent together all carried the data of the first",
        (
            "flow/test_tasks.py::test_parts_of_one_kind_keep_their_own_data",
            "flow/test_joins.py::test_a_failure_has_come_too_and_equal_events_keep_their_own_data",
        ),
    ),
    Fault(
        "after a delegation the answer had lost its reply key, its session and its goal",
        (
            "flow/test_tasks.py::test_reply_keys_session_and_goal_survive_three_levels",
            "flow/test_tasks.py::test_a_reply_key_of_the_callers_own_comes_back_after_three_levels",
        ),
    ),
    Fault(
        "tasks that had ended stayed in the store",
        (
            "flow/test_tasks.py::test_one_after_the_other",
            "flow/test_tasks.py::test_a_result_handler_that_breaks_fails_the_task",
            "contract/test_sqlite_retention.py::test_what_was_removed_leaves_no_row_anywhere",
        ),
    ),
    Fault(
        "to find the task of a part, all tasks were read",
        (
            "contract/test_sqlite_queries.py::test_no_statement_scans_a_table_that_grows",
            "flow/test_memory.py::test_a_task_is_found_by_its_id_and_by_what_it_asked",
        ),
    ),
    Fault(
        "with an empty key of a model provider a part did not start, although nobody used that model",
        (
            "flow/test_platform.py::test_without_a_model_library_the_rest_works_and_what_to_install_is_told",
            "recorded/test_litellm_failures.py::test_a_missing_key_is_named",
            "recorded/test_litellm_failures.py::test_an_empty_key_is_none_unless_the_provider_has_another",
        ),
    ),
    Fault(
        "the variables that were printed for the set-up were not those that were read",
        ("acceptance/test_readme.py::test_every_variable_that_is_told_of_is_read",),
    ),
    Fault(
        "the rows of tenants were kept apart by a wall that the database's user walked through",
        ("flow/test_memory.py::test_another_tenants_plan_is_not_found_by_anybody",),
        later="row-level security comes with PostgreSQL; in one process every read is scoped, and nothing is a wall",
    ),
    # Planners
    Fault(
        "the circuit breaker was kept in the process, so that a restart set it back",
        (
            "flow/test_limits.py::test_max_actions_3_means_3_over_restarts_too",
            "flow/test_machine.py::test_the_limit_of_actions_holds_over_a_restart",
        ),
    ),
    Fault(
        "a call that named no plan was not counted",
        ("flow/test_limits.py::test_a_handler_that_asks_its_model_again_and_again_is_stopped_and_its_caller_is_told",),
    ),
    Fault(
        "only calls of the model were limited: neither time, tokens, money, depth nor repetition",
        (
            "flow/test_limits.py::test_a_tripped_limit_fails_the_plan_by_its_name",
            "flow/test_limits.py::test_a_plan_ends_at_its_deadline_whatever_it_waits_for",
            "flow/test_limits.py::test_planners_in_a_row_are_counted",
            "flow/test_limits.py::test_the_same_decision_in_the_same_state_is_stopped",
            "contract/test_store_budget.py::test_calls_reserved_at_once_do_not_pass_the_limit",
        ),
    ),
    Fault(
        "a tripped limit left the plan running, and its caller heard nothing",
        (
            "flow/test_limits.py::test_max_actions_3_means_3",
            "flow/test_limits.py::test_a_spent_limit_is_never_asked_about_again",
        ),
    ),
    Fault(
        "planners could hand a goal round in circles without end",
        (
            "flow/test_delegation.py::test_a_goal_that_comes_back_to_who_pursues_it_is_refused_and_asked_again",
            "flow/test_limits.py::test_planners_in_a_row_are_counted",
            "flow/test_limits.py::test_a_child_draws_on_the_budget_of_its_root",
        ),
    ),
    Fault(
        "an unusable answer of a model ended in an exception: not asked again, plan not failed, caller not told",
        (
            "flow/test_decisions.py::test_an_unusable_decision_is_refused_in_words_and_asked_again",
            "flow/test_decisions.py::test_after_two_re_asks_the_plan_fails_with_the_reason_and_its_caller_is_told",
        ),
    ),
    Fault(
        "an error of the model's provider did the same",
        (
            "flow/test_decisions.py::test_a_model_that_is_away_is_asked_again_and_in_the_end_the_caller_is_told",
            "flow/test_decisions.py::test_what_a_model_declines_is_final_and_never_asked_again",
        ),
    ),
    Fault(
        "the model was asked for JSON of any shape; the schema of a decision was made and not used",
        (
            "recorded/test_litellm_answers.py::test_the_schema_is_sent_strict_and_closed",
            "recorded/test_litellm_answers.py::test_every_mode_finds_the_decision",
            "unit/test_scripted.py::test_the_helpers_speak_the_schema_of_an_offer",
        ),
    ),
    Fault(
        "the prompt held names without schemas, its own schema every time, and neither goal nor history",
        (
            "flow/test_decisions.py::"
            "test_every_step_is_decided_on_the_goal_what_has_happened_and_the_schemas_of_what_is_offered",
        ),
    ),
    Fault(
        "a payload off its receiver's schema was published",
        (
            "flow/test_decisions.py::test_an_unusable_decision_is_refused_in_words_and_asked_again",
            "flow/test_explicit.py::test_a_decision_of_the_handlers_own_is_checked_like_a_models",
            "oracle/test_oracle.py::test_plans_go_as_they_should_though_every_first_answer_is_wrong",
            "oracle/test_oracle.py::test_a_product_without_one_of_its_checks_fails",
        ),
    ),
    Fault(
        "a delegation went to whatever was named, and its parent never went on",
        (
            "flow/test_decisions.py::test_an_unusable_decision_is_refused_in_words_and_asked_again",
            "flow/test_delegation.py::test_a_child_answers_its_parent_and_the_parent_goes_on",
            "flow/test_receivers.py::test_a_delegated_goal_is_begun_by_its_planner_only",
        ),
    ),
    Fault(
        "a model could choose the topic and the reply event of what it published",
        ("oracle/test_branches.py::test_a_step_beside_its_branch_of_the_schema_is_no_decision",),
    ),
    Fault(
        "a plan waited for an event that nobody makes",
        (
            "flow/test_decisions.py::test_an_unusable_decision_is_refused_in_words_and_asked_again",
            "flow/test_receivers.py::test_a_wait_without_end_is_refused",
        ),
    ),
    Fault(
        "the time of a wait was stored and never came",
        (
            "flow/test_waits.py::test_a_2_second_wait_ends_also_when_the_process_was_down",
            "flow/test_waits.py::test_a_deadline_ends_a_wait_and_its_answer_is_late_from_that_moment_on",
        ),
    ),
    Fault(
        "a waiting plan went on at any result with its reply key, and at nothing but results",
        (
            "flow/test_machine.py::test_only_what_a_question_waits_for_ends_it",
            "flow/test_joins.py::test_what_is_not_enough_calls_no_model_and_what_is_late_neither",
            "flow/test_waits.py::test_an_outside_event_finds_its_plan_by_what_it_correlates",
            "contract/test_store_waits.py::test_what_does_not_name_the_wait_does_not_meet_it",
            "contract/test_store_waits.py::test_the_topic_of_an_outside_event_is_not_compared",
        ),
    ),
    Fault(
        "a plan was completed before it answered, or published before it was saved: a crash between lost one of them",
        (
            "crash/test_crash.py::test_a_kill_at_any_point_changes_nothing",
            "crash/test_crash.py::test_a_planted_bug_is_caught",
            "flow/test_machine.py::test_a_kill_between_two_states_repeats_nothing",
            "contract/test_store_effects.py::test_a_failed_commit_leaves_the_delivery_in_hand_and_nothing_else",
        ),
    ),
    Fault(
        "nothing told a repetition from a new act",
        (
            "flow/test_agents.py::test_the_same_idempotency_key_submits_a_goal_once",
            "flow/test_agents.py::test_what_may_pass_is_tried_again_with_the_same_key_and_then_told",
            "unit/test_events.py::test_an_id_is_derived_from_cause_source_ordinal_and_type",
        ),
    ),
    Fault(
        "all steps of a plan had one reply key, so that what ran side by side could not be told apart",
        (
            "flow/test_joins.py::test_a_hundred_results_in_any_order_and_some_twice_are_one_join",
            "flow/test_races.py::test_results_of_100_plans_at_once_are_each_their_own",
        ),
    ),
    Fault(
        "an author wrote the loop of a plan by hand, in hundreds of lines",
        (
            "acceptance/test_examples.py::test_the_quickstart_is_short",
            "flow/test_decisions.py::test_a_goal_is_pursued_by_itself_until_it_is_complete",
        ),
    ),
    # Delivery
    Fault(
        "what came while nobody listened was lost",
        (
            "flow/test_agents.py::test_what_came_while_an_agent_was_away_is_handled_when_it_is_back",
            "flow/test_bus.py::test_what_came_while_a_listener_to_a_family_was_away_waits_for_it",
        ),
    ),
    Fault(
        "what came while a connection was made anew was lost",
        ("flow/test_sweeper.py::test_what_the_bus_loses_is_sent_again",),
        later="connections to a broker come with NATS; what a bus loses is sent again",
    ),
    Fault(
        "what a handler broke on was lost",
        (
            "flow/test_agents.py::test_what_may_pass_is_tried_again_with_the_same_key_and_then_told",
            "flow/test_agents.py::test_a_bug_in_a_handler_leaves_a_dead_letter_and_a_rejection_does_not",
            "crash/test_crash.py::test_an_event_that_kills_is_set_aside_after_its_attempts",
        ),
    ),
    Fault(
        "a listener that was slow lost the oldest events, and nobody was told",
        (
            "flow/test_bus.py::test_a_slow_listener_gets_every_event_once_however_many_came_at_once",
            "flow/test_overload.py::test_too_much_waiting_holds_up_clients_and_nobody_else",
        ),
    ),
    Fault(
        "an event that came twice was handled twice",
        (
            "contract/test_store_inbox.py::test_arriving_again_changes_nothing",
            "flow/test_worst.py::test_every_event_comes_twice_and_its_plan_is_none_the_wiser",
            "flow/test_machine.py::test_a_reply_that_comes_twice_moves_the_plan_once",
        ),
    ),
    Fault(
        "a task that was completed twice was answered twice",
        ("flow/test_agents.py::test_a_worker_completes_or_fails_its_task_once",),
    ),
    Fault(
        "of two callers of one name each got some of the other's answers",
        (
            "flow/test_bus.py::test_callers_at_the_same_time_each_get_their_own_replies",
            "contract/test_store_replies.py::test_a_reply_meets_its_expectation_and_goes_to_the_plan",
            "contract/test_store_inbox.py::test_claims_at_once_share_no_delivery",
        ),
        later="several processes of one agent come with PostgreSQL; an answer is a row of its plan, whoever claims it",
    ),
    Fault(
        "every agent on a topic was sent every event of it",
        (
            "contract/test_store_inbox.py::test_every_agent_that_subscribes_gets_one_copy",
            "flow/test_bus.py::test_the_most_exact_handler_gets_the_event_and_no_other",
        ),
    ),
    Fault(
        "an agent handled one event at a time, so that a slow model held up every plan of its planner",
        (
            "flow/test_races.py::test_a_plan_whose_model_takes_long_holds_up_no_other",
            "flow/test_memory.py::test_ten_increments_at_once_make_ten_without_a_conflict",
            "contract/test_store_inbox.py::test_different_owners_are_claimed_together_up_to_the_limit",
        ),
    ),
    Fault(
        "each event was published by a call of its own",
        ("contract/test_sqlite_writer.py::test_operations_that_wait_together_share_one_commit",),
    ),
    Fault(
        "whoever asked a worker that raised was never told, and a worker could not say that it failed",
        (
            "flow/test_gone_workers.py::test_whoever_asked_a_worker_that_failed_is_told_and_the_plan_goes_on",
            "flow/test_agents.py::test_a_worker_completes_or_fails_its_task_once",
        ),
    ),
    Fault(
        "of results that came at once some were lost, and what waited for all of them never went on",
        (
            "flow/test_tasks.py::test_a_hundred_results_in_any_order_and_some_twice_are_one_join",
            "flow/test_joins.py::test_a_hundred_results_in_any_order_and_some_twice_are_one_join",
            "contract/test_store_replies.py::test_fan_in_of_replies_at_once_hands_over_each_one_once",
        ),
    ),
    Fault(
        "ten increments at once made two",
        (
            "flow/test_memory.py::test_ten_increments_at_once_make_ten_without_a_conflict",
            "flow/test_memory.py::test_what_was_read_and_is_stored_meanwhile_is_read_again",
        ),
    ),
    Fault(
        "a request that was heard of after its result showed as pending for ever",
        (
            "flow/test_tracker.py::test_no_finished_action_ever_shows_as_pending",
            "flow/test_tracker.py::test_a_report_that_comes_late_changes_no_status",
        ),
    ),
    Fault(
        "a promised schema of results was not looked at where a library was missing",
        ("flow/test_agents.py::test_a_result_off_its_promised_schema_is_not_sent",),
    ),
    Fault(
        "no input was looked at before its handler ran",
        (
            "flow/test_agents.py::test_a_request_off_its_receivers_schema_is_not_published",
            "flow/test_receivers.py::test_a_second_receiver_switches_neither_the_gate_nor_the_schema_off",
        ),
    ),
    Fault("to agents of another protocol a failure was told as a success", later="there is no gateway yet"),
    # Tests and operations
    Fault(
        "the tests ran against mocks of the bus, the model and the memory, and saw none of this",
        (
            "architecture/test_no_mocks.py::test_no_test_uses_a_mock",
            "machine/test_planted.py::test_a_planted_bug_is_found",
            "crash/test_crash.py::test_a_planted_bug_is_caught",
        ),
    ),
    Fault(
        "importing it took seconds, since it loaded the library of all models",
        (
            "architecture/test_import.py::test_it_takes_less_than_0_35_seconds_of_a_processor",
            "architecture/test_import.py::test_it_does_not_load",
        ),
    ),
    Fault(
        "the client asked the tracker for a time line, a tree, sessions and groups that no server had",
        (
            "flow/test_tracker.py::test_the_timeline_tells_a_plan_in_the_order_of_time",
            "flow/test_tracker.py::test_a_tree_and_a_session_show_their_plans",
            "flow/test_tracker.py::test_a_group_is_shown_while_it_runs_and_when_its_task_has_ended",
        ),
    ),
    Fault(
        "conditions of transitions were read and never evaluated",
        ("unit/test_machine.py::test_an_event_leads_to",),
    ),
    Fault(
        "the tests of loops and of workers' time were there and skipped",
        (
            "flow/test_machine.py::test_a_circle_of_states_ends_at_the_limit_of_repeats",
            "flow/test_tasks.py::test_a_question_that_nobody_answers_is_a_timeout",
            "flow/test_tasks.py::test_a_part_that_nobody_answers_is_a_result_in_time",
        ),
    ),
    Fault(
        "a capability that was only a name stopped working with a new version",
        ("flow/test_agents.py::test_a_capability_may_be_only_a_name",),
    ),
    Fault(
        "commands and services were told of that were not there",
        (
            "acceptance/test_readme.py::test_every_soorma_command_of_the_readme_exists",
            "acceptance/test_readme.py::test_every_make_command_of_the_readme_has_a_target",
            "acceptance/test_readme.py::test_every_file_that_the_readme_links_to_is_there",
        ),
    ),
)
