"""A bare kernel, the floor under a request: the same tables, envelopes and schema checks in the same two transactions,
and nothing else. It has no foreign handlers, no limits, no recovery, no second connection and no thread.

A unit is `per` requests with their replies.
"""

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import jsonschema_rs

from bench.measure import Figures, Lap, main
from bench.rows.agents import ECHO, fields, store_url
from soorma_ai import EventEnvelope, EventTopic, Platform
from soorma_ai.kernel.domain.values import JsonObject

ANSWER = f"{ECHO}.completed"
LEASE_SECONDS = 30
INSERT_EVENT = "INSERT INTO event (id, tenant, type, topic, digest, rest, time) VALUES (?, ?, ?, ?, ?, ?, ?)"
EXPECT = (
    "INSERT INTO expectation (id, kind, agent, tenant, event_type, event_topic, opened_at, status, rest) "
    "VALUES (?, 'client', 'client', ?, ?, ?, ?, 'open', ?)"
)
LEASE = (
    "INSERT INTO inbox (agent, event_seq, owner, priority, state, ready_at, attempt, fence) "
    "VALUES ('desk', ?, ?, 0, 'leased', ?, 1, 1)"
)
DISPOSE = "UPDATE inbox SET state = 'done', ready_at = 0, ended_at = ? WHERE seq = ? AND state = 'leased' AND fence = 1"
MEET = "UPDATE expectation SET status = 'met', closed_at = ?, met_by = ? WHERE id = ? AND status = 'open'"


class Kernel:
    """Requests of one process; the writes of one turn of its loop share a commit."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA cache_size = -16384")
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Callable[[], object], asyncio.Future[Any]]] = []
        self._answered: dict[str, asyncio.Future[EventEnvelope]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._fits = jsonschema_rs.validator_for(fields(say="string"))

    async def request(self, data: dict[str, Any]) -> dict[str, Any]:
        self._check(data)
        now, id = datetime.now(UTC), str(uuid4())
        asked = EventEnvelope(
            id=id,
            source="client",
            type=ECHO,
            topic=EventTopic.ACTION_REQUESTS,
            time=now,
            data=data,
            correlation_id=id,
            response_event=ANSWER,
            response_topic=EventTopic.ACTION_RESULTS,
        )
        answered = self._answered[id] = self._loop.create_future()
        place = await self._write(lambda: self._send(asked))
        task = asyncio.create_task(self._handle(asked, place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return (await answered).data

    async def _handle(self, asked: EventEnvelope, place: int) -> None:
        self._check(asked.data)
        result: JsonObject = {"say": asked.data["say"]}
        self._check(result)
        said: JsonObject = {"request_id": asked.id, "success": True, "status": "completed", "result": result}
        answer = EventEnvelope(
            id=hashlib.sha1(f"{asked.id} desk 0 {ANSWER}".encode()).hexdigest(),
            source="desk",
            type=ANSWER,
            topic=EventTopic.ACTION_RESULTS,
            time=datetime.now(UTC),
            data=said,
            correlation_id=asked.correlation_id,
            causation_id=asked.id,
            answers=asked.id,
        )
        await self._write(lambda: self._answer(asked, place, answer))
        self._answered.pop(asked.id).set_result(answer)

    def _check(self, value: Any) -> None:
        if not self._fits.is_valid(value):
            raise ValueError(f"{value!r} does not fit")

    def _send(self, asked: EventEnvelope) -> int:
        """Store a request, its expectation of a reply, and its delivery, leased at once."""
        now = asked.time.timestamp()
        body = json.dumps({"id": asked.id, "subject": asked.type, "deadline": now + LEASE_SECONDS, "others": []})
        seq = self._insert(asked)
        self._db.execute(EXPECT, (asked.id, asked.tenant_id, ANSWER, EventTopic.ACTION_RESULTS, now, body))
        place = self._db.execute(LEASE, (seq, asked.id, now + LEASE_SECONDS)).lastrowid
        assert place is not None
        return place

    def _answer(self, asked: EventEnvelope, place: int, answer: EventEnvelope) -> None:
        now = answer.time.timestamp()
        is_ours = self._db.execute(DISPOSE, (now, place)).rowcount == 1
        self._insert(answer)
        is_met = self._db.execute(MEET, (now, answer.id, asked.id)).rowcount == 1
        assert is_ours and is_met

    def _insert(self, event: EventEnvelope) -> int | None:
        told = json.dumps([event.type, event.topic, event.data], sort_keys=True, separators=(",", ":"))
        digest, time = hashlib.sha256(told.encode()).digest(), event.time.timestamp()
        row = (event.id, event.tenant_id, event.type, event.topic, digest, event.to_json(), time)
        return self._db.execute(INSERT_EVENT, row).lastrowid

    def _write(self, operation: Callable[[], Any]) -> asyncio.Future[Any]:
        if not self._waiting:
            self._loop.call_soon(self._commit)
        done: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append((operation, done))
        return done

    def _commit(self) -> None:
        operations, self._waiting = self._waiting, []
        self._db.execute("BEGIN IMMEDIATE")
        found = [operation() for operation, _ in operations]
        self._db.execute("COMMIT")
        for (_, done), value in zip(operations, found, strict=True):
            done.set_result(value)


async def measure(folder: Path, *, requests: int, in_flight: int, per: int = 1) -> Figures:
    async with Platform(store_url(folder)):
        pass
    kernel = Kernel(folder / "ours.db")
    await ask(kernel, in_flight, in_flight)
    with Lap() as lap:
        await ask(kernel, requests, in_flight)
    return lap.per(requests / per)


async def ask(kernel: Kernel, requests: int, in_flight: int) -> None:
    numbers = iter(range(requests))

    async def keep_asking() -> None:
        for _ in numbers:
            assert (await kernel.request({"say": "hello"}))["success"]

    await asyncio.gather(*(keep_asking() for _ in range(in_flight)))


if __name__ == "__main__":
    main(measure)
