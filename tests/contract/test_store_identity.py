"""API keys are stored by their hash and end when they are revoked; the audit log is kept, in order."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from store_kit import NOW, Backend, later, open_store

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.domain.identity import AUDIT_KEPT, AgentRights, ApiKey, AuditEntry
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import KEYS, Store

RIGHTS = AgentRights("stock", frozenset({"stock.reserve"}), frozenset({"stock.low"}))
KEY = ApiKey("k-1", "ab" * 32, "acme", "ann", NOW, frozenset({"operator"}), RIGHTS, later(60))
ENTRY = AuditEntry("acme", "ann", "k-1", "cancel", "p-1", NOW, "done")


async def test_a_key_is_found_by_its_id_as_it_was_made(store: Store) -> None:
    await store.part(KEYS).add(KEY)
    assert await store.part(KEYS).find("k-1") == KEY
    assert await store.part(KEYS).find("k-2") is None


async def test_the_id_of_a_key_is_not_used_twice(store: Store) -> None:
    await store.part(KEYS).add(KEY)
    with pytest.raises(LocalProtocolError, match="there is an API key k-1 already"):
        await store.part(KEYS).add(replace(KEY, user_id="eve", secret_hash="cd" * 32))
    assert await store.part(KEYS).find("k-1") == KEY


async def test_a_revoked_key_is_revoked_once(store: Store) -> None:
    await store.part(KEYS).add(KEY)
    assert await store.part(KEYS).revoke("k-1", later(5)) is True
    assert await store.part(KEYS).revoke("k-1", later(9)) is False
    assert await store.part(KEYS).find("k-1") == replace(KEY, revoked_at=later(5))
    with pytest.raises(NotFound, match="there is no API key k-2"):
        await store.part(KEYS).revoke("k-2", NOW)


async def test_a_tenants_keys_are_listed_the_newest_first(store: Store) -> None:
    keys = [replace(KEY, key_id=f"k-{n}", made_at=later(n)) for n in range(3)]
    for key in (*keys, replace(KEY, key_id="theirs", tenant_id="other")):
        await store.part(KEYS).add(key)
    await store.part(KEYS).revoke("k-1", later(9))
    assert [key.key_id for key in await store.part(KEYS).ls("acme", 9)] == ["k-2", "k-1", "k-0"]
    assert [key.key_id for key in await store.part(KEYS).ls("acme", 1)] == ["k-2"]
    assert [key.revoked_at for key in await store.part(KEYS).ls("acme", 9)] == [None, later(9), None]


async def test_keys_and_changes_outlive_the_process(lasting: Backend) -> None:
    async with open_store(lasting.make()) as store:
        await store.part(KEYS).add(KEY)
        await store.audit.record(ENTRY)
    async with open_store(lasting.make()) as store:
        assert await store.part(KEYS).find("k-1") == KEY
        assert [row.entry for row in await store.audit.entries("acme", 9)] == [ENTRY]


async def test_changes_are_listed_by_pages_the_newest_first(store: Store) -> None:
    entries = [replace(ENTRY, what=f"p-{n}") for n in range(5)]
    for entry in (*entries, replace(ENTRY, tenant_id="other")):
        await store.audit.record(entry)
    first = await store.audit.entries("acme", 3)
    rest = await store.audit.entries("acme", 3, before=first[-1].seq)
    assert [row.entry for row in (*first, *rest)] == entries[::-1]
    assert await store.audit.entries("acme", 3, before=rest[-1].seq) == []


async def test_the_audit_log_goes_with_a_prune_once_it_is_old_enough(store: Store) -> None:
    old, young = replace(ENTRY, what="old", at=NOW - AUDIT_KEPT), replace(ENTRY, what="young")
    for entry in (old, young, replace(old, tenant_id="other")):
        await store.audit.record(entry)

    async def known() -> list[str]:
        return [row.entry.what for row in await store.audit.entries("acme", 9)]

    async def prune(before: timedelta, *, dry_run: bool = False) -> None:
        now, after = later(60), None
        while True:
            done = await store.part(UPKEEP).prune(
                AgeConditions("acme", now - before, list(PlanStatus), now), 9, after=after, dry_run=dry_run
            )
            if (after := done.after) is None:
                return

    await prune(timedelta(days=1), dry_run=True)
    assert await known() == ["young", "old"]
    await prune(AUDIT_KEPT + timedelta(days=1))
    assert await known() == ["young", "old"]
    await prune(timedelta(days=1))
    assert await known() == ["young"]
    assert len(await store.audit.entries("other", 9)) == 1
