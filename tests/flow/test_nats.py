"""Over a broker: too large messages are refused, its death is a pause, and a kill loses and doubles nothing."""

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit import PATIENCE, events, is_idle, payments, planner, served_meanwhile, stock, the_wait, until, wait_for_end
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext
from nats_server import NatsServer
from unit.worst_data import KINDS
from worst import HAS_BROKER

from soorma_ai import Approval, EventEnvelope, EventTopic, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.nats.subjects import subject_of
from soorma_ai.kernel.domain.events import Lineage, new_event
from soorma_ai.kernel.domain.values import JsonObject, derived_id
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import complete, publish

pytestmark = pytest.mark.skipif(HAS_BROKER, reason="it chooses its bus itself, and runs once")

PROGRAM = Path(__file__).parent / "nats_program.py"
WITNESS = Path(__file__).parent / "nats_witness.py"


@pytest.fixture
def url(nats_server: NatsServer) -> str:
    return nats_server.namespace_url()


@pytest.fixture
async def raw(url: str) -> AsyncIterator[Client]:
    """A foreign client of NATS."""
    client = Client()
    await client.connect(url.rpartition("/")[0])
    yield client
    await client.close()


async def test_a_request_too_large_for_the_bus_gets_an_error_and_holds_up_no_other(path: Path, url: str) -> None:
    async with Platform(f"sqlite:///{path}", url) as platform:
        await platform.start(stock())
        large = await platform.request("inventory.reserve.requested", {"order_id": "x" * 1_100_000})
        small = await platform.request("inventory.reserve.requested", {"order_id": "A"})
        (letter,) = await platform.dead_letters()
    assert large["error"]["code"] == "cannot_arrive"
    assert "NATS takes 1,048,576" in large["error"]["message"]
    assert small["result"] == {"reserved": "A"}
    assert letter.event.type == "inventory.reserve.requested"


async def test_the_death_of_the_server_under_load_is_a_pause(path: Path, tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "nats")
    server.start()
    async with Platform(f"sqlite:///{path}", server.namespace_url()) as platform:
        await platform.start(planner(reserve_then_complete), stock())
        plans = [await platform.submit("order.received", {"number": number}) for number in range(20)]
        for _ in range(2):
            await plans.pop().result(timeout=PATIENCE)
            server.kill()
            server.start()
        found = [await wait_for_end(platform, plan.plan_id) for plan in plans]
        assert {plan.status for plan in found} == {"completed"}
        happened = await events(platform)
    server.stop()
    counted = Counter(event.type for event in happened)
    assert counted["inventory.reserve.requested"] == counted["order.received.completed"] == 20


async def test_no_tenant_can_use_up_an_id_of_another(path: Path, url: str, raw: Client) -> None:
    """A client of another tenant knows the key of a coming goal, and is there first."""
    namespace, to_come = url.rpartition("/")[2], derived_id("client", "acme", "ann", "order.received", "order-1")
    async with Platform(f"sqlite:///{path}", url) as platform:
        await platform.start(planner([complete({"ok": True})]), stock())
        store_id = await platform.services.store.name("there is one")
        forged = new_event(
            Lineage("globex", "eve"),
            event_id=to_come,
            source="client",
            topic=EventTopic.BUSINESS_FACTS,
            type="nothing",
            data={},
            time=platform.services.clock.now(),
        )
        await JetStreamContext(raw).publish(subject_of(namespace, store_id, forged), forged.to_json().encode())

        async def came() -> bool:
            return any(event.tenant_id == "globex" for event in await events(platform))

        await until(platform, came)
        ann = platform.as_user(tenant_id="acme", user_id="ann")
        plan = await ann.submit("order.received", {}, idempotency_key="order-1")
        assert await plan.result(timeout=PATIENCE) == {"ok": True}


@pytest.mark.parametrize("amount", [5, "much"])
async def test_a_request_of_another_program_is_checked_and_held_for_a_person_like_any_other(
    path: Path, url: str, raw: Client, amount: object
) -> None:
    async with Platform(f"sqlite:///{path}", url) as platform:
        await platform.start(payments(Approval()))
        asked = new_event(
            Lineage(),
            event_id="1",
            source="payments",
            topic=EventTopic.ACTION_REQUESTS,
            type="payment.charge.requested",
            data={"amount": amount},
            time=platform.services.clock.now(),
            correlation_id="mine",
        )
        store_id = await platform.services.store.name("there is one")
        subject = subject_of(url.rpartition("/")[2], store_id, asked)
        await JetStreamContext(raw).publish(subject, asked.to_json().encode())
        if amount == "much":
            (reply,) = await until(platform, lambda: replies_to(platform, "mine"))
            assert reply.data["error"]["code"] == "invalid_request"
        else:
            wait = await the_wait(platform)
            await platform.answer(wait.wait_id, {"approved": True})
            (reply,) = await until(platform, lambda: replies_to(platform, "mine"))
            assert reply.data["success"]


@pytest.mark.parametrize("kind", ["anyOf of 5", "order lines without their fields"])
async def test_others_are_served_while_large_data_of_another_program_is_refused(
    path: Path, url: str, raw: Client, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    schema, make = KINDS[kind]
    taker = Tool("taker")

    @taker.on_invoke("shape.requested", payload_schema=schema)
    async def take(request: InvocationContext, context: PlatformContext) -> None: ...

    async with Platform(f"sqlite:///{path}", url) as platform:
        await platform.start(taker)
        asked = new_event(
            Lineage(),
            event_id="1",
            source="elsewhere",
            topic=EventTopic.ACTION_REQUESTS,
            type="shape.requested",
            data=make(2**19),
            time=platform.services.clock.now(),
            correlation_id="mine",
        )
        store_id = await platform.services.store.name("there is one")
        subject = subject_of(url.rpartition("/")[2], store_id, asked)

        place = 0

        async def reply_that_came() -> list[EventEnvelope]:
            nonlocal place
            rows = await platform.services.store.events.events(after=place)
            place = rows[-1].seq if rows else place
            return [
                row.event
                for row in rows
                if row.event.topic is EventTopic.ACTION_RESULTS and row.event.correlation_id == "mine"
            ]

        async def refused() -> list[EventEnvelope]:
            await JetStreamContext(raw).publish(subject, asked.to_json().encode())
            return await until(platform, reply_that_came)

        (reply,), others = await served_meanwhile(platform, refused(), monkeypatch)
    assert reply.data["error"]["code"] == "invalid_request"
    assert others == 1


async def replies_to(platform: Platform, correlation_id: str) -> list[EventEnvelope]:
    return [
        event
        for event in await events(platform)
        if (event.topic, event.correlation_id) == (EventTopic.ACTION_RESULTS, correlation_id)
    ]


async def test_a_late_copy_does_not_bring_back_a_forgotten_user(path: Path, url: str, raw: Client) -> None:
    sent = asyncio.Queue[Msg]()
    await raw.subscribe(f"{url.rpartition('/')[2]}.*.*.business-facts.>", cb=sent.put)
    async with Platform(f"sqlite:///{path}", url) as platform:
        await platform.start(stock())
        ann, ben = (platform.as_user(tenant_id="default", user_id=name) for name in ("ann", "ben"))
        await ann.publish("business-facts", "order.placed", {"said": "hers"})
        async with asyncio.timeout(PATIENCE):
            copy = await sent.get()
        await until(platform, lambda: is_idle(platform))
        assert (await platform.forget("ann")).is_done
        # Like a copy held by the server for longer than its window of duplicates.
        named = {"Nats-Msg-Id": "1." + (copy.headers or {})["Nats-Msg-Id"].partition(".")[2]}
        await JetStreamContext(raw).publish(copy.subject, copy.data, headers=named)
        await ben.request("inventory.reserve.requested", {"order_id": "B"})
        assert {event.user_id for event in await events(platform)} == {"ben"}


def reserve_then_complete(question: ModelQuestion) -> JsonObject:
    came = "The goal came" in question.messages[-1].content
    return publish("inventory.reserve.requested", order_id="A") if came else complete({"ok": True})


def test_a_kill_between_commit_and_acknowledgement_leaves_nothing_lost_or_doubled(url: str, tmp_path: Path) -> None:
    first = life(PROGRAM, tmp_path, url, "committed", "2")
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = life(PROGRAM, tmp_path, url, "never", "0")
    assert second.returncode == 0, second.stderr
    told = json.loads(second.stdout)
    assert told == {"statuses": ["completed"] * 5, "dead": 0, "doubled": [], "requests": 5}


@pytest.mark.parametrize("bug", ["no bug", "bug"])
def test_facts_of_others_are_lost_only_by_a_planted_acknowledgement_before_their_row(
    url: str, tmp_path: Path, bug: str
) -> None:
    """A store's own events would be sent again out of its outbox; facts of others have no second place."""
    first = life(WITNESS, tmp_path, url, "first", bug)
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = life(WITNESS, tmp_path, url, "later", bug)
    assert second.returncode == 0, second.stderr
    kept = json.loads(second.stdout)
    assert kept == 5 if bug == "no bug" else kept < 5


def life(program: Path, *options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(program), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
