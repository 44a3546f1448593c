"""A sample of the crash proof; `make crash` runs every position."""

import os

import pytest
from proof import PLANTED, caught, crash_free, positions, prove, sample

SEED = int(os.environ.get("SEED", "1"))
SIZE = 30


@pytest.mark.timeout(600)
def test_a_kill_at_any_point_changes_nothing_and_planted_bugs_are_caught() -> None:
    expected, passed = crash_free()
    assert expected.plan[0] == "completed"
    trials = prove(sample(positions(passed), SIZE, SEED), expected)
    assert sum(trial.killed for trial in trials) > SIZE // 2
    assert [(trial.point, trial.violations) for trial in trials if trial.violations] == [], f"seed {SEED}"
    assert [bug for bug in PLANTED if not caught(bug, passed, expected)] == []
