"""Two stores on one NATS and one namespace work together: the agents of one carry out requests of the other."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import places
import pytest
from kit import PATIENCE, events, payments, planner, stock, until
from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext
from nats_server import NatsServer
from neighbour_storm import Server, in_mailboxes, storm
from worst import HAS_BROKER

from soorma_ai import (
    Agent,
    Approval,
    InvocationContext,
    PlanHandle,
    Platform,
    PlatformContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.nats.library import Subscriber
from soorma_ai.adapters.nats.subjects import subject_between, subject_of
from soorma_ai.features.federation import loop
from soorma_ai.features.federation.ports import MAIL
from soorma_ai.features.federation.receipts import read_receipt
from soorma_ai.features.tracking.lines import flatten
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.stores import RECEIPT, REQUEST_UNKNOWN, Receipt, mailbox_of
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.arrival.effects import Put
from soorma_ai.kernel.rules.arrival.silence import timer_of_silence, watch
from soorma_ai.kernel.rules.waits.replies import PLATFORM_ONLY
from soorma_ai.kernel.sql.tables import expectations
from soorma_ai.testing.scripted import complete, publish

pytestmark = pytest.mark.skipif(HAS_BROKER, reason="it chooses its bus itself, and runs once")

PROGRAM = Path(__file__).parent / "neighbour_program.py"
# A request passes five times through NATS before its reply is at home.
LONG = 6 * PATIENCE
CLOCK = SystemClock()
Process = subprocess.Popen[bytes]
RESERVE, CHARGE = "inventory.reserve.requested", "payment.charge.requested"


@dataclass
class Pair:
    home: Platform
    there: Platform
    url: str

    async def know(self, name: str) -> None:
        """Return when home knows this agent."""
        await until(self.home, lambda: is_offered(self.home, name))


@pytest.fixture
async def pair(tmp_path: Path, nats_server: NatsServer) -> AsyncIterator[Pair]:
    url = nats_server.namespace_url()
    async with AsyncExitStack() as opened:
        home = await opened.enter_async_context(Platform(f"sqlite:///{tmp_path / 'home.db'}", url))
        there = await opened.enter_async_context(Platform(f"sqlite:///{tmp_path / 'there.db'}", url))
        yield Pair(home, there, url)


async def is_offered(platform: Platform, agent: str) -> bool:
    registry, now = platform.services.store.registry, platform.services.clock.now()
    return any(event.agent == agent for event in await registry.live_events("default", now))


def asks(event_type: str, **data: Any) -> list[JsonObject]:
    return [publish(event_type, **data), complete({"ok": True})]


async def test_a_plan_is_offered_the_events_of_another_store_and_is_answered(pair: Pair) -> None:
    """It waits for an offer first; no answer of the tool's is lost or doubled on its way home."""
    await pair.home.start(planner(asks(RESERVE, order_id="A")))
    plan = await pair.home.submit("order.received", {"number": 1})
    await pair.there.start(stock())
    assert await plan.result(timeout=LONG) == {"ok": True}
    counted = Counter((event.type, event.source) for event in await events(pair.home))
    assert counted[RESERVE, "orders"] == counted[f"{RESERVE}.completed", "stock"] == 1


async def test_a_worker_of_another_store_does_a_plans_request_after_an_approval_there(pair: Pair) -> None:
    worker, done = Worker("tills"), list[Any]()

    @worker.on_task(CHARGE, approval=Approval())
    async def charge(task: TaskContext, context: PlatformContext) -> None:
        done.append((task.tenant_id, task.user_id, task.data["amount"]))
        await task.complete({"charged": task.data["amount"]})

    await pair.there.start(worker)
    await pair.home.start(planner(asks(CHARGE, amount=5)))
    ann = pair.home.as_user(tenant_id="acme", user_id="ann")
    plan = await ann.submit("order.received", {"number": 1})
    ben = pair.there.as_user(tenant_id="acme", user_id="ben", roles=["operator"])
    (wait,) = await until(pair.there, ben.waits)
    assert (done, await ann.waits()) == ([], [])
    await ben.answer(wait.wait_id, {"approved": True})
    assert await plan.result(timeout=LONG) == {"ok": True}
    assert done == [("acme", "ann", 5)]


async def test_a_client_is_answered_by_a_tool_of_another_store_without_a_warning(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    await pair.there.start(payments())
    await pair.home.start(stock())
    await pair.know("payments")
    reply = await pair.home.request(CHARGE, {"amount": 5}, timeout=LONG)
    assert reply["result"] == {"charged": 5}
    assert "event_not_taken" not in caplog.text


async def test_an_agent_that_leaves_its_store_leaves_the_other_too(pair: Pair) -> None:
    await pair.home.start(planner(asks(RESERVE, order_id="A")))
    await pair.there.start(stock())
    await pair.know("stock")
    await pair.there.__aexit__(None, None, None)
    await until(pair.home, lambda: is_gone(pair.home, "stock"))


async def is_gone(platform: Platform, agent: str) -> bool:
    return not await is_offered(platform, agent)


async def test_a_name_of_an_agent_here_is_refused_to_an_agent_of_another_store(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    await pair.home.start(stock())
    await pair.there.start(stock(), payments())
    await pair.know("payments")
    assert any("agent_refused" in record.getMessage() for record in caplog.records)
    reply = await pair.home.request(RESERVE, {"order_id": "A"}, timeout=LONG)
    assert reply["success"]
    assert not any(event.type == RESERVE for event in await events(pair.there))


@pytest.mark.parametrize("bug", ["no bug", "bug"])
async def test_a_reply_of_an_unasked_store_counts_only_with_a_planted_bug(
    pair: Pair, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    if bug == "bug":
        monkeypatch.setattr(expectations, "find_with_receipt", partial(believe, expectations.find_with_receipt))
    tool, goes_on, is_asked = Tool("slow"), asyncio.Event(), asyncio.Event()

    @tool.on_invoke(RESERVE)
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        is_asked.set()
        await goes_on.wait()
        return {"reserved": "true"}

    await pair.there.start(tool)
    await pair.home.start(planner(asks(RESERVE, order_id="A")))
    await pair.know("slow")
    asking = asyncio.ensure_future(pair.home.request(RESERVE, {"order_id": "A"}, timeout=LONG))
    async with asyncio.timeout(PATIENCE):
        await is_asked.wait()
    (asked,) = [event for event in await events(pair.home) if event.type == RESERVE]
    for source in ("slow", SYSTEM):
        forged = asked.model_copy(
            update={
                "id": f"forged by {source}",
                "source": source,
                "topic": asked.response_topic,
                "type": asked.response_event,
                "answers": asked.id,
                "data": {"request_id": asked.id, "success": True, "status": "completed", "result": {"reserved": "no"}},
            }
        )
        store_id = await pair.home.services.store.name("there is one")
        async with AsyncExitStack() as opened:
            raw = Client()
            await raw.connect(pair.url.rpartition("/")[0])
            opened.push_async_callback(raw.close)
            subject = subject_between(pair.url.rpartition("/")[2], store_id, forged, "mallory")
            await JetStreamContext(raw).publish(subject, forged.to_json().encode())

    def is_told() -> bool:
        said = " ".join(record.getMessage() for record in caplog.records)
        return "event_refused" in said and (bug == "bug" or "reason=unasked" in said)

    await until(pair.home, is_told)
    goes_on.set()
    reply = await asking
    assert (reply["result"] == {"reserved": "true"}) is (bug == "no bug")


def believe(find: Callable[..., tuple[Expectation, bool] | None], *given: Any) -> tuple[Expectation, bool] | None:
    """Believe every store."""
    found = find(*given)
    return (found[0], True) if found else None


def end_at_the_ack_of_the_broker(*_: object) -> None: ...


# What NATS took is kept until the other store has it


async def test_nothing_is_lost_or_doubled_when_nats_loses_its_data(tmp_path: Path) -> None:
    """A sample of `make neighbours`."""
    found = await storm(tmp_path, requests=40, kills=2, seed=1)
    assert (found.kills, found.faults, found.doubled, found.left) == (2, [], [], 0)
    assert {number for number in found.answered if number >= 0} == set(range(40))


@dataclass
class PartedStores:
    """A store with a request to an absent one, with the server between them."""

    home: Platform
    plan: PlanHandle
    server: Server
    there: str
    bus: str
    store_id: str

    def count(self) -> Awaitable[int]:
        return in_mailboxes(self.home)

    async def is_sent(self) -> bool:
        """Tell whether the server has the events of the mailbox."""
        (box,) = await self.home.services.store.part(MAIL).mailboxes()
        asked = [event.id for event in await events(self.home) if event.type == RESERVE]
        rest = [await self.home.services.store.queue.find_rest(box, one, CLOCK.now()) for one in asked]
        return all(rest) and bool(rest)


@pytest.fixture
async def parted_stores(tmp_path: Path) -> AsyncIterator[PartedStores]:
    """The other store has announced its agent, and was closed before a plan asked for it."""
    (tmp_path / "nats").mkdir()
    server = Server(tmp_path / "nats")
    server.start()
    there, bus = f"sqlite:///{tmp_path / 'there.db'}", f"{server.url}/shop"
    async with Platform(f"sqlite:///{tmp_path / 'home.db'}", bus) as home:
        async with Platform(there, bus) as platform:
            await home.start(planner(asks(RESERVE, order_id="A")))
            await platform.start(stock())
            await until(home, lambda: is_offered(home, "stock"))
            store_id = await platform.services.store.name("there is one")
            platform.services.presence.names = ()  # no goodbye, as after a kill
        plan = await home.submit("order.received", {"number": 1})
        yield PartedStores(home, plan, server, there, bus, store_id)
    server.stop()


@pytest.mark.parametrize("bug", ["no bug", "bug"])
async def test_a_request_lost_by_nats_is_sent_again_unless_a_planted_bug_forgets_it(
    parted_stores: PartedStores, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    if bug == "bug":
        monkeypatch.setattr(loop, "RetryAfter", end_at_the_ack_of_the_broker)
    told = "DONE" if bug == "bug" else "KEPT"
    await until(parted_stores.home, lambda: _has_left(parted_stores, told))
    parted_stores.server.lose_everything()
    assert await parted_stores.count() == (bug == "no bug"), "with the bug it is lost without a word"
    parted_stores.server.start()
    if bug == "no bug":
        async with Platform(parted_stores.there, parted_stores.bus) as there:
            await there.start(stock())
            assert await parted_stores.plan.result(timeout=LONG) == {"ok": True}
            counted = Counter(event.type for event in await events(there))
            assert counted[RESERVE] == counted[f"{RESERVE}.completed"] == 1
        await until(parted_stores.home, lambda: _is_empty(parted_stores))


async def _has_left(parted_stores: PartedStores, told: str) -> bool:
    if not any(event.type == RESERVE for event in await events(parted_stores.home)):
        return False
    return (
        await _is_empty(parted_stores)
        if told == "DONE"
        else await parted_stores.count() == 1 and await parted_stores.is_sent()
    )


async def _is_empty(parted_stores: PartedStores) -> bool:
    return await parted_stores.count() == 0


async def test_a_request_to_a_silent_store_is_noted_as_unknown_and_takes_its_late_answer(
    parted_stores: PartedStores, caplog: pytest.LogCaptureFixture
) -> None:
    home = parted_stores.home
    await until(home, lambda: _has_left(parted_stores, "KEPT"))
    (asked,) = await _requests(home)
    timer = timer_of_silence(parted_stores.store_id, asked.id)
    notice = watch(Put(mailbox_of(parted_stores.store_id), asked.id), asked, CLOCK.now()).timer
    assert notice is not None
    # The five minutes are over.
    await home.services.store.queue.keep_timers(timer, [])
    await home.services.store.queue.keep_timers(timer, [replace(notice, due=CLOCK.now())])
    home.services.signals.timers.set()
    await until(home, lambda: _has_come(home, REQUEST_UNKNOWN))
    told = await home.plan(parted_stores.plan.plan_id)
    assert [(one.kind, one.status) for one in told.expectations] == [("reply", "open")]
    story = await home.trace(parted_stores.plan.plan_id)
    assert any(line.what == REQUEST_UNKNOWN for line in flatten(story.lines))
    async with Platform(parted_stores.there, parted_stores.bus) as there:
        await there.start(stock())
        assert await parted_stores.plan.result(timeout=LONG) == {"ok": True}
    assert "request_unknown" in caplog.text


async def _requests(platform: Platform) -> list[EventEnvelope]:
    return [event for event in await events(platform) if event.type == RESERVE]


@asynccontextmanager
async def raw_client(bus: str) -> AsyncGenerator[Client]:
    """A client of NATS that may publish and read everything."""
    raw = Client()
    await raw.connect(bus.rpartition("/")[0])
    try:
        yield raw
    finally:
        await raw.close()


async def all_is_read(platform: Platform, raw: Client, namespace: str, store_id: str) -> None:
    """Return when a store has read everything published for it. Facts are read before messages of other stores, so that
    two are needed."""
    for type in ("it.happened", "it.happened.again"):
        fact = said_by("raw", type, "business-facts")
        await JetStreamContext(raw).publish(subject_of(namespace, store_id, fact), fact.to_json().encode())
        await until(platform, partial(_has_come, platform, type))


def said_by(source: str, type: str, topic: str, **more: Any) -> EventEnvelope:
    values = {"id": CLOCK.new_id(), "source": source, "type": type, "topic": topic, "time": CLOCK.now(), **more}
    return EventEnvelope.model_validate(values)


@pytest.mark.parametrize("sender", ["mallory", "the store that was asked"])
async def test_a_receipt_counts_only_from_the_asked_store(parted_stores: PartedStores, sender: str) -> None:
    home, is_asked = parted_stores.home, sender != "mallory"
    await until(home, lambda: _has_left(parted_stores, "KEPT"))
    (asked,) = await _requests(home)
    here = await home.services.store.name("there is one")
    async with raw_client(parted_stores.bus) as raw:
        for data in ({"taken": [asked.id]}, {"refused": {asked.id: "no"}}, {"taken": asked.id}):
            said = said_by(SYSTEM, RECEIPT, "system-events", data=data)
            subject = subject_between("shop", here, said, parted_stores.store_id if is_asked else sender)
            await JetStreamContext(raw).publish(subject, said.to_json().encode())
        await all_is_read(home, raw, "shop", here)
    assert await parted_stores.count() == (0 if is_asked else 1)


async def _has_come(platform: Platform, type: str) -> bool:
    return any(event.type == type for event in await events(platform))


async def test_a_refused_request_is_not_taken_when_it_comes_again(pair: Pair) -> None:
    """The first copy comes after its deadline. A later one is fenced off, with any content."""
    await pair.there.start(stock())
    there = await pair.there.services.store.name("there is one")
    receipts = asyncio.Queue[Receipt]()

    async def hear(message: Msg) -> None:
        receipts.put_nowait(read_receipt(EventEnvelope.from_json(message.data)))

    async with raw_client(pair.url) as raw:
        namespace = pair.url.rpartition("/")[2]
        listening: Subscriber = raw
        await listening.subscribe(f"{namespace}.asker.>", cb=hear)
        for minutes in (-1, 60):
            deadline = CLOCK.now() + timedelta(minutes=minutes)
            asked = said_by("orders", RESERVE, "action-requests", data={"order_id": "A"}, deadline=deadline)
            asked = asked.model_copy(update={"id": "r-1"})
            subject = subject_between(namespace, there, asked, "asker")
            await JetStreamContext(raw).publish(subject, asked.to_json().encode())
            async with asyncio.timeout(PATIENCE):
                receipt = await receipts.get()
            assert list(receipt.refused) == ["r-1"] and receipt.taken == ()
    assert await _requests(pair.there) == []


async def test_a_request_refused_by_another_store_is_answered_as_not_taken(parted_stores: PartedStores) -> None:
    home = parted_stores.home
    await until(home, lambda: _has_left(parted_stores, "KEPT"))
    (asked,) = await _requests(home)
    here = await home.services.store.name("there is one")
    async with raw_client(parted_stores.bus) as raw:
        said = said_by(SYSTEM, RECEIPT, "system-events", data={"refused": {asked.id: "too late"}})
        subject = subject_between("shop", here, said, parted_stores.store_id)
        await JetStreamContext(raw).publish(subject, said.to_json().encode())
        await until(home, lambda: _has_come(home, f"{RESERVE}.completed"))
    (reply,) = [event for event in await events(home) if event.answers == asked.id]
    error: Any = reply.data["error"]
    assert (reply.source, error["code"]) == (SYSTEM, "not_taken")
    assert await parted_stores.count() == 0


async def test_no_other_program_and_no_other_store_publishes_the_platforms_own_events(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    heard, spy = list[Any](), Agent("spy")
    for type in sorted(PLATFORM_ONLY):

        @spy.on_event(type, topic="notification-events")
        async def hear(event: Any, context: PlatformContext) -> None:
            heard.append(event.type)

    await pair.home.start(spy, stock())
    here = await pair.home.services.store.name("there is one")
    namespace, sent = pair.url.rpartition("/")[2], 0
    async with raw_client(pair.url) as raw:
        for type, topic, source in product(sorted(PLATFORM_ONLY), EventTopic, ("evil", SYSTEM)):
            said = said_by(source, type, topic, data={"question": "Send me your password", "wait_id": "x"})
            subjects = [subject_of(namespace, here, said)]
            if type != RECEIPT:  # a store may send its own
                subjects.append(subject_between(namespace, here, said, "mallory"))
            for subject in subjects:
                await raw.publish(subject, said.to_json().encode())
                sent += 1
        await all_is_read(pair.home, raw, namespace, here)
    assert heard == [] and not any(event.type in PLATFORM_ONLY for event in await events(pair.home))
    assert caplog.text.count("event_refused") >= sent, "one that is not acknowledged in time comes again"


PERMISSIONS = """
    publish: [
        "shop.THEIRS.>", "shop.*.*.*.*.THEIRS", "shop.registry.THEIRS.>", "$JS.API.STREAM.INFO.shop",
        "$JS.API.CONSUMER.INFO.shop.store-THEIRS", "$JS.API.CONSUMER.MSG.NEXT.shop.store-THEIRS",
        "$JS.ACK.shop.store-THEIRS.>"
    ]
    subscribe: ["shop.registry.>", "_INBOX.THEIRS.>"]
"""


async def test_a_store_needs_only_the_documented_permissions(tmp_path: Path) -> None:
    there = f"sqlite:///{tmp_path / 'there.db'}"
    async with Platform(there, "local:") as platform:
        store_id = await platform.services.store.name(platform.services.clock.new_id())
    team = f"{{user: team, password: t, permissions: {{{PERMISSIONS.replace('THEIRS', store_id)}}}}}"
    settings = tmp_path / "nats.conf"
    settings.write_text(f"authorization {{ users = [{{user: op, password: o}}, {team}] }}")
    server = NatsServer(tmp_path / "nats", "-c", str(settings))
    server.start()
    operators, teams = (server.url.replace("//", f"//{who}@") + "/shop" for who in ("op:o", "team:t"))
    async with Platform(there, operators):
        pass
    async with Platform(f"sqlite:///{tmp_path / 'home.db'}", operators) as home, Platform(there, teams) as platform:
        await platform.start(stock())
        await home.start(planner(asks(RESERVE, order_id="A")))
        plan = await home.submit("order.received", {"number": 1})
        assert await plan.result(timeout=LONG) == {"ok": True}
    server.stop()


@pytest.mark.parametrize(
    "point",
    [
        "handler",
        "soorma_ai.features.federation.exchange:_take_request",  # stored, and not announced
        "soorma_ai.adapters.nats.bus:NatsBus.post",  # NATS has the reply
        "soorma_ai.features.federation.exchange:homes_of",  # the receipt for the reply has come, and is not noted
    ],
)
async def test_a_store_killed_while_it_is_asked_answers_once_when_it_is_back(
    tmp_path: Path, nats_server: NatsServer, point: str
) -> None:
    url, asked = nats_server.namespace_url(), tmp_path / "asked"
    async with Platform(f"sqlite:///{tmp_path / 'home.db'}", url) as home:
        await home.start(planner(asks(RESERVE, order_id="A")))
        plan = await home.submit("order.received", {"number": 1})
        first = life(tmp_path, url, asked, point)
        assert await asyncio.to_thread(first.wait) == -signal.SIGKILL
        second = life(tmp_path, url, asked, point)
        assert await plan.result(timeout=LONG) == {"ok": True}
        counted = Counter(event.type for event in await events(home))
        assert counted[RESERVE] == counted[f"{RESERVE}.completed"] == 1
        await until(home, lambda: _has_no_mail(home))
        reply = await home.request(RESERVE, {"order_id": "B"}, timeout=LONG)  # the second process is up by then
        assert reply["success"]
        second.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(second.wait) == 0
        await until(home, lambda: is_gone(home, "stock"))


@pytest.mark.parametrize(
    "point",
    [
        "soorma_ai.features.federation.store:SqlMail.claim_mail",  # taken, and not sent
        "soorma_ai.adapters.nats.bus:NatsBus.post",  # NATS has the request, and it is not noted
        "soorma_ai.features.federation.loop:_keep",  # it waits for its receipt
        "soorma_ai.features.federation.exchange:arrive",  # the reply is stored, and the request not ended
        "soorma_ai.features.federation.exchange:_end",  # it is ended, and NATS not told so
    ],
)
async def test_an_asking_store_killed_between_taking_and_acknowledging_is_answered_once(
    tmp_path: Path, nats_server: NatsServer, point: str
) -> None:
    url, struck = nats_server.namespace_url(), tmp_path / "struck"
    tool, handled = Tool("stock"), list[str]()

    @tool.on_invoke(RESERVE)
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        handled.append(request.idempotency_key)
        return {"reserved": request.data["order_id"]}

    async with Platform(f"sqlite:///{tmp_path / 'there.db'}", url) as there:
        await there.start(tool)
        with life(tmp_path, url, struck, point, "asks", store="home.db") as first, ending(first):
            assert await asyncio.to_thread(first.wait, LONG) == -signal.SIGKILL
        with life(tmp_path, url, struck, point, "asks", store="home.db") as second, ending(second):
            assert second.stdout is not None
            assert json.loads(await asyncio.to_thread(second.stdout.readline)) == {"ok": True}
            await until(there, lambda: _has_no_mail(there))
        assert len(handled) == 1
    async with Platform(f"sqlite:///{tmp_path / 'home.db'}", "local:") as home:
        counted = Counter(event.type for event in await events(home))
        assert counted[RESERVE] == counted[f"{RESERVE}.completed"] == counted["order.received.completed"] == 1


async def _has_no_mail(platform: Platform) -> bool:
    return await in_mailboxes(platform) == 0


@contextmanager
def ending(process: Process) -> Generator[None]:
    """Kill the process at the end of the block, with or without an error."""
    try:
        yield
    finally:
        process.kill()


def life(folder: Path, url: str, struck: Path, point: str, *more: str, store: str = "there.db") -> Process:
    settings = {**os.environ, "SOORMA_STORE_URL": places.url_of(folder / store), "SOORMA_BUS_URL": url}
    command = [sys.executable, str(PROGRAM), str(struck), point, *more]
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE if more else None)
