"""Forgetting a user: all rows of the user go, done or not, and none of another."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from prune_kit import register_agents
from store_kit import (
    NOW,
    Backend,
    awaiting_payment,
    claim_all,
    do,
    entry,
    event,
    expectation,
    fact,
    later,
    plan,
    planner,
    step,
    wait,
)

from soorma_ai.context_parts.memos import MemoKind
from soorma_ai.errors import LeaseLost, TransientError
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.rules import keep, make_memo, own_shelf, shared_shelf
from soorma_ai.features.plan_memory.ports import PLAN_MEMORY
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.kernel.domain.effects import Ack, AppendStep, Expect, Publish, SavePlan, Schedule
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.identity import ApiKey, AuditEntry
from soorma_ai.kernel.domain.limits import Charge, Limits, Spent
from soorma_ai.kernel.domain.memory import MemoryKey, OpenSession, SessionSummary, StoreMemory
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.ports import KEYS, Forgotten, Settlement, Store, Work

WHO = (("default", "ann"), ("default", "ben"), ("other", "ann"), ("default", NO_USER))
ANN = WHO[0]
SECRET = "xylophone"


def of(user: tuple[str, str], one: EventEnvelope) -> EventEnvelope:
    return one.model_copy(update={"tenant_id": user[0], "user_id": user[1], "data": {"said": f"{SECRET}{user}"}})


async def everything(store: Store, user: tuple[str, str]) -> None:
    """Make a row of this user in each table with rows of users."""
    tenant, name = user
    mark = f"{tenant}-{name}"
    lineage = Lineage(tenant, name, session_id=f"talk-{mark}", plan_id=f"p-{mark}", root_plan_id=f"p-{mark}")
    made = plan(f"p-{mark}", lineage=lineage, goal_id=f"goal-{mark}", goal_data={"said": f"{SECRET}{user}"})
    child = plan(f"c-{mark}", lineage=replace(lineage, plan_id=f"c-{mark}"), goal_id=f"goal-c-{mark}")
    child = replace(child, root_plan_id=made.plan_id)
    asked = replace(
        expectation(f"wait-{mark}", ExpectationKind.WAIT),
        plan_id=made.plan_id,
        root_plan_id=made.plan_id,
        tenant_id=tenant,
        user_id=name,
        deadline=later(3600),
    )
    held = replace(expectation(f"held-{mark}", ExpectationKind.GATE), agent="client", tenant_id=tenant, user_id=name)
    inside = {"plan_id": made.plan_id, "root_plan_id": made.plan_id}
    shelf = own_shelf(tenant, name, MemoKind.KNOWLEDGE)
    await do(
        store,
        Publish(of(user, event(f"goal-{mark}", "goal.given"))),
        SavePlan(made, None),
        SavePlan(child, None),
        AppendStep(step(0, made.plan_id, event_id=f"goal-{mark}")),
        Expect(asked),
        Schedule(f"timer-{mark}", later(60), of(user, event(f"wake-{mark}")), guards=asked.id),
        Schedule(f"deadline:{made.plan_id}", later(60), of(user, event(f"end-{mark}"))),
        Expect(held),
        Publish(of(user, event(f"in-{mark}").model_copy(update=inside))),
        Publish(of(user, event(f"loose-{mark}"))),
        StoreMemory(MemoryKey(tenant, made.plan_id, "k"), f"{SECRET}{user}"),
        OpenSession(tenant, SessionSummary(f"talk-{mark}", 0, NOW, NOW, name, SECRET, {})),
        keep(make_memo(shelf, "k", f"{SECRET} {tenant} {name}", "bot", NOW, {})),
    )
    if name:
        await store.part(KEYS).add(ApiKey(f"key-{mark}", "0" * 64, tenant, name, NOW))
        await store.audit.record(AuditEntry(tenant, name, f"key-{mark}", "submit", made.plan_id, NOW, "done"))


async def count_rows(store: Store, user: tuple[str, str]) -> dict[str, int]:
    """Count the rows of a user by kind."""
    tenant, name = user
    mark = f"{tenant}-{name}"
    events = [row for row in await store.events.events(limit=1000) if (row.event.tenant_id, row.event.user_id) == user]
    memo = await store.part(MEMOS).memo(own_shelf(tenant, name, MemoKind.KNOWLEDGE), "k", NOW)
    found = {
        "events": len(events),
        "plans": len([kind for kind in "pc" if await store.plans.plan(f"{kind}-{mark}")]),
        "steps": len(await store.plans.steps(f"p-{mark}")),
        "waits": len([kind for kind in ("wait", "held") if await store.plans.expectation(f"{kind}-{mark}")]),
        "values": len(await store.memory.memory_keys(tenant, f"p-{mark}")),
        "sessions": len(await store.memory.sessions(tenant, 9, user_id=name)),
        "memos": int(memo is not None),
    }
    return {what: count for what, count in found.items() if count}


async def forget(store: Store, user: tuple[str, str], limit: int = 250) -> Forgotten:
    await store.part(UPKEEP).begin_forgetting(*user, NOW)
    for batches in range(1, 2000):
        if (done := await store.part(UPKEEP).forget(limit, *user)).is_done:
            return replace(done, events=batches)
    raise AssertionError("it has no end")


@pytest.mark.parametrize("limit", [1, 3, 250])
async def test_all_of_one_user_goes_and_nothing_of_others(store: Store, limit: int) -> None:
    await register_agents(store)
    for user in WHO:
        await everything(store, user)
    before = {user: await count_rows(store, user) for user in WHO}
    assert all(len(found) == 7 for found in before.values()), before
    await forget(store, ANN, limit)
    assert await count_rows(store, ANN) == {}
    assert {user: await count_rows(store, user) for user in WHO[1:]} == {user: before[user] for user in WHO[1:]}
    assert (await store.part(UPKEEP).forget(limit)).is_done, "no user is left to be forgotten"


async def test_nothing_of_a_forgotten_user_happens_afterwards(store: Store) -> None:
    await register_agents(store)
    await everything(store, ANN)
    await forget(store, ANN)
    assert await store.queue.fire(later(7200), 100) == 0
    assert (await store.queue.sweep(later(7200))).stranded == ()


async def test_keys_are_revoked_and_stay_with_the_audit_log(store: Store) -> None:
    await register_agents(store)
    for user in WHO[:3]:
        await everything(store, user)
    assert await store.part(UPKEEP).begin_forgetting(*ANN, NOW) == 1
    await forget(store, ANN)
    keys = [await store.part(KEYS).find(f"key-{tenant}-{name}") for tenant, name in WHO[:3]]
    assert [key is not None and key.revoked_at is not None for key in keys] == [True, False, False]
    assert [row.entry.user_id for row in await store.audit.entries("default", 9)] == ["ben", "ann"]


async def test_shared_memos_stay(store: Store) -> None:
    shelf = shared_shelf("default", MemoKind.KNOWLEDGE)
    await do(store, keep(make_memo(shelf, "k", "for all", "bot", NOW, {})))
    await forget(store, ANN)
    await forget(store, ("default", NO_USER))
    assert await store.part(MEMOS).memo(shelf, "k", NOW) is not None


async def test_forgetting_goes_on_where_it_was_broken_off(lasting: Backend) -> None:
    store = lasting.make()
    await store.open(NOW)
    await register_agents(store)
    for user in WHO:
        await everything(store, user)
    await store.part(UPKEEP).begin_forgetting(*ANN, NOW)
    for _ in range(200):
        if (await store.part(UPKEEP).forget(1)).is_done:
            break
        await store.close()  # a kill between two transactions
        store = lasting.make()
        await store.open(NOW)
    else:
        raise AssertionError("it has no end")
    assert await count_rows(store, ANN) == {}
    await store.close()


@pytest.mark.parametrize("lasting", ["sqlite file"], indirect=True)
async def test_no_byte_of_a_forgotten_user_is_left_in_the_file(lasting: Backend, tmp_path: Path) -> None:
    store = lasting.make()
    await store.open(NOW)
    await everything(store, ANN)
    await store.close()
    file = tmp_path / "store.db"
    assert SECRET.encode() in file.read_bytes()
    store = lasting.make()
    await store.open(NOW)
    await forget(store, ANN)
    await store.close()
    assert SECRET.encode() not in file.read_bytes()
    assert b"wake-default-ann" not in file.read_bytes()


@pytest.mark.parametrize("is_begun", [True, False], ids=["of a plan", "of a goal that is being begun"])
async def test_late_answers_and_events_of_a_forgotten_plan_are_not_stored(store: Store, is_begun: bool) -> None:
    """A model answers, and an agent publishes, after their plan is gone."""
    await store.registry.register([planner()], NOW)
    goal = of(ANN, event("goal", "goal.given"))
    await store.queue.arrive([goal], NOW)
    (in_hand,) = await claim_all(store, "planner")
    about = plan(in_hand.owner, lineage=replace(goal.lineage, plan_id=in_hand.owner), goal_id="goal")
    if is_begun:
        await do(store, SavePlan(about, None))
    call = Charge(about.plan_id, llm_calls=1, tokens=100, cost_usd=0.5)
    said = replace(entry(cause="goal", plan_id=about.plan_id, raw=SECRET), root_plan_id=about.plan_id)
    earlier = replace(said, key=replace(said.key, ordinal=1))
    told = of(ANN, event("thought", "agent.thinking", EventTopic.PLAN_EVENTS, plan_id=about.plan_id))
    await store.plans.reserve(call, Limits(), in_hand)
    await store.plans.settle(Settlement(call, call, earlier), in_hand)
    await forget(store, ANN)
    for write in (
        store.plans.settle(Settlement(call, call, said), in_hand),
        store.plans.reserve(call, Limits(), in_hand),
        store.queue.send([told], None, NOW, delivery=in_hand),
        store.queue.commit(Work(in_hand, Ack(), (), (Settlement(call, call, said),)), NOW),
    ):
        with pytest.raises(LeaseLost, match="removed"):
            await write
    assert await store.plans.decisions(about.plan_id) == []
    assert await store.plans.read_spent(about.plan_id) == Spent()
    assert await count_rows(store, ANN) == {}


def begin_everything(store: Store, user: tuple[str, str], number: int) -> list[Coroutine[Any, Any, Any]]:
    """Begin an event, a held request, a memo and a session."""
    tenant, name = user
    asked = of(user, event(f"new-{name}-{number}"))
    gate = replace(expectation(f"gate-{name}-{number}", ExpectationKind.GATE), plan_id=None, user_id=name)
    memo = make_memo(own_shelf(tenant, name, MemoKind.KNOWLEDGE), f"new-{number}", SECRET, "bot", NOW, {})
    session = OpenSession(tenant, SessionSummary(f"new-{name}-{number}", 0, NOW, NOW, name, None, {}))
    return [
        store.queue.send([asked], None, NOW),
        store.queue.send_once([Expect(gate), Publish(of(user, event(f"held-{name}-{number}")))], NOW),
        store.part(MEMOS).change([keep(memo)], NOW),
        store.part(PLAN_MEMORY).memorize([session], NOW),
    ]


async def test_new_work_of_a_user_is_refused_until_the_user_is_forgotten(store: Store) -> None:
    await register_agents(store)
    for user in WHO[:3]:
        await everything(store, user)
    await store.part(UPKEEP).begin_forgetting(*ANN, NOW)
    for user in WHO[1:3]:
        for begun in begin_everything(store, user, 0):
            await begun
    for number in range(10):
        for begun in begin_everything(store, ANN, number):
            with pytest.raises(TransientError, match="'ann' is being forgotten"):
                await begun
        assert not (await store.part(UPKEEP).forget(1, *ANN)).is_done
    await forget(store, ANN)
    assert await count_rows(store, ANN) == {}
    for begun in begin_everything(store, ANN, 999):
        await begun
    assert (await store.part(UPKEEP).forget(5)).is_done
    assert await store.part(MEMOS).memo(own_shelf(*ANN, MemoKind.KNOWLEDGE), "new-999", NOW) is not None, (
        "they may come back"
    )


async def test_events_of_the_user_brought_meanwhile_go_too_and_hold_up_no_others(store: Store) -> None:
    await store.queue.send([of(ANN, event("sent"))], None, NOW)
    await store.part(UPKEEP).begin_forgetting(*ANN, NOW)
    assert not (await store.part(UPKEEP).forget(1, *ANN)).is_done
    await store.queue.arrive([of(ANN, event("sent")), of(ANN, event("new")), of(WHO[1], event("another's"))], NOW)
    await forget(store, ANN)
    assert [row.event.id for row in await store.events.events()] == ["another's"]


async def test_events_of_others_into_a_forgotten_plan_stay_without_a_trace_of_the_plan(store: Store) -> None:
    ben = WHO[1]
    await store.registry.register([awaiting_payment()], NOW)
    await everything(store, ANN)
    waiting = wait("open", plan_id="p-default-ann", root_plan_id="p-default-ann", user_id="ann")
    await do(store, Expect(waiting))
    paid = of(ben, fact("paid")).model_copy(update={"data": {"order_id": "o-1"}})
    await store.queue.arrive([paid], NOW)
    (delivery,) = await claim_all(store, "planner")
    assert (delivery.event.id, delivery.owner) == ("paid", "p-default-ann")
    await forget(store, ANN)
    assert await store.events.event("paid") is not None
    assert await store.events.receivers_of(["paid"]) == []
    assert await claim_all(store, "planner") == []
