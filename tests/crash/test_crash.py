"""A stratified sample of the crash proof, drawn by SEED; `make crash` runs every position.

Two layers need strace(1); without it they fail, or are skipped with ALLOW_SKIP=1.
"""

import os
import random
from collections.abc import Iterator

import failpoint_layer
import io_error_layer
import killing_layer
import pytest
import remote_layer
import strace
import syscall_layer
from planted import IN_A_FILE, NEEDS_STRACE, PLANTED, Hunter
from programs import AWAY, BY_A_BROKER, CIRCLES, EXAMPLES, FAN_IN, FORKS, ORDER, ORDERS, RETIREMENT, THAT_KILL
from proof import Tally, summary, verdict
from trial import Crashless, Program, Stage, Trial

SEED = int(os.environ.get("SEED", "1"))

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture(scope="module")
def crashless(stage: Stage) -> Crashless:
    return stage.crashless(ORDER)


@pytest.fixture
def rng() -> random.Random:
    print(f"SEED={SEED}")
    return random.Random(SEED)


def need_strace() -> None:
    if missing := strace.why_not():
        told = f"{missing}, by which this layer kills; install it, or set ALLOW_SKIP=1"
        pytest.skip(told) if os.environ.get("ALLOW_SKIP") == "1" else pytest.fail(told)


@pytest.fixture(scope="module")
def calls(stage: Stage) -> dict[str, int]:
    need_strace()
    return strace.calls_of(stage, ORDER, tuple(syscall_layer.CALLS))


def violations(trials: list[Trial]) -> list[tuple[str, tuple[str, ...]]]:
    return [(trial.position, trial.violations) for trial in trials if trial.violations]


def test_a_kill_at_any_point_leaves_the_end_unchanged(stage: Stage, crashless: Crashless, rng: random.Random) -> None:
    chosen = failpoint_layer.sample(failpoint_layer.positions(crashless.passed), 24, rng)
    trials = failpoint_layer.run(stage, ORDER, crashless.end, chosen)
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) > len(trials) * 0.8


def test_a_kill_of_the_restarted_program_leaves_the_end_unchanged(
    stage: Stage, crashless: Crashless, rng: random.Random
) -> None:
    chosen = failpoint_layer.double_kills(failpoint_layer.positions(crashless.passed), 4, rng)
    trials = failpoint_layer.run(stage, ORDER, crashless.end, chosen)
    assert violations(trials) == []
    assert sum(trial.kills > 1 for trial in trials) > 1


@pytest.mark.parametrize("program", [ORDERS, BY_A_BROKER], ids=lambda program: program.name)
def test_parallel_orders_and_orders_over_a_broker_survive_a_kill(
    stage: Stage, program: Program, rng: random.Random
) -> None:
    undisturbed = stage.crashless(program)
    chosen = rng.sample(failpoint_layer.positions(undisturbed.passed), 4)
    trials = failpoint_layer.run(stage, program, undisturbed.end, chosen)
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) > 1


def test_a_plan_at_rest_with_an_unavailable_model_survives_a_kill(stage: Stage, rng: random.Random) -> None:
    undisturbed = stage.crashless(AWAY)
    everything = failpoint_layer.positions(undisturbed.passed)
    away = [position for position in everything if position.point.startswith("model.away")]
    commits = [position for position in everything if position.point.startswith("sql.commit")]
    chosen = [*away, *rng.sample(commits, 3), *failpoint_layer.double_kills(everything, 2, rng)]
    trials = failpoint_layer.run(stage, AWAY, undisturbed.end, chosen)
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) > 3


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda program: program.name)
def test_the_agents_of_an_example_survive_a_kill(stage: Stage, program: Program, rng: random.Random) -> None:
    undisturbed = stage.crashless(program)
    everything = failpoint_layer.positions(undisturbed.passed)
    one_of_each = failpoint_layer.sample(everything, 0, rng)
    chosen = [*rng.sample(one_of_each, 5), *failpoint_layer.double_kills(everything, 1, rng)]
    trials = failpoint_layer.run(stage, program, undisturbed.end, chosen)
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) > 3


def test_results_handled_in_one_run_survive_a_kill(stage: Stage, rng: random.Random) -> None:
    undisturbed = stage.crashless(FAN_IN)
    everything = failpoint_layer.positions(undisturbed.passed)
    runs = [position for position in everything if position.point.startswith(("run.", "count.told"))]
    chosen = [*rng.sample(runs, 4), *rng.sample(everything, 2), *failpoint_layer.double_kills(runs, 2, rng)]
    trials = failpoint_layer.run(stage, FAN_IN, undisturbed.end, chosen)
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) > 5


def test_a_kill_gives_back_no_spent_budget_to_a_circle_of_delegations(stage: Stage, rng: random.Random) -> None:
    undisturbed = stage.crashless(CIRCLES)
    everything = failpoint_layer.positions(undisturbed.passed)
    chosen = [*rng.sample(everything, 6), *failpoint_layer.double_kills(everything, 2, rng)]
    trials = failpoint_layer.run(stage, CIRCLES, undisturbed.end, chosen)
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) > 5


def test_a_kill_at_a_switch_of_models_leaves_the_end_unchanged(stage: Stage, rng: random.Random) -> None:
    undisturbed = stage.crashless(RETIREMENT)
    switches = ("retire.", "restore.", "sql.insert.model_", "sql.delete.model_")
    around = [one for one in failpoint_layer.positions(undisturbed.passed) if one.point.startswith(switches)]
    trials = failpoint_layer.run(stage, RETIREMENT, undisturbed.end, rng.sample(around, 3))
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) == 3


def test_a_kill_at_the_begin_of_a_fork_leaves_the_end_unchanged(stage: Stage, rng: random.Random) -> None:
    undisturbed = stage.crashless(FORKS)
    begins = [one for one in failpoint_layer.positions(undisturbed.passed) if one.point.startswith("fork.")]
    trials = failpoint_layer.run(stage, FORKS, undisturbed.end, rng.sample(begins, 2))
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) == 2


def test_a_kill_at_any_system_call_leaves_the_end_unchanged(
    stage: Stage, crashless: Crashless, calls: dict[str, int], rng: random.Random
) -> None:
    trials = syscall_layer.run(stage, ORDER, crashless.end, syscall_layer.sample(calls, 8, rng))
    assert violations(trials) == []
    assert sum(trial.kills for trial in trials) > len(trials) * 0.7


def test_a_restart_after_a_disk_error_reaches_the_expected_end(
    stage: Stage, crashless: Crashless, calls: dict[str, int], rng: random.Random
) -> None:
    chosen = io_error_layer.sample(calls, 6, rng) + io_error_layer.lasting_positions(calls, 2, rng)
    trials = io_error_layer.run(stage, ORDER, crashless.end, chosen)
    assert violations(trials) == []
    assert sum(trial.errors > 0 for trial in trials) > len(trials) * 0.7


@pytest.mark.parametrize("program", THAT_KILL, ids=lambda program: program.name)
def test_an_event_fatal_to_its_process_becomes_a_dead_letter_after_its_attempts(stage: Stage, program: Program) -> None:
    assert killing_layer.trial(stage, program).violations == ()


@pytest.mark.parametrize("bug", IN_A_FILE)
def test_a_planted_bug_is_caught(stage: Stage, crashless: Crashless, bug: str, request: pytest.FixtureRequest) -> None:
    needed = PLANTED[bug].layer in NEEDS_STRACE
    calls: dict[str, int] = request.getfixturevalue("calls") if needed else {}
    found = {ORDER.name: crashless}

    def crashless_run(program: Program) -> Crashless:
        if program.name not in found:
            found[program.name] = stage.crashless(program)
        return found[program.name]

    assert Hunter(stage, crashless_run, calls, SEED).hunt(bug).shown is not None, f"SEED={SEED}"


def test_a_kill_of_either_side_of_remote_agents_leaves_the_end_unchanged(rng: random.Random) -> None:
    with Stage(4) as stage:
        known = remote_layer.undisturbed_run(stage)
        chosen = [rng.choice(remote_layer.after_commits(known.passed)), *remote_layer.draw(known.passed, 1, rng)]
        trials = remote_layer.run(stage, known.end, chosen)
        assert violations(trials) == []
        assert sum(trial.kills for trial in trials) > 1
        assert remote_layer.hunt(stage, known), "a commit without fence was not caught"


def test_the_summary_line_has_all_counts_and_the_exit_code_agrees_with_it() -> None:
    good, bad = Trial("failpoints", "a", 1, (), absorbed=2), Trial("failpoints", "b", 2, ("lost",))
    proven = Tally([good], caught=9, planted=9)
    assert summary(proven, [1, 2]) == (
        "crash: 1 kills, 1 positions, 2 seeds, 0 violations, 2 calls absorbed by keys, 9/9 planted bugs caught"
    )
    assert verdict(proven, allow_skip=False) == 0
    assert verdict(Tally([good, bad], caught=9, planted=9), allow_skip=True) == 1
    assert verdict(Tally([good], caught=8, planted=9), allow_skip=True) == 1
    not_run = Tally([good], caught=7, planted=9, not_run=["system calls", "bug 'a'", "bug 'b'"])
    assert (verdict(not_run, allow_skip=False), verdict(not_run, allow_skip=True)) == (2, 0)
