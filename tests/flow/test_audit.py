"""What somebody changed who came by a token is written down, with how it ended; and nothing else."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from kit import PATIENCE, payments, planner, stock, the_wait

from soorma_ai import Platform
from soorma_ai.domain.identity import Caller
from soorma_ai.domain.people import Person
from soorma_ai.errors import Forbidden, NotFound, SoormaError, StoreUnavailable
from soorma_ai.runtime.client.client import Client
from soorma_ai.runtime.client.plan_handle import PlanHandle
from soorma_ai.testing.scripted import publish


def caller(platform: Platform, name: str, *roles: str) -> Client:
    return platform.as_caller(Caller(Person("default", name, frozenset(roles)), key_id=f"key of {name}"))


async def held(platform: Platform) -> PlanHandle:
    await platform.start(planner(lambda question: publish("payment.charge.requested", amount=5)), payments("always"))
    await platform.start(stock())
    plan = await caller(platform, "ann").submit("order.received", {})
    await the_wait(platform)
    return plan


async def written(platform: Platform) -> list[tuple[str, str, str]]:
    return [(row.entry.user_id, row.entry.call, row.entry.outcome) for row in (await platform.audit())[::-1]]


async def test_every_change_of_a_caller_is_written_down_with_its_outcome(platform: Platform) -> None:
    plan = await held(platform)
    wait, ann = await the_wait(platform), caller(platform, "ann")
    eve, auditor = caller(platform, "eve"), caller(platform, "otto", "auditor")
    changes: list[tuple[Client, str, str, Callable[[Client], Awaitable[Any]]]] = [
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
    assert await written(platform) == [("ann", "submit", "done"), *wanted]


async def test_an_entry_says_who_by_which_key_what_and_when(platform: Platform) -> None:
    plan = await held(platform)
    await caller(platform, "ann").cancel(plan.plan_id)
    last = (await platform.audit(limit=1))[0].entry
    assert (last.user_id, last.key_id, last.call, last.what) == ("ann", "key of ann", "cancel", plan.plan_id)
    assert last.at == platform.services.clock.now()


async def test_reading_and_calls_of_this_process_are_not_written_down(platform: Platform) -> None:
    plan = await held(platform)
    before = await written(platform)
    ann = caller(platform, "ann")
    await ann.plans()
    await ann.trace(plan.plan_id)
    await platform.memory.store("k", 1, plan.plan_id)
    await platform.as_user(tenant_id="default", user_id="ann").cancel(plan.plan_id)
    assert await written(platform) == before


async def test_the_changes_of_a_tenant_are_for_its_auditors_and_by_pages(platform: Platform) -> None:
    plan = await held(platform)
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


async def test_a_request_that_is_held_has_been_asked_and_stays_written_down(platform: Platform) -> None:
    await held(platform)
    with pytest.raises(SoormaError):
        await caller(platform, "ann").request("payment.charge.requested", {"amount": 1}, timeout=PATIENCE)
    assert (await written(platform))[-1] == ("ann", "request", "held")
    await platform.prune(timedelta(days=1))
    assert len(await written(platform)) == 2


async def test_a_change_that_cannot_be_written_down_is_told_as_what_it_came_to(
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
