"""An unreadable row is set aside, logged and listed, and holds up no other; damage of a file is reported as damage."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from store_kit import (
    LEASE,
    NOW,
    FreeHands,
    agent,
    awaiting_payment,
    claim_all,
    do,
    drain,
    end,
    entry,
    event,
    expectation,
    fact,
    find,
    in_hand,
    in_line,
    later,
    let_replies_arrive,
    open_store,
    plan,
    redrive,
    reply,
    save_running_plan,
    settle,
    step,
    unsent_ids,
    wait,
)

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.plan_memory.ports import PLAN_MEMORY
from soorma_ai.kernel.domain.dead_letters import NOBODY
from soorma_ai.kernel.domain.effects import Ack, AppendStep, DeadLetter, Expect, Publish, SavePlan, Schedule
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.domain.memory import MemoryKey, OpenSession, SessionSummary, StoreMemory
from soorma_ai.kernel.ports import Settlement, Work
from soorma_ai.kernel.rules.arrival.endings import timer_of_plan
from soorma_ai.kernel.rules.waits.wakeups import DEADLINE_REACHED, EXPIRED, wake_plan

KEY = MemoryKey("default", "plan-1", "key")
DAMAGES = {
    "no JSON": "'{'",
    "no UTF-8": "CAST(x'FF' AS TEXT)",
    "no event": "'{}'",
    "of a later version": "json_set(body, '$.topic', 'later-topic')",
}


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    async with open_store(SqliteStore(None, ALL_FEATURES)) as made:
        yield made


async def damage(store: SqliteStore, event_id: str, expression: str = "'{'") -> None:
    await store.database.write(lambda db: db.execute(f"UPDATE event SET rest = {expression} WHERE id = ?", (event_id,)))


@pytest.mark.parametrize("expression", DAMAGES.values(), ids=DAMAGES)
async def test_a_claim_passes_over_unreadable_events_and_takes_the_rest(
    store: SqliteStore, expression: str, caplog: pytest.LogCaptureFixture
) -> None:
    await in_line(store, "a")
    await store.queue.arrive([event("b", tenant="one"), event("c")], NOW)
    await damage(store, "b", expression)
    with caplog.at_level(logging.WARNING):
        assert [d.event.id for d in await claim_all(store, limit=3)] == ["a", "c"]
    assert "event_unreadable agent=worker" in caplog.text
    assert await claim_all(store) == []
    (row,) = await store.part(LETTERS).dead_letters("one", 9)
    (why,) = row.event.data.values()
    assert (row.agent, row.attempts, row.at, row.reason) == ("worker", 0, NOW, f"unreadable: {why}")
    shown = row.event
    assert (shown.id, shown.type, shown.topic) == ("b", "work.asked", EventTopic.ACTION_REQUESTS)
    assert (shown.tenant_id, shown.time) == ("one", NOW)


async def test_deliveries_behind_any_number_of_unreadable_ones_move_up(store: SqliteStore) -> None:
    await let_replies_arrive(store, *range(6))
    for n in (0, 1, 2, 4):
        await damage(store, f"r-{n}")
    assert await drain(store) == ["r-3", "r-5"]


async def test_an_event_of_a_later_version_can_be_redriven_once_it_can_be_read(store: SqliteStore) -> None:
    await in_line(store, "a")
    await damage(store, "a", "json_set(body, '$.specversion', '2.0')")
    assert await claim_all(store) == []
    (row,) = await store.part(LETTERS).dead_letters(None, 9)
    assert row.unreadable == row.reason and row.reason.startswith("unreadable: specversion")
    await damage(store, "a", "json_set(body, '$.specversion', '1.0')")
    assert await redrive(store, row.seq)
    assert [d.event.id for d in await claim_all(store)] == ["a"]


async def test_the_outbox_keeps_the_unreadable_as_a_letter_and_sends_it_when_it_can_be_read(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.queue.send([event("a"), event("b"), event("c"), event("d")], None, NOW)
    for broken in ("a", "b"):
        await damage(store, broken, "json_set(body, '$.specversion', '2.0')")
    with caplog.at_level(logging.WARNING):
        assert [stored.event.id for stored in await store.queue.unsent(2)] == ["c", "d"]
    assert caplog.text.count("event_unreadable") == 2
    dead = await store.part(LETTERS).dead_letters(None, 9)
    assert [(row.agent, row.event.id, row.at) for row in dead] == [(NOBODY, "b", NOW), (NOBODY, "a", NOW)]
    assert await store.database.write(lambda db: db.execute("SELECT count(*) FROM outbox").fetchone()) == (2,)
    assert dead[0].unreadable
    await damage(store, "b", "json_set(body, '$.specversion', '1.0')")
    assert await redrive(store, dead[0].seq)
    assert await unsent_ids(store) == ["b", "c", "d"]


async def test_the_log_shows_the_known_fields_of_an_unreadable_event(store: SqliteStore) -> None:
    await store.queue.send([event("a"), event("b", plan_id="p", root_plan_id="p"), event("c")], None, NOW)
    await damage(store, "b")
    for shown in (
        await store.events.events(),
        await store.events.events(newest=True),
        await store.events.events(tenant_id="default"),
        await store.events.events(after=1),
    ):
        found, last = shown[-2:]
        assert (found.event.id, last.event.id) == ("b", "c")
        assert (found.event.type, found.event.plan_id, found.event.source) == ("work.asked", "p", "unreadable")
    assert [one.event.id for one in await store.events.events(root_plan_id="p")] == ["b"]
    with pytest.raises(RemoteProtocolError):
        await store.events.event("b")
    with pytest.raises(LocalProtocolError, match="exists with other content"):
        await store.queue.send([event("b", data={"x": 1})], None, NOW)


async def test_a_topic_of_a_later_version_is_shown(store: SqliteStore) -> None:
    await store.queue.send([event("a")], None, NOW)
    await damage(store, "a", DAMAGES["of a later version"])
    await store.database.write(lambda db: db.execute("UPDATE event SET topic = 'later-topic'"))
    (shown,) = await store.events.events()
    assert shown.event.data["topic"] == "later-topic"


async def test_an_unreadable_early_event_does_not_keep_a_wait_from_opening(store: SqliteStore) -> None:
    await store.registry.register([awaiting_payment()], NOW)
    await store.queue.arrive([fact("f-1", {"order_id": "o-1"}), fact("f-2", {"order_id": "o-1"})], NOW)
    await damage(store, "f-1")
    await do(store, Expect(wait("w-1")))
    assert (await find(store, "w-1")).met_by == "f-2"


async def test_an_unreadable_timer_holds_up_no_other_and_its_guarded_wait_expires(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await save_running_plan(store, expectation("q-1"))
    await do(
        store,
        Schedule("t-1", later(1), event("lost"), guards="q-1"),
        Schedule("t-2", later(2), event("lost too")),
        Schedule("t-3", later(3), event("tick")),
    )
    broken = "UPDATE timer SET body = CAST(x'FF' AS TEXT) WHERE id IN ('t-1', 't-2')"
    await store.database.write(lambda db: db.execute(broken))
    with caplog.at_level(logging.WARNING):
        assert await store.queue.fire(later(9), 9) == 2
    assert await store.queue.fire(later(9), 9) == 0
    assert caplog.text.count("event_unreadable timer=t-") == 2
    told = [(one.event.type, one.event.subject) for one in await store.queue.unsent(9)]
    assert told == [(EXPIRED, "q-1"), ("work.asked", None)]
    assert (await find(store, "q-1")).status is ExpectationStatus.EXPIRED


async def test_other_content_under_the_id_of_an_unreadable_event_is_set_aside(store: SqliteStore) -> None:
    await store.queue.arrive([event("a")], NOW)
    await damage(store, "a")
    other = event("a", data={"x": 1})
    with pytest.raises(RemoteProtocolError):
        await store.queue.arrive([other], NOW)
    await store.queue.set_aside(other, "no", NOW)
    (row,) = await store.part(LETTERS).dead_letters(None, 9)
    assert (row.agent, row.event.id, row.reason) == (NOBODY, "a", "no")


async def test_a_redriven_letter_stays_started_and_forgets_its_crashes(store: SqliteStore) -> None:
    (delivery,) = await in_hand(store, "a")
    await store.database.write(lambda db: db.execute("UPDATE inbox SET started = 1, crashes = 3"))
    await end(store, delivery, DeadLetter("no"))
    await redrive(store, delivery.seq)
    (again,) = await claim_all(store)
    assert again.started
    assert await store.database.write(lambda db: db.execute("SELECT crashes FROM inbox").fetchone()) == (0,)


LOOKS: list[Callable[[SqliteStore], Awaitable[object]]] = [
    lambda s: s.plans.plans(tenant_id="default", status=None, root_plan_id=None, limit=9),
    lambda s: s.plans.plan("plan-1"),
    lambda s: s.plans.steps("plan-1"),
    lambda s: s.plans.expectations(only_open=False),
    lambda s: s.plans.decisions("plan-1"),
    lambda s: s.plans.read_spent("plan-1"),
    lambda s: s.registry.agents(NOW),
    lambda s: s.registry.live_events("default", NOW),
    lambda s: s.registry.definitions("default", "order.paid"),
    lambda s: s.events.events(),
    lambda s: s.events.receivers_of(["a", "b"]),
    lambda s: s.part(LETTERS).dead_letters(None, 9),
    lambda s: s.memory.recall(KEY),
    lambda s: s.memory.sessions("default", 9),
    lambda s: s.queue.next_due(["worker"], NOW),
]
WORKS: list[Callable[[SqliteStore], Awaitable[object]]] = [
    lambda s: s.queue.unsent(9),
    lambda s: s.queue.claim("worker", later(99), LEASE, 9),
    lambda s: s.queue.fire(later(99), 9),
    lambda s: s.queue.sweep(later(99)),
    lambda s: s.queue.arrive([reply("r-1", "q-1")], NOW),
]


async def fill(path: Path) -> None:
    """Make a file with something in every table."""
    async with open_store(SqliteStore(path, ALL_FEATURES)) as store:
        await store.registry.register([awaiting_payment()], NOW)
        await save_running_plan(store, expectation("q-1"), wait("w-1"))
        (delivery, *_) = await in_hand(store, *"abcdefgh")
        await end(store, delivery, DeadLetter("no"))
        await do(store, Schedule("t-1", later(60), event("tick"), guards="w-1"), AppendStep(step(1)))
        charge = Charge("plan-1", 1, 2, 0.5)
        await settle(store, Settlement(charge, charge, entry()))
        session = SessionSummary("s-1", 0, NOW, NOW, "ann", None, {})
        await store.part(PLAN_MEMORY).memorize([StoreMemory(KEY, [1, 2]), OpenSession("default", session)], NOW)
        await store.queue.send([event("z")], None, NOW)


def places_of(file: Path, apart: int) -> list[int]:
    """Return all of the header, and places all over the file."""
    return [*range(100), *range(100, file.stat().st_size, apart)]


def damage_at(place: int, whole: Path, damaged: Path) -> None:
    content = bytearray(whole.read_bytes())
    content[place] ^= (0xFF, 0x01, 0x80)[place % 3]
    for left in damaged.parent.glob(f"{damaged.name}*"):
        left.unlink()
    damaged.write_bytes(content)


@pytest.mark.parametrize("read_only", [False, True], ids=["its owner", "who looks"])
async def test_a_damaged_byte_at_any_place_is_a_config_error_or_no_error(tmp_path: Path, read_only: bool) -> None:
    whole, damaged = tmp_path / "whole.db", tmp_path / "damaged.db"
    await fill(whole)
    looks = LOOKS if read_only else [*LOOKS, *WORKS]
    told = 0
    for place in places_of(whole, 1009 if read_only else 5003):
        damage_at(place, whole, damaged)
        store = SqliteStore(damaged, ALL_FEATURES, read_only=read_only)
        for look in [lambda s: s.open(NOW), *looks]:
            try:
                await look(store)
            except ConfigError:
                told += 1
                break
        await store.close()
    assert told > 20


async def test_an_unreadable_plan_keeps_no_other_from_being_set_going(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await do(store, *(SavePlan(plan(f"plan-{n}"), None) for n in (1, 2)))
    await store.database.write(lambda db: db.execute("UPDATE plan SET rest = '{}' WHERE plan_id = 'plan-1'"))
    assert (await store.queue.sweep(later(99))).stranded == ("plan-2",)
    assert "a plan cannot be set going" in caplog.text


async def test_the_deadline_of_an_unreadable_plan_is_told_under_its_own_id(store: SqliteStore) -> None:
    made, due = plan(), later(60)
    timer = Schedule(timer_of_plan("plan-1"), due, wake_plan(DEADLINE_REACHED, made, due))
    await do(store, SavePlan(made, None), timer)
    await store.database.write(lambda db: db.execute("UPDATE plan SET rest = '{'"))
    assert await store.queue.fire(later(61), 9) == 1
    (told,) = await store.queue.unsent(9)
    assert (told.event.id, told.event.plan_id, told.event.tenant_id) == (timer.event.id, "plan-1", "default")


async def test_an_event_unable_to_arrive_is_set_aside_alone_and_its_requester_gets_an_error(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.registry.register([agent("worker", "work.asked"), agent("giver", "given")], NOW)
    await do(store, SavePlan(plan(), None))
    await store.database.write(lambda db: db.execute("UPDATE plan SET rest = '{}'"))
    store.deliver(FreeHands(), LEASE)
    await store.queue.send([event("e-0", "given")], None, NOW)
    (giver,) = await claim_all(store, "giver")
    # An event for a check at its hand-over, by the asking plan.
    bad = event("q-1", correlation_id="q-1", plan_id="plan-1").model_copy(update={"unchecked": True})
    expected = expectation(
        "q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None, event_type="work.asked.completed"
    )
    effects = (Expect(expected), Publish(event("e-1")), Publish(bad), Publish(event("e-2")))
    arrival = await store.queue.commit(Work(giver, Ack(), effects), NOW)
    assert [delivery.event.id for delivery in await claim_all(store)] == ["e-1", "e-2"]
    assert await claim_all(store, "giver", now=NOW + LEASE) == [], "their publisher has ended"
    (letter,) = await store.part(LETTERS).dead_letters(None, 9)
    assert (letter.event.id, letter.agent) == ("q-1", NOBODY)
    assert letter.reason.startswith("cannot_arrive: config:")
    assert arrival.replies["q-1"].data["error"]["code"] == "cannot_arrive"
    assert "event_set_aside" in caplog.text


async def test_a_delivery_behind_an_unreadable_one_moves_up(store: SqliteStore) -> None:
    await save_running_plan(store, *(expectation(f"q-{n}") for n in range(3)))
    await store.queue.arrive([reply(f"r-{n}", f"q-{n}") for n in range(3)], NOW)
    await damage(store, "r-1")
    (first,) = await claim_all(store, "planner")
    store.deliver(FreeHands(planner=9), LEASE)
    await end(store, first)
    assert [delivery.event.id for delivery in await claim_all(store, "planner")] == ["r-2"]


async def test_an_unreadable_plan_reserves_nothing_and_holds_up_no_other(store: SqliteStore) -> None:
    call = Charge("plan-1", 1, 100, 0.5)
    for n in (1, 2):
        begun = replace(plan(f"plan-{n}"), next_call=call)
        await do(store, SavePlan(begun, None), Expect(expectation(f"q-{n}", plan_id=f"plan-{n}")))
    await store.database.write(lambda db: db.execute("UPDATE plan SET next_call = '{' WHERE plan_id = 'plan-1'"))
    await store.queue.arrive([reply(f"r-{n}", f"q-{n}") for n in (1, 2)], NOW)
    assert [one.hold for one in await claim_all(store, "planner")] == [None, call]
