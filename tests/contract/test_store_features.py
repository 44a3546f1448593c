"""Features of a store: their tables are made when they are switched on, guarded, and kept when they are off."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from postgres_server import OWNER, SERVING, Server, as_role
from store_kit import NOW, claim_all, do, event, open_store

from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.postgres.migrations import upgrade
from soorma_ai.adapters.postgres.sessions import connect
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES, EVERY, KNOWLEDGE
from soorma_ai.context_parts.memos import MemoKind
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.rules import keep, make_memo, own_shelf
from soorma_ai.kernel.domain.effects import Publish
from soorma_ai.kernel.extension import feature_set
from soorma_ai.kernel.ports import KEYS
from soorma_ai.kernel.sql.parts import SqlStore
from soorma_ai.kernel.sql.storage import NO_FEATURES, FeatureSet

POSTGRES = "postgresql"  # as the fixtures name it
SHELF = own_shelf("default", "ann", MemoKind.KNOWLEDGE)
KEEP = keep(make_memo(SHELF, "k", "owls see by night", "", NOW, {}))
NUMBERS, POSTGRES = count(1), "postgresql"
ONE = feature_set([KNOWLEDGE])

Make = Callable[[FeatureSet], SqlStore]


@pytest.fixture(params=["sqlite file", POSTGRES])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """A store with these features, in a place without any so far."""
    if request.param == POSTGRES:
        url = bare(request.getfixturevalue("postgres"))
        return lambda features: PostgresStore(as_role(url, OWNER), features)
    return lambda features: SqliteStore(tmp_path / "store.db", features)


def bare(postgres: Server) -> str:
    """Return the URL of a database with a store without features."""
    name = f"bare_{next(NUMBERS)}"
    postgres.execute(f"CREATE DATABASE {name}")
    url = postgres.url(name)
    with connect(as_role(url, OWNER)) as owner:
        upgrade(owner)
        owner.execute(f"SELECT admit('{SERVING}')".encode())
    return url


async def test_a_store_without_features_commits_claims_and_sweeps(make: Make) -> None:
    async with open_store(make(NO_FEATURES)) as store:
        await do(store, Publish(event("e-1")))
        await claim_all(store)
        await store.queue.sweep(NOW)
        assert store.features == frozenset()


async def test_an_effect_of_a_feature_switched_off_is_refused_with_its_whole_commit(make: Make) -> None:
    async with open_store(make(NO_FEATURES)) as store:
        with pytest.raises(LocalProtocolError, match="KeepMemo is an effect of feature 'knowledge', which is off"):
            await do(store, Publish(event("e-1")), KEEP)
        assert await store.events.event("e-1") is None


async def test_a_part_of_a_feature_switched_off_is_refused_by_its_name(make: Make) -> None:
    async with open_store(make(ONE)) as store:
        assert store.find(KEYS) is None
        with pytest.raises(LocalProtocolError, match="no part 'keys'"):
            store.part(KEYS)


async def test_a_feature_makes_its_tables_when_it_is_switched_on_and_finds_its_rows_again(make: Make) -> None:
    async with open_store(make(NO_FEATURES)) as store:
        await do(store, Publish(event("e-1")))
    async with open_store(make(ONE)) as store:
        await do(store, KEEP)
    async with open_store(make(NO_FEATURES)) as store:
        assert await store.events.event("e-1") is not None
    async with open_store(make(ALL_FEATURES)) as store:
        found = await store.part(MEMOS).memo(SHELF, "k", NOW)
        assert found is not None
        assert found.content == "owls see by night"


# On PostgreSQL


async def test_a_role_without_the_right_to_make_tables_gets_the_cure(postgres: Server) -> None:
    url = bare(postgres)
    with pytest.raises(ConfigError, match=r"lacks tables of a feature.*soorma db upgrade"):
        await PostgresStore(as_role(url, SERVING), ONE).open(NOW)
    with connect(as_role(url, OWNER)) as owner:
        upgrade(owner, ONE)
    async with open_store(PostgresStore(as_role(url, SERVING), ONE)) as store:
        await do(store, KEEP)


async def test_tables_of_a_feature_switched_on_later_are_guarded(postgres: Server) -> None:
    url = bare(postgres)
    with connect(as_role(url, OWNER)) as owner:
        upgrade(owner, ONE)
        found = owner.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'soorma'::regnamespace AND relrowsecurity"
        )
        guarded = {name for (name,) in found.fetchall()}
    assert {"shelf", "memo", "memo_signs", "memo_numbers", "memo_word", "memo_length"} <= guarded


async def test_a_read_only_store_makes_no_tables(postgres: Server) -> None:
    url = as_role(bare(postgres), OWNER)
    async with open_store(PostgresStore(url, ALL_FEATURES, read_only=True)) as store:
        assert store.features == {one.name for one in EVERY if not one.storage.tables}
