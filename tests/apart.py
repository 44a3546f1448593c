"""Tests of one place: those about files alone, skipped elsewhere with a printed reason, and those of a server."""

from collections.abc import Sequence

import places
import pytest

OWNED, SOCKET, COMMITS = "it has one owner", "its owner has a socket", "its connection counts commits"
TOGETHER = "what comes at once is claimed at once, while on a server claims go beside the commits that bring it"
COPIED = "`soorma backup` copies it"
MADE = "its store is made by the test, of parts of its own"
BESIDE = "its handlers read files beside it"
FORKED = "each of its processes is forked, with a file of its own"
# By the beginning of the test's name.
OF_A_FILE = {
    "examples/08_refunds/test_refunds.py::test_a_lead_is_reminded_and_when_the_deadline_passes_nothing_is_paid": FORKED,
    "examples/08_refunds/test_refunds.py::test_a_refund_is_paid_once_with_a_crash_at_any_commit": FORKED,
    "tests/acceptance/test_agent_run.py::test_a_second_agent_on_the_same_store_gets_the_owners_name": OWNED,
    "tests/acceptance/test_agent_run.py::test_an_agent_runs_until_a_signal_and_leaves_in_order": SOCKET,
    "tests/acceptance/test_cli.py::test_a_second_application_gets_the_owner_of_the_store": OWNED,
    "tests/acceptance/test_cli.py::test_a_missing_store_is_an_error_and_is_not_created": "it may not be there",
    "tests/acceptance/test_cli.py::test_an_owner_is_reached_without_the_file_with_its_name": OWNED,
    "tests/acceptance/test_cli.py::test_an_owner_killed_during_an_answer_neither_loses_nor_doubles_it": SOCKET,
    "tests/acceptance/test_cli.py::test_on_a_terminal_the_inbox_prints_the_commands": "it can be renamed",
    "tests/acceptance/test_cli.py::test_an_approval_counts_once_and_a_second_gets_the_first_persons_name": OWNED,
    "tests/acceptance/test_cli_letters.py::test_a_letter_is_shown_with_its_event_its_reason": BESIDE,
    "tests/acceptance/test_cli_letters.py::test_a_letter_redriven_without_a_running_agent": OWNED,
    "tests/acceptance/test_cli_letters.py::test_a_letter_with_an_unreadable_event": "it holds bytes outside of UTF-8",
    "tests/acceptance/test_cli_letters.py::test_letters_are_listed_newest_first": BESIDE,
    "tests/acceptance/test_cli_letters.py::test_letters_are_redriven_and_discarded_at_once": BESIDE,
    "tests/acceptance/test_cli_trials.py::test_cases_in_a_file_need_no_store": "it may not be there",
    "tests/acceptance/test_cli_upkeep.py::test_a_backup_": COPIED,
    "tests/acceptance/test_cli_upkeep.py::test_only_a_store_in_a_file_can_be_copied": COPIED,
    "tests/acceptance/test_cli_upkeep.py::test_backups_beside_a_busy_application_continue_from_their_moments": COPIED,
    "tests/acceptance/test_cli_upkeep.py::test_a_killed_backup_leaves_no_partial_copy": COPIED,
    "tests/acceptance/test_first_day.py::test_errors_are_red_only_on_a_terminal": "it may not be there",
    "tests/acceptance/test_first_day.py::test_the_doctor_examines_an_owned_store_and_a_file_without_one": OWNED,
    "tests/acceptance/test_first_day.py::test_the_doctor_shows_the_source_of_a_setting": "it may not be there",
    "tests/contract/test_control.py": SOCKET,
    "tests/contract/test_owner.py": OWNED,
    "tests/contract/test_sqlite_backup.py": COPIED,
    "tests/contract/test_sqlite_damage.py": "its bytes can be damaged",
    "tests/contract/test_sqlite_files.py": "it has a journal, a lock, and a version in its header",
    "tests/contract/test_sqlite_queries.py": "its planner says what it reads",
    "tests/contract/test_sqlite_retention.py": "it shrinks",
    "tests/contract/test_sqlite_writer.py": "it has one connection that writes",
    "tests/flow/test_commits.py::test_a_decision_and_its_tool_call_are_two_commits": COMMITS,
    "tests/flow/test_commits.py::test_a_request_its_handling_and_its_reply_are_two_commits": COMMITS,
    "tests/flow/test_crash_mark.py": FORKED,
    "tests/flow/test_interruptions.py::test_a_cancellation_received_twice_releases_the_delivery_in_hand": MADE,
    "tests/flow/test_interruptions.py::test_a_claim_failing_at_the_end_of_its_process_does_not_block_the_end": MADE,
    "tests/flow/test_interruptions.py::test_an_end_in_the_middle_of_a_claim_leaves_no_lease": MADE,
    "tests/flow/test_interruptions.py::test_a_handler_with_a_lost_lease_commits_nothing": MADE,
    "tests/flow/test_isolation.py::test_a_commit_during_the_renewal_of_leases_is_no_lost_lease": MADE,
    "tests/flow/test_overload.py::test_a_full_disk_stops_intake_with_a_clear_error_and_recovers": MADE,
    "tests/flow/test_platform.py::test_an_unusable_place_is_refused_and_works_once_mended": "it has a folder",
    "tests/flow/test_platform.py::test_a_second_platform_of_this_process_is_refused_and_harms_nothing": OWNED,
    "tests/flow/test_runs.py::test_a_hundred_results_in_line_are_a_few_commits": COMMITS,
    "tests/flow/test_runs.py::test_a_refused_commit_of_a_run_is_made_again": TOGETHER,
    "tests/flow/test_runs.py::test_a_commit_of_a_run_is_made_once_the_store_is_back": TOGETHER,
    "tests/flow/test_runs.py::test_a_handler_that_cancels_its_own_task_ends_its_run_only": TOGETHER,
    "tests/flow/test_runs.py::test_a_failing_result_ends_its_run_and_is_handled_again_alone": TOGETHER,
    "tests/flow/test_runs.py::test_the_pauses_and_attempts_of_a_failing_result_begin_when_it_is_alone": TOGETHER,
    "tests/flow/test_runs.py::test_a_task_left_behind_by_a_handler_records_nothing_for_the_next": TOGETHER,
    "tests/flow/test_runs.py::test_the_rows_after_runs_equal_the_rows_of_results_one_by_one": TOGETHER,
    "tests/flow/test_runs.py::test_a_slow_handling_is_committed_before_the_next": TOGETHER,
    "tests/flow/test_stores_of_others.py": MADE,
    "tests/flow/test_sub_tasks.py::test_a_result_is_one_row_and_a_group_is_read_once": MADE,
    "tests/flow/test_sub_tasks.py::test_half_of_a_group_comes_before_the_process_ends_and_half_after[from": MADE,
    "tests/flow/test_timers.py::test_a_poison_candidate_due_behind_another": MADE,
    "tests/flow/test_timers.py::test_a_delivery_due_behind_a_busy_agent": MADE,
}

# Tests of contracts that run on PostgreSQL too, where each costs some ten times as much as in a file: those about the
# differences of a server, its locks, groups, texts, places, full text. With SOORMA_TEST_STORE=postgresql all run there.
SAMPLE_ON_POSTGRES = (
    "test_store_beginnings",
    "test_store_commits",
    "test_store_features",
    "test_store_timers",
    "test_store_values",
    "test_a_snooze_moves_timers_and_the_escalation_and_is_kept",
    "test_an_unreadable_timer_holds_up_no_snooze",
    "test_two_commits_at_once_for_one_owner_make_one_lease",
    "test_a_sent_event_is_claimed_for_a_free_hand",
    "test_the_state_of_a_plan_has_all_its_values_expectations_and_spending",
    "test_all_of_one_user_goes_and_nothing_of_others",
    "test_any_query_is_taken_as_words",
)


def mark(items: Sequence[pytest.Item]) -> None:
    if not places.ON_POSTGRES:
        return
    for item in items:
        for name, why in OF_A_FILE.items():
            if item.nodeid.startswith(name):
                item.add_marker(pytest.mark.skip(f"of a file: {why}"))
