"""A row that cannot be read is set aside, told and listed, and those beside it are not held up by it."""

import logging
from collections.abc import AsyncIterator

import pytest
from store_kit import (
    NOW,
    agent,
    awaiting_payment,
    claimed,
    do,
    end,
    event,
    expectation,
    fact,
    later,
    redrive,
    reply,
    running,
    unsent_ids,
    wait,
)

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.core.expecting.wakeups import EXPIRED
from soorma_ai.domain.effects import DeadLetter, Expect, Schedule
from soorma_ai.domain.events import EventTopic
from soorma_ai.domain.expectations import ExpectationStatus
from soorma_ai.domain.letters import NOBODY
from soorma_ai.errors import LocalProtocolError, RemoteProtocolError

DAMAGES = {
    "no JSON": "'{'",
    "no UTF-8": "CAST(x'FF' AS TEXT)",
    "no event": "'{}'",
    "of a later version": "json_set(body, '$.topic', 'later-topic')",
}


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    made = SqliteStore(None)
    await made.open(NOW)
    yield made
    await made.close()


async def damage(store: SqliteStore, event_id: str, expression: str = "'{'") -> None:
    await store.database.write(lambda db: db.execute(f"UPDATE event SET body = {expression} WHERE id = ?", (event_id,)))


@pytest.mark.parametrize("expression", DAMAGES.values(), ids=DAMAGES)
async def test_a_claim_passes_over_what_cannot_be_read_and_takes_the_rest(
    store: SqliteStore, expression: str, caplog: pytest.LogCaptureFixture
) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event("a"), event("b", tenant="one"), event("c")], NOW)
    await damage(store, "b", expression)
    with caplog.at_level(logging.WARNING):
        assert [d.event.id for d in await claimed(store, limit=3)] == ["a", "c"]
    assert "event_unreadable agent=worker" in caplog.text
    assert await claimed(store) == []
    (row,) = await store.letters.dead_letters("one", 9)
    assert (row.agent, row.event.id, row.event.type, row.event.topic) == (
        "worker",
        "b",
        "work.asked",
        EventTopic.ACTION_REQUESTS,
    )
    assert (row.event.tenant_id, row.event.time, row.attempts, row.at) == ("one", NOW, 0, NOW)
    (why,) = row.event.data.values()
    assert row.reason == f"unreadable: {why}"


async def test_what_stands_behind_the_unreadable_moves_up_however_many_there_are(store: SqliteStore) -> None:
    await running(store, *(expectation(f"q-{n}") for n in range(6)))
    await store.queue.arrive([reply(f"r-{n}", f"q-{n}") for n in range(6)], NOW)
    for n in (0, 1, 2, 4):
        await damage(store, f"r-{n}")
    (first,) = await claimed(store, "planner", limit=1)
    assert first.event.id == "r-3"
    await end(store, first)
    assert [d.event.id for d in await claimed(store, "planner")] == ["r-5"]


async def test_an_event_of_a_later_version_can_be_redriven_once_it_can_be_read(store: SqliteStore) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event("a")], NOW)
    await damage(store, "a", "json_set(body, '$.specversion', '2.0')")
    assert await claimed(store) == []
    (row,) = await store.letters.dead_letters(None, 9)
    assert row.unreadable == row.reason and row.reason.startswith("unreadable: specversion")
    await damage(store, "a", "json_set(body, '$.specversion', '1.0')")
    assert await redrive(store, row.seq)
    assert [d.event.id for d in await claimed(store)] == ["a"]


async def test_the_outbox_lets_the_unreadable_go_and_keeps_it_as_a_letter(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.queue.send([event("a"), event("b"), event("c"), event("d")], None, NOW)
    for broken in ("a", "b"):
        await damage(store, broken, DAMAGES["no UTF-8"])
    with caplog.at_level(logging.WARNING):
        assert [stored.event.id for stored in await store.queue.unsent(2)] == ["c", "d"]
    assert caplog.text.count("event_unreadable") == 2
    assert [(row.agent, row.event.id, row.at) for row in await store.letters.dead_letters(None, 9)] == [
        (NOBODY, "b", NOW),
        (NOBODY, "a", NOW),
    ]
    assert await store.database.write(lambda db: db.execute("SELECT count(*) FROM outbox").fetchone()) == (2,)


async def test_an_unreadable_event_that_was_to_be_sent_is_sent_when_it_can_be_read(store: SqliteStore) -> None:
    await store.queue.send([event("a")], None, NOW)
    await damage(store, "a", "json_set(body, '$.specversion', '2.0')")
    assert await unsent_ids(store) == []
    (row,) = await store.letters.dead_letters(None, 9)
    assert row.unreadable
    await damage(store, "a", "json_set(body, '$.specversion', '1.0')")
    assert await redrive(store, row.seq)
    assert await unsent_ids(store) == ["a"]


async def test_the_log_shows_what_is_known_of_an_event_that_cannot_be_read(store: SqliteStore) -> None:
    await store.queue.send([event("a"), event("b", plan_id="p", root_plan_id="p"), event("c")], None, NOW)
    await damage(store, "b")
    for query in ({}, {"newest": True}, {"tenant_id": "default"}, {"after": 1}):
        shown = {one.event.id: one.event for one in await store.events.events(**query)}  # type: ignore[arg-type]
        assert {"b", "c"} <= set(shown)
        assert (shown["b"].type, shown["b"].plan_id, shown["b"].source) == ("work.asked", "p", "unreadable")
    (of_tree,) = await store.events.events(root_plan_id="p")
    assert of_tree.event.id == "b"
    with pytest.raises(RemoteProtocolError):
        await store.events.event("b")


async def test_a_topic_that_only_a_later_version_knows_is_told(store: SqliteStore) -> None:
    await store.queue.send([event("a")], None, NOW)
    await damage(store, "a", DAMAGES["of a later version"])
    await store.database.write(lambda db: db.execute("UPDATE event SET topic = 'later-topic'"))
    (shown,) = await store.events.events()
    assert shown.event.data["topic"] == "later-topic"


async def test_the_same_id_with_other_content_is_refused_although_the_first_cannot_be_read(store: SqliteStore) -> None:
    await store.queue.send([event("a")], None, NOW)
    await damage(store, "a")
    with pytest.raises(LocalProtocolError, match="exists with other content"):
        await store.queue.send([event("a", data={"x": 1})], None, NOW)


async def test_an_event_that_came_early_and_cannot_be_read_does_not_keep_a_wait_from_opening(
    store: SqliteStore,
) -> None:
    await store.registry.register([awaiting_payment()], NOW)
    await store.queue.arrive([fact("f-1", {"order_id": "o-1"}), fact("f-2", {"order_id": "o-1"})], NOW)
    await damage(store, "f-1")
    await do(store, Expect(wait("w-1")))
    opened = await store.plans.expectation("w-1")
    assert opened is not None and (opened.status, opened.met_by) == (ExpectationStatus.MET, "f-2")


async def test_a_timer_that_cannot_be_read_holds_up_no_other_and_its_guard_expires(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await running(store, expectation("q-1"))
    await do(
        store,
        Schedule("t-1", later(1), event("lost"), guards="q-1"),
        Schedule("t-2", later(2), event("lost too")),
        Schedule("t-3", later(3), event("tick")),
    )
    await store.database.write(
        lambda db: db.execute("UPDATE timer SET body = CAST(x'FF' AS TEXT) WHERE id IN ('t-1', 't-2')")
    )
    with caplog.at_level(logging.WARNING):
        assert await store.queue.fire(later(9), 9) == 2
    assert await store.queue.fire(later(9), 9) == 0
    assert caplog.text.count("event_unreadable timer=t-") == 2
    assert [(one.event.type, one.event.subject) for one in await store.queue.unsent(9)] == [
        (EXPIRED, "q-1"),
        ("work.asked", None),
    ]
    expired = await store.plans.expectation("q-1")
    assert expired is not None and expired.status is ExpectationStatus.EXPIRED


async def test_what_comes_again_with_other_content_than_an_unreadable_one_is_set_aside(store: SqliteStore) -> None:
    await store.queue.arrive([event("a")], NOW)
    await damage(store, "a")
    other = event("a", data={"x": 1})
    with pytest.raises(RemoteProtocolError):
        await store.queue.arrive([other], NOW)
    await store.letters.set_aside(other, "no", NOW)
    (row,) = await store.letters.dead_letters(None, 9)
    assert (row.agent, row.event.id, row.reason) == (NOBODY, "a", "no")


async def test_a_redriven_letter_keeps_that_it_was_started_and_forgets_its_crashes(store: SqliteStore) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event("a")], NOW)
    (delivery,) = await claimed(store)
    await store.database.write(lambda db: db.execute("UPDATE inbox SET started = 1, crashes = 3"))
    await end(store, delivery, DeadLetter("no"))
    await redrive(store, delivery.seq)
    (again,) = await claimed(store)
    assert again.started
    assert await store.database.write(lambda db: db.execute("SELECT crashes FROM inbox").fetchone()) == (0,)
