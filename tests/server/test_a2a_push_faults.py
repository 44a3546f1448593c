"""A push loses no state and repeats none but under its id, with a fault or a kill at any call of the store.

SOORMA_PUSH_FAULTS=all takes every call, as `make pushes` does.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from a2a_kit import ASKS, COMPLETED
from kit import as_time_passes, kill_platform, open_platform, until
from receiver import Receiver
from test_a2a_push import A1, DONE, SHOWN, answer, shop, told

from soorma_ai import Platform
from soorma_ai.errors import StoreUnavailable
from soorma_ai.features.push.ports import PUSHES
from soorma_ai.features.push.records import TaskPush
from soorma_ai.gateways.a2a import A2AGateway
from soorma_ai.gateways.a2a.push_sender import LOOK_SECONDS
from soorma_ai.testing.clock import VirtualClock

CALLS = ("due_pushes", "claim_push", "save_push")
WAYS = ("fault before", "fault after", "kill before", "kill after")
ALL = [(way, point) for way in WAYS for point in range(1, 13)]
SAMPLE = ALL if os.environ.get("SOORMA_PUSH_FAULTS") == "all" else [("fault after", 4), ("kill before", 5)]


class FaultyCalls:
    """Calls of a store's pushes, with a fault at one of them; a killed process makes no further one."""

    def __init__(self, way: str, point: int) -> None:
        self.way, self.left = way, point
        self.struck = asyncio.Event()

    def install(self, platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
        pushes = platform.services.store.part(PUSHES)
        for name in CALLS:
            monkeypatch.setattr(pushes, name, self._wrap(getattr(pushes, name)))

    def _wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapped(*given: Any) -> Any:
            if self.struck.is_set() and self.way.startswith("kill"):
                raise StoreUnavailable("the process is dead")
            self.left -= 1
            if self.left != 0:
                return await call(*given)
            if self.way.endswith("after"):
                await call(*given)
            self.struck.set()
            raise StoreUnavailable("planted")

        return wrapped


@pytest.mark.parametrize(("way", "point"), SAMPLE)
async def test_a_push_outlives_a_fault_at_any_call(
    tmp_path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, way: str, point: int
) -> None:
    receiver, faulty = Receiver(200), FaultyCalls(way, point)
    try:
        first = open_platform(tmp_path / "push.db", clock)
        await first.__aenter__()
        faulty.install(first, monkeypatch)
        await first.start(A2AGateway(**SHOWN), *shop())
        maria = first.as_user(tenant_id="shop", user_id="maria")
        task_id = (await maria.submit("order.received", A1)).plan_id
        await until(first, maria.waits)
        push = TaskPush("shop", "maria", task_id, "c", "a2a", receiver.url, clock.now())
        await first.services.store.part(PUSHES).keep_push(push)
        await as_time_passes(clock, lambda: _is(faulty.struck.is_set() or ASKS in _states(receiver)), LOOK_SECONDS)
        if not faulty.struck.is_set():
            await answer(first)
        await as_time_passes(clock, lambda: _is(faulty.struck.is_set() or COMPLETED in _states(receiver)), LOOK_SECONDS)
        if way.startswith("kill"):
            await kill_platform(first)
            platform = open_platform(tmp_path / "push.db", clock)
            await platform.__aenter__()
            await platform.start(A2AGateway(**SHOWN), *shop(*[DONE] * 9))
        else:
            platform = first
        if await platform.as_user(tenant_id="shop", user_id="maria").waits():
            await answer(platform)
        await as_time_passes(clock, lambda: _is(COMPLETED in _states(receiver)), LOOK_SECONDS)
        await platform.__aexit__(None, None, None)
    finally:
        receiver.close()
    kinds = [kind for kind, _ in told(receiver.posts)]
    assert (kinds[0], kinds.count("task"), _states(receiver)[-1]) == ("task", 1, COMPLETED)
    assert len(kinds) == 1 or kinds[-2:] == ["artifact_update", "status_update"]
    bodies = {}
    for post in receiver.posts:
        assert bodies.setdefault(post.headers["webhook-id"], post.body) == post.body, "one id has one message"


def _states(receiver: Receiver) -> list[Any]:
    return [state for _, state in told(receiver.posts)]


async def _is(found: bool) -> bool:
    return found
