"""The walls are contracts of import-linter. They hold, and each planted breach breaks its wall."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True, no_logo=True))"


def lint(root: Path) -> tuple[int, str]:
    """Return the verdict on the package in `root`, not on the installed one."""
    run = subprocess.run(
        [sys.executable, "-c", LINT],
        check=False,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    return run.returncode, run.stdout + run.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "soorma_ai", tmp_path / "soorma_ai", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_statements_are_kept_from_every_folder_of_rules_but_arrival_and_the_fold() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (wall,) = [one for one in contracts if one["name"] == "statements know the rules of arrival and the fold alone"]
    rules = ROOT / "soorma_ai/kernel/rules"
    # A folder without a module is left over from a move, and does not count.
    found = {one.relative_to(rules).parts[0].removesuffix(".py") for one in rules.rglob("*.py")} - {
        "__init__",
        "arrival",
        "fold",
    }
    assert set(wall["forbidden_modules"]) == {f"soorma_ai.kernel.rules.{name}" for name in found}


def test_every_wall_stands() -> None:
    verdict, report = lint(ROOT)
    assert verdict == 0, report
    assert "0 broken" in report


@pytest.mark.parametrize(
    ("module", "planted", "broken"),
    [
        ("kernel/domain/limits.py", "import asyncio", "domain and rules are pure"),
        ("kernel/rules/waits/answers.py", "from time import monotonic", "domain and rules are pure"),
        ("kernel/rules/waits/wakeups.py", "import random", "domain and rules are pure"),
        ("agents/planted.py", "import soorma_ai.adapters", "agents never see an adapter"),
        ("agents/planted.py", "def late() -> None:\n    from soorma_ai import adapters", "agents never see an adapter"),
        ("errors.py", "import soorma_ai.kernel.domain.limits", "imports point down"),
        ("api/clients/planted.py", "import soorma_ai.kernel.runtime.client.client", "HTTP clients load no platform"),
        ("api/clients/planted.py", "from soorma_ai.adapters import clock", "imports point down"),
        ("api/clients/messages.py", "import soorma_ai.api.clients.sender", "the rooms of clients are floors"),
        ("kernel/rules/waits/answers.py", "import soorma_ai.kernel.runtime", "the floors of the kernel"),
        ("kernel/runtime/planted.py", "import soorma_ai.adapters", "imports point down"),
        ("agents/planted.py", "import soorma_ai.surfaces.terminal", "imports point down"),
        ("platform.py", "def late() -> None:\n    import soorma_ai.gateways", "imports point down"),
        ("api/server/tail.py", "def late() -> None:\n    import soorma_ai.platform", "imports point down"),
        ("api/server/tail.py", "import soorma_ai.surfaces.options", "imports point down"),
        ("utils.py", "", "imports point down"),
        ("kernel/planted.py", "", "the floors of the kernel"),
        ("kernel/rules/planted.py", "import soorma_ai.features.upkeep", "imports point down"),
        ("features/phases/planted.py", "import soorma_ai.features.upkeep", "features are independent"),
        ("kernel/runtime/flow.py", "import soorma_ai.features.tracking.progress", "imports point down"),
        (
            "kernel/rules/plans/joins.py",
            "import soorma_ai.kernel.rules.choices.offer",
            "the folders of rules are floors",
        ),
        ("kernel/domain/values.py", "import soorma_ai.kernel.domain.events", "nothing runs in circles"),
        (
            "kernel/sql/sweep.py",
            "import soorma_ai.kernel.rules.plans.lifecycle",
            "statements know the rules of arrival",
        ),
        ("adapters/postgres/full_text.py", "import soorma_ai.features.knowledge.rules", "imports point down"),
        ("adapters/postgres/full_text.py", "import soorma_ai.adapters.sqlite.store", "a database knows no other"),
        ("kernel/sql/codec.py", "from soorma_ai.kernel.rules import memory", "statements know the rules"),
        ("adapters/sqlite/store.py", "import soorma_ai.kernel.rules.arrival.endings", "a store adapter holds no rule"),
        ("surfaces/planted.py", "import soorma_ai.apps.cli.main", "imports point down"),
        ("features/upkeep/planted.py", "import soorma_ai.apps.cli.store_access", "imports point down"),
        ("agents/planted.py", "import soorma_ai.features.retrieval.toolkit", "imports point down"),
    ],
)
def test_a_planted_breach_is_found(copy: Path, module: str, planted: str, broken: str) -> None:
    breached = copy / "soorma_ai" / module
    written = breached.read_text() if breached.exists() else ""
    breached.write_text(f"{written}\n{planted}\n")
    verdict, report = lint(copy)
    assert verdict == 1
    assert [line for line in report.splitlines() if line.startswith(broken) and " BROKEN" in line], report
