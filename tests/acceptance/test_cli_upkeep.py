"""`soorma prune`, `backup` and `forget`, with a running application and without one."""

import asyncio
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import places
import pytest
from cli_kit import APPS, SOORMA, Shop

from soorma_ai import Platform
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.testing.clock import VirtualClock

DONE, ERROR, USAGE = 0, 1, 2
READY = "Ctrl-C to stop"
SUBMITTING = """
import asyncio, orders
from soorma_ai import Platform

async def main():
    async with Platform() as platform:
        await platform.start(*orders.agents)
        plans = []
        for number in range(100000):
            plans.append(await platform.submit("order.check", {"order_id": str(number)}, idempotency_key=str(number)))
            if number == 20:
                print("ready", flush=True)
            if number % 10 == 0:
                await plans[number // 2].result()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seed a store last used forty days ago: one completed plan, one failed, and one waiting for an approval."""
    store = tmp_path_factory.mktemp("old") / "shop.db"
    with importable_shop() as orders:
        asyncio.run(forty_days_ago(store, orders))
    return store


@contextmanager
def importable_shop() -> Iterator[Any]:
    sys.path.insert(0, str(APPS))
    try:
        import orders

        yield orders
    finally:
        sys.path.remove(str(APPS))


async def forty_days_ago(store: Path, orders: Any) -> None:
    clock = VirtualClock(SystemClock().now() - timedelta(days=40))
    async with Platform(f"sqlite:///{store}", clock=clock) as platform:
        await platform.start(*orders.agents)
        for goal in ("order.check", "order.break"):
            await asyncio.wait([asyncio.ensure_future((await platform.submit(goal, {})).result())])
        assert await (await platform.submit("order.place", {})).next_wait()


@pytest.fixture
def shop(old: Path, tmp_path: Path) -> Shop:
    places.copy(old, tmp_path / "shop.db")
    return Shop(tmp_path / "shop.db")


def goals(shop: Shop) -> list[str]:
    return [plan["goal_event"] for plan in shop.json("plans", "ls")]


# prune


@pytest.mark.parametrize("has_owner", [False, True])
def test_ended_plans_are_removed_and_all_others_stay(shop: Shop, has_owner: bool) -> None:
    with shop.background(*SOORMA, "run", "orders:agents", ready=READY) if has_owner else nullcontext():
        refused = shop("prune", "--yes", "--older-than", "23h")
        assert (refused.exit_code, len(goals(shop))) == (ERROR, 3)
        assert "kept for 24 hours" in refused.stderr
        told = shop("prune", "--yes")
        assert (told.exit_code, told.stdout) == (DONE, "removed 2 plans and 7 events\n")
        assert goals(shop) == ["order.place"]
    assert shop("prune", "--yes").stdout == "removed 0 plans and 0 events\n"


def test_a_dry_run_counts_the_removals_and_removes_nothing(shop: Shop) -> None:
    assert shop("prune", "--dry-run").stdout == "would remove 2 plans and 7 events\n"
    told = shop.json("prune", "--dry-run", "--status", "failed")
    assert told == {"plans": 1, "events": 2, "kept": 0, "dry_run": True}
    assert len(goals(shop)) == 3


def test_plans_to_remove_are_chosen_by_age_status_and_tenant(shop: Shop) -> None:
    for nothing in (("--older-than", "41d"), ("--older-than", "8w"), ("--status", "cancelled"), ("--tenant", "acme")):
        assert shop("prune", "--yes", *nothing).stdout == "removed 0 plans and 0 events\n"
    assert shop.json("prune", "--yes", "--status", "failed", "--status", "cancelled")["plans"] == 1
    assert goals(shop) == ["order.place", "order.check"]
    assert shop.json("prune", "--yes", "--older-than", "24h")["plans"] == 1


def test_a_removal_needs_a_confirmation_and_a_valid_age(shop: Shop) -> None:
    told = shop("prune")
    assert (told.exit_code, told.stdout) == (USAGE, "")
    assert "--yes" in told.stderr
    assert shop("prune", "--json").exit_code == USAGE
    for age in ("", "30", "d", "1.5d", "-30d", "30m", "99999d"):
        assert shop("prune", "--yes", "--older-than", age).exit_code == USAGE, age
    assert len(goals(shop)) == 3


@pytest.mark.parametrize(("typed", "left"), [(b"y\n", 1), (b"\n", 3)])
def test_on_a_terminal_a_removal_asks_for_confirmation_with_its_counts(shop: Shop, typed: bytes, left: int) -> None:
    code, _, seen = shop.on_a_terminal("prune", until=b"[y/N]: ", typed=typed)
    assert b"Remove 2 plans and 7 events, older than 30 d?" in seen
    assert code == (DONE if left == 1 else ERROR)
    assert len(goals(shop)) == left


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("prune", ("counts as new", "keeps its size", "dead letters", "default: 30d")),
        ("backup", ("all outside work is done twice",)),
    ],
)
def test_the_help_names_the_consequences_of_prune_and_backup(shop: Shop, command: str, parts: tuple[str, ...]) -> None:
    told = " ".join(shop(command, "--help").stdout.split())
    assert [part for part in parts if part not in told] == []


def test_a_plan_is_shown_with_the_versions_of_its_planner_and_prompt(shop: Shop) -> None:
    plan_id = shop.plan("order.check")["plan_id"]
    shown = shop("plans", "show", plan_id).stdout.splitlines()
    assert shown[0].endswith(", planned by orders 0.1.0")
    assert ", prompt planner/decide " in shown[1]
    told = shop.json("plans", "show", plan_id)
    assert (told["agent_version"], told["prompt"].rsplit(" ", 1)[0]) == ("0.1.0", "planner/decide 10")


# backup


def test_a_backup_without_a_running_application_continues_from_its_moment(shop: Shop, tmp_path: Path) -> None:
    told = shop("backup", str(tmp_path / "copy.db"))
    assert (told.exit_code, told.stderr) == (DONE, "")
    assert told.stdout.endswith(f" bytes in {tmp_path}/copy.db\n")
    copy = Shop(tmp_path / "copy.db")
    assert goals(copy) == goals(shop)
    assert copy("approve", copy.wait("payment.charge")).exit_code == ERROR, "the approval is too late"
    assert shop.json("backup", str(tmp_path / "two.db"))["bytes"] == (tmp_path / "two.db").stat().st_size


def test_backups_beside_a_busy_application_continue_from_their_moments(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    copies: list[Shop] = []
    with shop.background(sys.executable, "-c", SUBMITTING, ready="ready"):
        for number in range(3):
            assert shop("backup", str(tmp_path / f"{number}.db")).exit_code == DONE
            copies.append(Shop(tmp_path / f"{number}.db"))
    sizes: list[int] = []
    with importable_shop() as orders:
        for copy in copies:
            sizes.append(asyncio.run(count_completed(copy, orders)))
    assert sizes == sorted(sizes)
    assert sizes[0] > 0


async def count_completed(copy: Shop, orders: Any) -> int:
    """Return the number of plans; each must have reached its end by itself, once."""
    async with Platform(copy.url) as platform:
        await platform.start(*orders.agents)
        rows = await platform.services.store.events.events(limit=99999)
        goals = [row.event for row in rows if row.event.source == "client"]
        for goal in goals:
            handle = await platform.submit(goal.type, goal.data, idempotency_key=str(goal.data["order_id"]))
            assert await handle.result(timeout=60) == {"in_stock": True}
        types = [row.event.type for row in await platform.services.store.events.events(limit=99999)]
    assert types.count("stock.reserve") == types.count("order.check.completed") == len(goals)
    return len(goals)


def test_a_backup_replaces_a_file_only_by_force_and_never_a_store_in_use(shop: Shop, tmp_path: Path) -> None:
    other = Shop(tmp_path / "other.db")
    other.store.write_text("mine")
    refused = shop("backup", str(other.store))
    assert (refused.exit_code, other.store.read_text()) == (ERROR, "mine")
    assert "--force" in refused.stderr
    assert shop("backup", "--force", str(other.store)).exit_code == DONE
    with other.background(*SOORMA, "run", "orders:agents", ready=READY) as owner:
        told = shop("backup", "--force", str(other.store))
    assert told.exit_code == ERROR
    assert f"in use by process {owner.pid} (orders, stock, till)" in told.stderr


@pytest.mark.parametrize("store", ["sqlite://", "sqlite:///nowhere.db"])
def test_only_a_store_in_a_file_can_be_copied(shop: Shop, tmp_path: Path, store: str) -> None:
    assert shop("backup", "--store", store, str(tmp_path / "copy.db")).exit_code == ERROR
    assert not (tmp_path / "copy.db").exists()


def test_a_killed_backup_leaves_no_partial_copy(shop: Shop, tmp_path: Path) -> None:
    program = (
        "import os, signal, sqlite3, sys\n"
        "from soorma_ai.features.upkeep import backup\n"
        "from soorma_ai.apps.cli.main import main\n"
        "backup._verify = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main()\n"
    )
    killed = shop.process(sys.executable, "-c", program, "backup", str(tmp_path / "copy.db"))
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "copy.db").exists()
    assert json.loads(shop("backup", "--json", str(tmp_path / "copy.db")).stdout)["bytes"] > 0


# forget


@pytest.mark.parametrize("has_owner", [False, True])
def test_a_user_is_erased_with_a_running_application_and_without_one(shop: Shop, has_owner: bool) -> None:
    with shop.background(*SOORMA, "run", "orders:agents", ready=READY) if has_owner else nullcontext():
        told = shop("forget", "local", "--yes")
        assert told.exit_code == DONE, told.output
        # A starting application may have removed a part before the command reaches it.
        assert has_owner or told.stdout.startswith("removed 3 plans, ")
        assert "Kept: audit rows" in told.stderr
        assert goals(shop) == []
    assert shop.json("forget", "local", "--yes") == {"plans": 0, "events": 0, "memos": 0, "keys": 0}


def test_an_erasure_of_a_user_needs_a_confirmation(shop: Shop) -> None:
    assert shop("forget", "local").exit_code == USAGE
    assert shop("forget", "local", "--json").exit_code == USAGE
    assert shop("forget", "", "--yes").exit_code == USAGE
    assert shop("forget", "ben", "--yes").exit_code == DONE
    assert shop("forget", "local", "--yes", "--tenant", "acme").exit_code == DONE
    assert len(goals(shop)) == 3
