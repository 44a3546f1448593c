"""Two stores on one NATS and one namespace work together: what the agents of one ask, those of the other do."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, events, payments, planner, stock, until
from nats.aio.client import Client
from nats.js.client import JetStreamContext
from nats_server import NatsServer
from worst import HAS_BROKER

from soorma_ai import Approval, InvocationContext, Platform, PlatformContext, TaskContext, Tool, Worker
from soorma_ai.adapters.nats.subjects import subject_between
from soorma_ai.adapters.sql.tables import inbox
from soorma_ai.domain.events import SYSTEM
from soorma_ai.domain.values import JsonObject
from soorma_ai.testing.scripted import complete, publish

pytestmark = pytest.mark.skipif(HAS_BROKER, reason="it chooses its bus itself, and runs once")

PROGRAM = Path(__file__).parent / "neighbour_program.py"
# A request passes five times through NATS before its reply is at home.
LONG = 6 * PATIENCE
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


async def test_a_plan_is_offered_what_another_store_takes_and_is_answered(pair: Pair) -> None:
    """It waits for an offer first; no answer of the tool's is lost or doubled on its way home."""
    await pair.home.start(planner(asks(RESERVE, order_id="A")))
    plan = await pair.home.submit("order.received", {"number": 1})
    await pair.there.start(stock())
    assert await plan.result(timeout=LONG) == {"ok": True}
    counted = Counter((event.type, event.source) for event in await events(pair.home))
    assert counted[RESERVE, "orders"] == counted[f"{RESERVE}.completed", "stock"] == 1


async def test_a_worker_elsewhere_does_what_a_plan_asks_after_a_person_there_has_approved(pair: Pair) -> None:
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


async def test_a_client_here_is_answered_by_a_tool_there(pair: Pair) -> None:
    await pair.there.start(payments())
    await pair.home.start(stock())
    await pair.know("payments")
    reply = await pair.home.request(CHARGE, {"amount": 5}, timeout=LONG)
    assert reply["result"] == {"charged": 5}


async def test_an_agent_that_leaves_there_leaves_here(pair: Pair) -> None:
    await pair.home.start(planner(asks(RESERVE, order_id="A")))
    await pair.there.start(stock())
    await pair.know("stock")
    await pair.there.__aexit__(None, None, None)
    await until(pair.home, lambda: is_gone(pair.home, "stock"))


async def is_gone(platform: Platform, agent: str) -> bool:
    return not await is_offered(platform, agent)


async def test_a_name_that_an_agent_has_here_is_refused_to_one_there(
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
async def test_a_reply_of_a_store_that_was_not_asked_counts_only_where_a_planted_bug_believes_it(
    pair: Pair, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    if bug == "bug":
        monkeypatch.setattr(inbox, "was_handed", believe_everybody)
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
        store_id = await pair.home.services.store.upkeep.store_id("there is one")
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


def believe_everybody(*_: object) -> bool:
    return True


PERMISSIONS = """
    publish: [
        "shop.THEIRS.>", "shop.*.*.*.*.THEIRS", "shop.registry.THEIRS.>", "$JS.API.STREAM.INFO.shop",
        "$JS.API.CONSUMER.INFO.shop.store-THEIRS", "$JS.API.CONSUMER.MSG.NEXT.shop.store-THEIRS",
        "$JS.ACK.shop.store-THEIRS.>"
    ]
    subscribe: ["shop.registry.>", "_INBOX.THEIRS.>"]
"""


async def test_a_store_needs_no_more_permissions_than_are_told(tmp_path: Path) -> None:
    there = f"sqlite:///{tmp_path / 'there.db'}"
    async with Platform(there, "local:") as platform:
        store_id = await platform.services.store.upkeep.store_id(platform.services.clock.new_id())
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


async def test_a_store_killed_while_it_is_asked_answers_once_when_it_is_back(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    url, asked = nats_server.namespace_url(), tmp_path / "asked"
    async with Platform(f"sqlite:///{tmp_path / 'home.db'}", url) as home:
        await home.start(planner(asks(RESERVE, order_id="A")))
        plan = await home.submit("order.received", {"number": 1})
        first = life(tmp_path, url, asked)
        assert await asyncio.to_thread(first.wait) == -signal.SIGKILL
        second = life(tmp_path, url, asked)
        assert await plan.result(timeout=LONG) == {"ok": True}
        counted = Counter(event.type for event in await events(home))
        assert counted[RESERVE] == counted[f"{RESERVE}.completed"] == 1
        second.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(second.wait) == 0
        await until(home, lambda: is_gone(home, "stock"))


def life(folder: Path, url: str, asked: Path) -> subprocess.Popen[bytes]:
    settings = {"SOORMA_STORE_URL": f"sqlite:///{folder / 'there.db'}", "SOORMA_BUS_URL": url}
    return subprocess.Popen([sys.executable, str(PROGRAM), str(asked)], env={**os.environ, **settings})
