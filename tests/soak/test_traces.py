"""A small storm of kills under traces; `make traces` runs all of it. Its judgement is tested with planted bugs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STORM = Path(__file__).with_name("trace_storm.py")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the storm in a process without threads, since it forks."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(STORM), *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=600)


@pytest.mark.timeout(600)
def test_kills_leave_no_span_without_its_parent_but_those_of_killed_processes_and_a_link_over_each_wait() -> None:
    ran = run("--plans", "40", "--kills", "4")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 kills" in ran.stdout and " 0 faults" in ran.stdout


@pytest.mark.timeout(600)
def test_spans_before_the_commit_and_random_ids_and_missing_links_are_found() -> None:
    ran = run("--planted", "--plans", "24", "--kills", "4")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4/4 planted bugs caught" in ran.stdout
