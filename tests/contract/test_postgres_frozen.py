"""A server that stands still, its connections open and silent: every statement and every ending has a time limit."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from postgres_server import Server
from store_kit import NOW, event, open_store

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.postgres import PostgresStore, database, limits
from soorma_ai.adapters.postgres.readers import READERS
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import DeadlineExceeded, StoreUnavailable
from soorma_ai.kernel.sql.connection import Connection

LIMIT = 0.5


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SLACK", 0.2)
    monkeypatch.setattr(database, "CLOSED_WITHIN", 0.5)


@pytest.fixture
async def store(postgres: Server) -> AsyncIterator[PostgresStore]:
    async with open_store(PostgresStore(postgres.empty(), ALL_FEATURES, statement_timeout=LIMIT)) as one:
        yield one


async def is_kept(store: PostgresStore, event_id: str) -> bool:
    return await store.events.event(event_id) is not None


async def test_a_write_to_a_frozen_server_is_given_up_and_the_store_goes_on_with_it(
    postgres: Server, store: PostgresStore
) -> None:
    with postgres.frozen(), pytest.raises(StoreUnavailable, match="did not answer within"):
        await store.queue.send([event("while")], None, NOW)
    await store.queue.send([event("after")], None, NOW)
    assert not await is_kept(store, "while")
    assert await is_kept(store, "after")


async def test_a_read_of_a_frozen_server_is_given_up_and_the_store_goes_on_with_it(
    postgres: Server, store: PostgresStore
) -> None:
    for _ in range(READERS):
        await is_kept(store, "none")
    with postgres.frozen(), pytest.raises(StoreUnavailable, match="did not answer within"):
        await is_kept(store, "none")
    assert not await is_kept(store, "none")


async def test_a_commit_without_an_answer_has_an_unknown_end_and_its_event_is_stored_once(
    postgres: Server, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = store.database.writer
    commit, frozen = writer._commit, postgres.frozen()  # pyright: ignore[reportPrivateUsage]

    def stand_still(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(writer, "_commit", commit)
        frozen.__enter__()
        return commit(*given, **named)

    monkeypatch.setattr(writer, "_commit", stand_still)
    try:
        with pytest.raises(StoreUnavailable, match="whether it is, is not known"):
            await store.queue.send([event("told")], None, NOW)
    finally:
        frozen.__exit__(None, None, None)
    await store.queue.send([event("told")], None, NOW)
    assert [row.event.id for row in await store.events.events()].count("told") == 1


async def test_an_event_cancelled_while_the_server_stood_still_is_not_stored_later(
    postgres: Server, store: PostgresStore
) -> None:
    with postgres.frozen():
        first = asyncio.ensure_future(store.queue.send([event("first")], None, NOW))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(store.queue.send([event("second")], None, NOW))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(StoreUnavailable):
            await first
    await store.queue.send([event("third")], None, NOW)
    assert not await is_kept(store, "second")


async def test_the_server_ends_a_too_long_statement_by_itself(store: PostgresStore) -> None:
    def take_long(db: Connection) -> None:
        db.execute("SELECT pg_sleep(60)")

    with pytest.raises(StoreUnavailable, match="statement timeout"):
        await store.database.write(take_long)
    await store.queue.send([event("after")], None, NOW)
    assert await is_kept(store, "after")


async def test_closing_leaves_a_frozen_server(postgres: Server) -> None:
    store = PostgresStore(postgres.empty(), ALL_FEATURES)
    await store.open(NOW)
    with postgres.frozen():
        sent = asyncio.ensure_future(store.queue.send([event("while")], None, NOW))
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(StoreUnavailable):
            await sent
    await store.open(NOW)
    assert not await is_kept(store, "while")
    await store.close()


async def test_a_request_to_a_frozen_server_ends_by_its_own_timeout(postgres: Server) -> None:
    tool = Tool("clerk")

    @tool.on_invoke("file.requested")
    async def file(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"filed": request.data["n"]}

    async with Platform(postgres.empty()) as platform:
        await platform.start(tool)
        with postgres.frozen(), pytest.raises(DeadlineExceeded, match=r"did not answer within 0\.1 s"):
            await platform.request("file.requested", {"n": 1}, timeout=0.1, idempotency_key="one")
        reply = await platform.request("file.requested", {"n": 1}, idempotency_key="one")
        assert reply["result"] == {"filed": 1}
