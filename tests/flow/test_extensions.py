"""The kernel works without any feature, and each feature works without the others."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fanin import WIDE
from kit import PATIENCE, as_time_passes, order, payments, planner, pursue, stock, the_wait, until, wait_for_end
from machines import GOAL, Web, analyst, research, researcher
from msgspec.structs import replace

from soorma_ai import Approval, InvocationContext, NotFound, Platform, PlatformContext, Tool
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.adapters.tokens.api_keys import ApiKeys, new_key
from soorma_ai.assembly import (
    EVERY,
    HUMAN_TASKS,
    IDENTITY,
    KNOWLEDGE,
    PLAN_MEMORY,
    RETRIEVAL,
    TRACKING,
    UPKEEP,
    Overrides,
    assemble,
)
from soorma_ai.errors import ConfigError, LocalProtocolError, Unauthenticated
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.federation.ports import MAIL
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.plan_memory.ports import PLAN_MEMORY as PLAN_MEMORY_PART
from soorma_ai.features.remote.ports import LEASES
from soorma_ai.features.tracking.ports import PLAN_LISTS
from soorma_ai.features.upkeep.ports import UPKEEP as UPKEEP_PART
from soorma_ai.kernel.domain.people import Absence
from soorma_ai.kernel.extension import Extension, feature_set
from soorma_ai.kernel.ports import KEYS, StoreKey
from soorma_ai.settings import read_settings
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, delegate, publish, publish_all, wait

PROGRAM = Path(__file__).parent / "extensions_program.py"
RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=12_000)
HOUR = timedelta(hours=1)
PARTS: dict[str, StoreKey[Any]] = {
    "knowledge": MEMOS,
    "human_tasks": PEOPLE,
    "upkeep": UPKEEP_PART,
    "identity": KEYS,
    "tracking": PLAN_LISTS,
    "dead_letters": LETTERS,
    "plan_memory": PLAN_MEMORY_PART,
    "federation": MAIL,
    "remote": LEASES,
}


@asynccontextmanager
async def with_features(path: Path, clock: VirtualClock, *on: Extension) -> AsyncGenerator[Platform]:
    async with Platform(store=SqliteStore(path, feature_set(on)), clock=clock) as platform:
        yield platform


@pytest.fixture
async def bare(path: Path, clock: VirtualClock) -> AsyncGenerator[Platform]:
    """A platform with every feature off."""
    async with with_features(path, clock) as platform:
        yield platform


def tables_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def tables_of(extensions: Sequence[Extension]) -> set[str]:
    return {table.name for one in extensions for table in one.storage.tables}


# Every feature off


async def test_without_features_a_store_has_no_table_and_no_part_of_theirs(bare: Platform, path: Path) -> None:
    store = bare.services.store
    assert store.features == frozenset()
    assert tables_in(path) & tables_of(EVERY) == set()
    assert len(tables_of(EVERY)) == 20
    for feature, key in PARTS.items():
        assert store.find(key) is None
        with pytest.raises(LocalProtocolError, match=f"{feature if key.feature else key.name}.* is off"):
            store.part(key)


async def test_an_order_is_planned_and_done_without_features(bare: Platform) -> None:
    plan = await order(bare, planner([RESERVE, complete({"ok": True})]), stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_a_held_request_is_approved_by_an_answer_without_features(bare: Platform) -> None:
    charged: list[Any] = []
    approval = Approval(when="payload.amount > 5000", approvers=("manager",))
    plan = await order(bare, planner([CHARGE, complete({"paid": True})]), payments(approval, charged))
    question = await the_wait(bare)
    assert (question.proposed_data, question.claim) == ({"amount": 12_000}, None)
    manager = bare.as_user(tenant_id="default", user_id="maria", roles={"manager"})
    clerk = bare.as_user(tenant_id="default", user_id="carl", roles={"clerk"})
    with pytest.raises(NotFound):
        await clerk.answer(question.wait_id, {"approved": True})
    assert [one.wait_id for one in await manager.waits()] == [question.wait_id]
    assert await manager.answer(question.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"paid": True}
    assert charged == [12_000]


async def test_a_goal_is_delegated_without_features(bare: Platform) -> None:
    buyer = planner([RESERVE, complete({"bought": "pens"})], name="buyer", goals=["buy.wanted"])
    root = planner([delegate("buyer", "buy.wanted", {"what": "pens"}), complete({"ok": True})])
    plan = await order(bare, root, buyer, stock())
    assert (await wait_for_end(bare, plan.plan_id)).status == "completed"


async def test_a_state_machine_runs_without_features(bare: Platform) -> None:
    agents = researcher(research()), Web("failed", "found"), analyst()
    plan = await pursue(bare, GOAL, {"topic": "owls"}, *agents)
    assert (await wait_for_end(bare, plan.plan_id)).current_state == "done"


async def test_requests_are_joined_without_features(bare: Platform) -> None:
    both = publish_all(*(publish("inventory.reserve.requested", order_id=name) for name in ("A", "B")))
    minds = planner([both, complete({"ok": True})], limits=WIDE)
    plan = await order(bare, minds, stock())
    assert (await wait_for_end(bare, plan.plan_id)).status == "completed"
    assert len(minds.reasoner.questions) == 2


async def test_a_deadline_comes_without_features(bare: Platform, clock: VirtualClock) -> None:
    approval = Approval(when="payload.amount > 5000", timeout=HOUR)
    plan = await order(bare, planner([CHARGE, complete({"paid": False})]), payments(approval))
    question = await the_wait(bare)
    await clock.advance(HOUR.total_seconds() + 1)
    assert await plan.result(timeout=PATIENCE) == {"paid": False}
    assert await bare.answer(question.wait_id, {"approved": True}) == "late"


async def test_a_wait_is_swept_and_met_by_an_event_without_features(bare: Platform, clock: VirtualClock) -> None:
    script = [wait("colour.chosen", "Which colour?"), complete({"ok": True})]
    plan = await order(bare, planner(script, external_events=["colour.chosen"]), stock())
    await the_wait(bare)
    await clock.advance(120)  # two sweeps
    await bare.publish("business-facts", "colour.chosen", {"colour": "red"}, plan_id=plan.plan_id)
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


def test_a_plan_goes_on_after_a_kill_without_features(path: Path) -> None:
    def life(name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(PROGRAM), str(path), name]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)

    first = life("first")
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = life("again")
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout) == {"result": {"ok": True}, "plans": 1}
    assert tables_in(path) & tables_of(EVERY) == set()


@pytest.mark.parametrize(
    ("part", "feature"), [("long-term memory", "knowledge"), ("toolkit", "retrieval"), ("tracker", "tracking")]
)
async def test_a_context_part_of_a_feature_switched_off_is_refused_by_its_name(
    bare: Platform, part: str, feature: str
) -> None:
    tool, refused = Tool("notes"), list[str]()

    @tool.on_invoke("note.taken")
    async def take(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        try:
            match part:
                case "toolkit":
                    await context.toolkit.discover_actionable_events()
                case "tracker":
                    await context.tracker.untaken()
                case _:
                    await context.memory.store_knowledge("owls see by night", key="owls")
        except ConfigError as error:
            refused.append(str(error))
        return {"kept": True}

    await bare.start(tool)
    await bare.request("note.taken", {}, timeout=PATIENCE)
    assert refused == [f"{part} is off here: switch its feature {feature!r} on, or do without"]


@pytest.mark.parametrize("extensions", [(), EVERY], ids=["none", "all"])
async def test_the_composition_switches_extensions_on(
    path: Path, clock: VirtualClock, extensions: tuple[Extension, ...]
) -> None:
    async with AsyncExitStack() as opened:
        given = Overrides(clock=clock)
        settings = read_settings(f"sqlite:///{path}")
        services, supervisor = await assemble(opened, settings, "a test", given, extensions)
        assert services.store.features == {one.name for one in extensions}
        assert ("erasure" in supervisor.beside) is bool(extensions)
    assert tables_in(path) & tables_of(EVERY) == tables_of(extensions)


# Each feature alone


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
async def test_a_feature_alone_brings_its_tables_and_no_others(path: Path, clock: VirtualClock, one: Extension) -> None:
    async with with_features(path, clock, one) as platform:
        plan = await order(platform, planner([RESERVE, complete({"ok": True})]), stock())
        assert await plan.result(timeout=PATIENCE) == {"ok": True}
        for feature, key in PARTS.items():
            assert (platform.services.store.find(key) is not None) is (feature == one.name)
    assert tables_in(path) & tables_of(EVERY) == tables_of([one])


async def test_knowledge_alone_keeps_and_finds_memos(path: Path, clock: VirtualClock) -> None:
    tool = Tool("notes")

    @tool.on_invoke("note.taken")
    async def take(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await context.memory.store_knowledge("owls see by night", key="owls", expires_in=HOUR)
        return {"found": len(await context.memory.search_knowledge("night"))}

    async with with_features(path, clock, KNOWLEDGE) as platform:
        await platform.start(tool)
        assert (await platform.request("note.taken", {}, timeout=PATIENCE))["result"] == {"found": 1}
        (memo,) = await platform.memory.search_knowledge("owls")
        assert memo.content == "owls see by night"
        await clock.advance(2 * HOUR.total_seconds())
        assert await platform.memory.search_knowledge("owls") == []
        await platform.services.store.queue.sweep(clock.now())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM memo").fetchone() == (0,), "the sweep removes expired memos"


async def test_identity_alone_lets_in_by_a_key(path: Path, clock: VirtualClock) -> None:
    async with with_features(path, clock, IDENTITY) as platform:
        key, token = new_key("default", "ann", clock.now(), roles={"auditor"})
        await platform.keys.add(key)
        caller = await ApiKeys(platform).authenticate(token)
        assert caller.person.user_id == "ann"
        ann = platform.as_caller(caller)
        await ann.publish("business-facts", "colour.chosen", {"colour": "red"})
        assert [(row.entry.user_id, row.entry.call) for row in await ann.audit()] == [("ann", "publish")]
        await platform.keys.revoke(key.key_id)
        with pytest.raises(Unauthenticated):
            await ApiKeys(platform).authenticate(token)


async def test_human_tasks_alone_claims_questions_and_lends_the_right_to_answer(
    path: Path, clock: VirtualClock
) -> None:
    approval = Approval(when="payload.amount > 5000", approvers=("manager",))
    async with with_features(path, clock, HUMAN_TASKS) as platform:
        plan = await order(platform, planner([CHARGE, complete({"paid": True})]), payments(approval))
        maria = platform.as_user(tenant_id="default", user_id="maria", roles={"manager"})
        carl = platform.as_user(tenant_id="default", user_id="carl", roles={"clerk"})
        question = await the_wait(platform)
        await maria.inbox.claim(question.wait_id)
        (seen,) = await platform.waits()
        assert seen.claim is not None
        assert seen.claim.user_id == "maria"
        await maria.inbox.away(clock.now() + HOUR, "carl")
        assert await carl.inbox.stands_in_for() == ["maria"]
        assert await carl.answer(question.wait_id, {"approved": True}) == "accepted"
        assert await plan.result(timeout=PATIENCE) == {"paid": True}
        assert await platform.services.store.part(PEOPLE).claims([question.wait_id]) == []


async def test_human_tasks_alone_ignores_an_absence_declared_with_a_key(path: Path, clock: VirtualClock) -> None:
    async with with_features(path, clock, HUMAN_TASKS) as platform:
        people, carl = platform.services.store.part(PEOPLE), platform.as_user(tenant_id="default", user_id="carl")
        by_key = Absence("default", "maria", "carl", frozenset({"manager"}), clock.now(), clock.now() + HOUR, "k-1")
        await people.leave(by_key)
        assert await carl.inbox.stands_in_for() == [], "without the feature identity no key can be checked"
        await people.leave(replace(by_key, key_id=None))
        assert await carl.inbox.stands_in_for() == ["maria"]


async def test_upkeep_alone_prunes_and_forgets(path: Path, clock: VirtualClock) -> None:
    async with with_features(path, clock, UPKEEP) as platform:
        plan = await order(platform, planner([RESERVE, complete({}), RESERVE, complete({})]), stock())
        await plan.result(timeout=PATIENCE)
        ann = platform.as_user(tenant_id="default", user_id="ann")
        await (await ann.submit("order.received", {})).result(timeout=PATIENCE)
        forgotten = await platform.forget("ann")
        assert (forgotten.plans, forgotten.keys, forgotten.memos, forgotten.is_done) == (1, 0, 0, True)
        await clock.advance(timedelta(days=40).total_seconds())
        assert (await platform.prune()).plans == 1
        assert await platform.plans() == []


async def test_plan_memory_alone_keeps_sessions_and_values(path: Path, clock: VirtualClock) -> None:
    async with with_features(path, clock, PLAN_MEMORY) as platform:
        plan = await order(platform, planner([RESERVE, complete({"ok": True})]), stock())
        await plan.result(timeout=PATIENCE)
        await platform.create_session("talk", session_id="s-1")
        await platform.memory.store("colour", "red", plan.plan_id)
        assert await platform.memory.everything(plan.plan_id) == {"colour": "red"}
        assert [one.name for one in await platform.sessions()] == ["talk"]


async def test_tracking_alone_shows_how_far_a_plan_is(path: Path, clock: VirtualClock) -> None:
    async with with_features(path, clock, TRACKING) as platform:
        plan = await order(platform, planner([RESERVE, complete({"ok": True})]), stock())
        await plan.result(timeout=PATIENCE)
        assert (await platform.tracker.plan_progress(plan.plan_id)).done == 1
        assert [one.plan_id for one in (await platform.tracker.plans()).plans] == [plan.plan_id]
        assert (await platform.trace(plan.plan_id)).plan_id == plan.plan_id


async def test_retrieval_alone_finds_events_of_live_agents(path: Path, clock: VirtualClock) -> None:
    tool = Tool("finder")

    @tool.on_invoke("search.wanted")
    async def find(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"found": [one.event_name for one in await context.toolkit.discover_actionable_events()]}

    async with with_features(path, clock, RETRIEVAL) as platform:
        await platform.start(tool, stock())
        found = await platform.request("search.wanted", {}, timeout=PATIENCE)
        assert found["result"] == {"found": ["inventory.reserve.requested"]}


async def test_an_erasure_broken_off_by_a_kill_goes_on_by_itself(path: Path, clock: VirtualClock) -> None:
    async with with_features(path, clock, UPKEEP) as platform:
        plan = await order(platform, planner([RESERVE, complete({})]), stock())
        await plan.result(timeout=PATIENCE)
        await platform.services.store.part(UPKEEP_PART).begin_forgetting("default", "local", clock.now())
    async with with_features(path, clock, UPKEEP) as platform:
        await platform.start(stock())

        async def is_gone() -> bool:
            return await platform.plans() == []

        await as_time_passes(clock, is_gone)


# A feature switched on and off


async def test_a_feature_switched_on_later_makes_its_tables_and_off_again_keeps_them(
    path: Path, clock: VirtualClock
) -> None:
    async with with_features(path, clock) as platform:
        plan = await order(platform, planner([RESERVE, complete({"ok": True})]), stock())
        await plan.result(timeout=PATIENCE)
    async with with_features(path, clock, *EVERY) as platform:
        assert tables_of(EVERY) <= tables_in(path)
        await platform.memory.store_knowledge("owls see by night", key="owls")
        assert (await platform.plan(plan.plan_id)).status == "completed"
    async with with_features(path, clock) as platform:
        with pytest.raises(LocalProtocolError, match="'knowledge' is off"):
            await platform.memory.get_knowledge("owls")
    async with with_features(path, clock, KNOWLEDGE) as platform:
        memo = await platform.memory.get_knowledge("owls")
        assert memo is not None
        assert memo.content == "owls see by night"


async def test_a_read_only_store_has_the_features_of_its_tables(path: Path, clock: VirtualClock) -> None:
    async with with_features(path, clock, IDENTITY) as platform:
        await until(platform, lambda: True)
    store = SqliteStore(path, feature_set(EVERY), read_only=True)
    await store.open(clock.now())
    try:
        assert store.features == {one.name for one in EVERY if one is IDENTITY or not one.storage.tables}
        assert await store.part(KEYS).ls("default", 9) == []
    finally:
        await store.close()
