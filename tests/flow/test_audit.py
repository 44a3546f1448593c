"""Audit log: each change made with a token is recorded with its outcome, and nothing else."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, payments, planner, stock, the_wait, until
from places import counts_of, refusing

from soorma_ai import Agent, Platform
from soorma_ai.errors import Forbidden, Held, NotFound, SoormaError, StoreUnavailable
from soorma_ai.features.plan_memory.service import PlanMemory
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle
from soorma_ai.local_client import LocalClient
from soorma_ai.testing.scripted import publish


def caller(platform: Platform, name: str, *roles: str) -> LocalClient:
    return platform.as_caller(Caller(Person("default", name, frozenset(roles)), key_id=f"key of {name}"))


async def held_order(platform: Platform) -> PlanHandle:
    await platform.start(planner(lambda question: publish("payment.charge.requested", amount=5)), payments("always"))
    await platform.start(stock())
    plan = await caller(platform, "ann").submit("order.received", {})
    await the_wait(platform)
    return plan


async def audit_rows(platform: Platform) -> list[tuple[str, str, str]]:
    return [(row.entry.user_id, row.entry.call, row.entry.outcome) for row in (await platform.audit())[::-1]]


async def test_every_change_of_a_caller_is_recorded_with_its_outcome(platform: Platform) -> None:
    plan = await held_order(platform)
    wait, ann = await the_wait(platform), caller(platform, "ann")
    eve, auditor = caller(platform, "eve"), caller(platform, "otto", "auditor")
    changes: list[tuple[LocalClient, str, str, Callable[[LocalClient], Awaitable[Any]]]] = [
        (ann, "request", "done", lambda c: c.request("inventory.reserve.requested", {"order_id": "A"})),
        (ann, "publish", "done", lambda c: c.publish("business-facts", "told", {})),
        (eve, "publish", "not_found", lambda c: c.publish("business-facts", "told", {}, plan_id=plan.plan_id)),
        (ann, "create_session", "done", lambda c: c.create_session("talk")),
        (ann, "memory.store", "done", lambda c: c.memory.store("k", 1, plan.plan_id)),
        (ann, "memory.append", "local_protocol", lambda c: c.memory.append("k", 1, plan.plan_id)),
        (auditor, "memory.cleanup", "forbidden", lambda c: c.memory.cleanup(plan.plan_id)),
        (ann, "memory.cleanup", "done", lambda c: c.memory.cleanup(plan.plan_id)),
        (ann, "answer", "invalid", lambda c: c.answer(wait.wait_id, {"approved": "much"})),
        (eve, "cancel", "not_found", lambda c: c.cancel(plan.plan_id)),
        (auditor, "cancel", "forbidden", lambda c: c.cancel(plan.plan_id)),
        (ann, "cancel", "done", lambda c: c.cancel(plan.plan_id)),
        (ann, "redrive", "not_found", lambda c: c.redrive(7)),
        (ann, "discard", "not_found", lambda c: c.discard(7)),
        (ann, "prune", "forbidden", lambda c: c.prune()),
        (caller(platform, "olga", "operator"), "prune", "done", lambda c: c.prune()),
        (ann, "registry.deregister", "forbidden", lambda c: c.registry.deregister("stock")),
        (ann, "keys.revoke", "forbidden", lambda c: c.keys.revoke("k")),
    ]
    for client, _, outcome, change in changes:
        try:
            await change(client)
        except SoormaError as error:
            assert error.code == outcome
    wanted = [(client.person.user_id, call, outcome) for client, call, outcome, _ in changes]
    assert await audit_rows(platform) == [("ann", "submit", "done"), *wanted]


async def test_an_entry_holds_the_user_the_key_the_call_its_object_and_the_time(platform: Platform) -> None:
    plan = await held_order(platform)
    await caller(platform, "ann").cancel(plan.plan_id)
    last = (await platform.audit(limit=1))[0].entry
    assert (last.user_id, last.key_id, last.call, last.what) == ("ann", "key of ann", "cancel", plan.plan_id)
    assert last.at == platform.services.clock.now()


async def test_reads_and_calls_of_this_process_are_not_recorded(platform: Platform) -> None:
    plan = await held_order(platform)
    before = await audit_rows(platform)
    ann = caller(platform, "ann")
    await ann.plans()
    await ann.trace(plan.plan_id)
    await platform.memory.store("k", 1, plan.plan_id)
    await platform.as_user(tenant_id="default", user_id="ann").cancel(plan.plan_id)
    assert await audit_rows(platform) == before


async def test_the_audit_log_of_a_tenant_is_paged_and_open_to_its_auditors(platform: Platform) -> None:
    plan = await held_order(platform)
    ann = caller(platform, "ann")
    for n in range(4):
        await ann.memory.store("k", n, plan.plan_id)
    with pytest.raises(Forbidden, match="auditor or operator"):
        await ann.audit()
    first = await caller(platform, "otto", "auditor").audit(limit=3)
    rest = await platform.audit(before=first[-1].seq)
    assert [row.entry.call for row in (*first, *rest)] == ["memory.store"] * 4 + ["submit"]
    other = platform.as_user(tenant_id="other", user_id="otto", roles={"auditor"})
    assert await other.audit() == []


async def test_a_held_request_is_recorded_as_held_and_stays_after_a_prune(platform: Platform) -> None:
    await held_order(platform)
    with pytest.raises(SoormaError):
        await caller(platform, "ann").request("payment.charge.requested", {"amount": 1}, timeout=PATIENCE)
    assert (await audit_rows(platform))[-1] == ("ann", "request", "held")
    await platform.prune(timedelta(days=1))
    assert len(await audit_rows(platform)) == 2


async def test_a_kill_right_after_a_change_loses_no_audit_row(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_killed(entry: object) -> None:
        raise StoreUnavailable("the process was killed behind the transaction of the change")

    plan = await held_order(platform)
    before = await audit_rows(platform)
    wait, ann = await the_wait(platform), caller(platform, "ann")
    monkeypatch.setattr(platform.services.store.audit, "record", is_killed)
    await ann.request("inventory.reserve.requested", {"order_id": "A"})
    await ann.publish("business-facts", "told", {})
    await ann.create_session("talk")
    await ann.memory.store("k", 1, plan.plan_id)
    await ann.memory.store_plan_context(plan.plan_id, None, {"l": 1, "m": 2})
    await ann.memory.cleanup(plan.plan_id)
    with pytest.raises(Held):
        await ann.ask("payment.charge.requested", {"amount": 1})
    assert await ann.answer(wait.wait_id, {"approved": False}) == "accepted"
    await ann.cancel(plan.plan_id)
    calls = ["request", "publish", "create_session", "memory.store", "memory.store_plan_context", "memory.cleanup"]
    wanted = [("ann", call, "done") for call in calls]
    wanted += [("ann", "ask", "held"), ("ann", "answer", "accepted"), ("ann", "cancel", "done")]
    assert await audit_rows(platform) == before + wanted


CHANGES: dict[str, Callable[[LocalClient, str], Awaitable[Any]]] = {
    "submit": lambda c, plan_id: c.submit("order.received", {}),
    "ask": lambda c, plan_id: c.ask("inventory.reserve.requested", {"order_id": "A"}),
    "held": lambda c, plan_id: c.ask("payment.charge.requested", {"amount": 1}),
    "publish": lambda c, plan_id: c.publish("business-facts", "told", {}),
    "create_session": lambda c, plan_id: c.create_session("talk"),
    "memory.store": lambda c, plan_id: c.memory.store("k", 1, plan_id),
    "cancel": lambda c, plan_id: c.cancel(plan_id),
    "registry.deregister": lambda c, plan_id: c.registry.deregister("gone"),
    "memory.store_knowledge": lambda c, plan_id: c.memory.store_knowledge("tea is hot"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_without_room_for_its_audit_row_does_not_happen(
    platform: Platform, path: Path, change: str
) -> None:
    plan = await held_order(platform)
    long_ago = platform.services.clock.now() - timedelta(hours=1)
    await platform.services.store.registry.register([Agent("gone", tenant_id="default").registration()], long_ago)
    # Published events are on their way for a moment, over a broker.
    await until(platform, lambda: counts_of(path)["outbox"] == 0)
    before = counts_of(path)
    with refusing(path, "audit"), pytest.raises(SoormaError, match="no room"):
        await CHANGES[change](caller(platform, "olga", "operator"), plan.plan_id)
    assert counts_of(path) == before


async def test_a_failure_after_a_changes_first_transaction_is_recorded_too(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, ann = await held_order(platform), caller(platform, "ann")
    before = await audit_rows(platform)
    for key in "ab":
        await platform.memory.store(key, 1, plan.plan_id)
    remove = PlanMemory._remove  # pyright: ignore[reportPrivateUsage]

    async def breaks_at_b(self: PlanMemory, at: Any, store: Any) -> bool:
        if at.key == "b":
            raise StoreUnavailable("the disk is full")
        return await remove(self, at, store)

    monkeypatch.setattr(PlanMemory, "_remove", breaks_at_b)
    with pytest.raises(StoreUnavailable):
        await ann.memory.cleanup(plan.plan_id)
    both = [("ann", "memory.cleanup", "done"), ("ann", "memory.cleanup", "store_unavailable")]
    assert await audit_rows(platform) == before + both


async def test_an_answer_or_refusal_is_returned_even_if_the_audit_log_fails(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_away(entry: object) -> None:
        raise StoreUnavailable("the disk is full")

    await platform.start(stock())
    monkeypatch.setattr(platform.services.store.audit, "record", is_away)
    answer = await caller(platform, "ann").request("inventory.reserve.requested", {"order_id": "A"}, timeout=PATIENCE)
    assert answer["success"] is True
    with pytest.raises(NotFound):
        await caller(platform, "ann").cancel("unknown")
