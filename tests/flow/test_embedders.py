"""An embedder is foreign code: after any of its faults memos are kept, and words find them."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from kit import as_time_passes

from soorma_ai import Platform
from soorma_ai.adapters.models.embedding import ByFunction
from soorma_ai.testing.clock import VirtualClock

Embed = Callable[[Sequence[str]], Any]


@asynccontextmanager
async def memory_platform(path: Path, embed: Embed, clock: VirtualClock) -> AsyncGenerator[Platform]:
    async with Platform(f"sqlite:///{path}", clock=clock, embedder=ByFunction("toy", embed)) as platform:
        yield platform


def good(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, float("cat" in text)] for text in texts]


def raising(error: BaseException) -> Embed:
    def embed(texts: Sequence[str]) -> Any:
        raise error

    return embed


async def cancelling(texts: Sequence[str]) -> Any:
    raise asyncio.CancelledError


async def exiting(texts: Sequence[str]) -> Any:
    raise SystemExit(3)


HARMS: dict[str, Embed] = {
    "a lost connection": raising(ConnectionError("away")),
    "a bug": raising(ValueError("x")),
    "an end of the process": raising(SystemExit(3)),
    "an end of the process, while awaited": exiting,
    "a cancellation": cancelling,
    "nothing": lambda texts: None,
    "no numbers": lambda texts: [["a", "b"]] * len(texts),
    "no direction": lambda texts: [[0.0, 0.0]] * len(texts),
    "too few": lambda texts: [],
    "too long": lambda texts: [[1.0] * 50_000] * len(texts),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
async def test_a_fault_of_the_embedder_is_logged_once_and_memos_are_found_by_words(
    path: Path, clock: VirtualClock, harm: Embed, caplog: pytest.LogCaptureFixture
) -> None:
    embeds: list[Embed] = [good]

    async def embed(texts: Sequence[str]) -> Any:
        found: Any = embeds[0](texts)
        if isinstance(found, Awaitable):
            found = await cast("Awaitable[Any]", found)
        return found

    async with memory_platform(path, embed, clock) as platform:
        memory = platform.memory
        await memory.store_knowledge("cats purr", key="a")
        embeds[0] = harm
        await memory.store_knowledge("dogs bark", key="b")
        assert [memo.key for memo in await memory.search_knowledge("cats")] == ["a"]
        assert [memo.key for memo in await memory.search_knowledge("dogs")] == ["b"]
        embeds[0] = good
        assert {memo.key for memo in await memory.search_knowledge("cat")} == {"a"}
    told = [record.getMessage().split()[0] for record in caplog.records]
    assert [name for name in told if name.startswith("embedder")] == ["embedder_away"]


async def never(texts: Sequence[str]) -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize("blocks", [False, True], ids=["a coroutine", "a plain function"])
async def test_a_hanging_embedder_is_left_alone_for_a_while(path: Path, clock: VirtualClock, *, blocks: bool) -> None:
    go_on, asked = threading.Event(), list[Any]()

    def hang(texts: Sequence[str]) -> Any:
        asked.append(texts)
        return good(texts) if len(asked) == 1 else never(texts) if not blocks else go_on.wait(60)

    async with memory_platform(path, hang, clock) as platform:
        memory = platform.memory
        await memory.store_knowledge("cats purr", key="a")
        search = asyncio.ensure_future(memory.search_knowledge("cats"))
        await as_time_passes(clock, lambda: _is_done(search))
        assert [memo.key for memo in await search] == ["a"]
        assert [memo.key for memo in await memory.search_knowledge("cats")] == ["a"]
        assert len(asked) == 2, "it is not waited for again"
        go_on.set()


async def _is_done(search: asyncio.Future[Any]) -> bool:
    return search.done()


async def test_a_plain_function_runs_off_the_loop_one_call_after_the_other(path: Path, clock: VirtualClock) -> None:
    at_once, most = list[int](), list[int]()
    here = threading.get_ident()

    def embed(texts: Sequence[str]) -> Any:
        assert threading.get_ident() != here
        at_once.append(1)
        most.append(len(at_once))
        found = good(texts)
        at_once.pop()
        return found

    async with memory_platform(path, embed, clock) as platform:
        await asyncio.gather(*(platform.memory.store_knowledge(f"cat {n}") for n in range(20)))
    assert most == [1] * 20
