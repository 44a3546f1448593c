"""The benchmark works; speeds are not tested."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from offline_kit import PATIENCE, offline

TINY = {
    "bench.rows.steps": {"kept": "file", "plans": 1, "steps": 2},
    "bench.rows.requests": {"requests": 4, "in_flight": 2},
    "bench.rows.fan_out": {"by": "worker", "width": 3, "times": 1},
    "bench.rows.storage": {"steps": 2, "step_bytes": 100},
    "bench.rows.traces": {"mode": "sdk", "plans": 1, "steps": 2},
    "bench.kernel": {"requests": 4, "in_flight": 2},
}
# Imports take most of their time, so all of them share a process.
IN_ONE_PROCESS = """
import asyncio, importlib, json, pathlib, sys

for module, options in json.loads(sys.argv[1]).items():
    folder = pathlib.Path(module)
    folder.mkdir()
    print(json.dumps(asyncio.run(importlib.import_module(module).measure(folder, **options))))
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=folder, env=offline(folder), timeout=PATIENCE
    )


def test_the_programs_of_the_benchmark_print_figures(tmp_path: Path) -> None:
    ended = run(tmp_path, "-c", IN_ONE_PROCESS, json.dumps(TINY))
    assert ended.returncode == 0, ended.stderr
    told: list[dict[str, Any]] = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(told) == len(TINY)
    assert all(figures["ms"] > 0 and figures["begin"] < figures["end"] for figures in told)


def test_the_benchmark_prints_a_row_of_the_table(tmp_path: Path) -> None:
    ended = run(tmp_path, "-m", "bench.run", "--ours", "--tiny", "--rows", "requests-1")
    assert ended.returncode == 0, ended.stderr
    assert "| the same, one in flight | fsyncs |  |  | at most 3.10 |  | not measured |" in ended.stdout
    assert "| requests-1 | ours |" in ended.stdout and "| requests-1 | bare kernel |" in ended.stdout


@pytest.mark.parametrize("given", ["--rows nothing", "--rows step,nothing"])
def test_an_unknown_row_is_refused_with_the_list_of_rows(tmp_path: Path, given: str) -> None:
    ended = run(tmp_path, "-m", "bench.run", *given.split())
    assert ended.returncode != 0
    assert "no row nothing; there are step, " in ended.stderr
