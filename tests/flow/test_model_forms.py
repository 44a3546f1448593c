"""Forms refused by a model are in the store for a day: the next process does not ask in vain, and doctor names them."""

from datetime import timedelta
from pathlib import Path

from kit import open_platform

from soorma_ai import Platform
from soorma_ai.kernel.runtime.handling.process.model_forms import KEPT_FOR, StoredForms, read_forms
from soorma_ai.testing.clock import VirtualClock

KNOWN = {"refused": {"json_schema": "Invalid schema"}, "room": "max_completion_tokens"}


def forms_of(platform: Platform) -> StoredForms:
    return StoredForms(platform.services.store, platform.services.clock)


async def test_forms_learned_by_one_process_are_known_to_the_next_for_a_day(path: Path, clock: VirtualClock) -> None:
    async with open_platform(path, clock) as platform:
        await forms_of(platform).keep("openai/next", KNOWN)
        await forms_of(platform).keep("openai/last", {"refused": {}, "room": None})
    async with open_platform(path, clock) as platform:
        loaded = await forms_of(platform).load()
        assert sorted(loaded) == ["openai/last", "openai/next"]
        assert KNOWN.items() <= loaded["openai/next"].items()
        await clock.advance(KEPT_FOR - timedelta(seconds=1))
        assert "openai/next" in await read_forms(platform.services.store, clock.now())
        await clock.advance(2)
        assert await forms_of(platform).load() == {}


async def test_a_form_learned_again_counts_for_another_day(platform: Platform, clock: VirtualClock) -> None:
    await forms_of(platform).keep("openai/next", KNOWN)
    await clock.advance(KEPT_FOR - timedelta(hours=1))
    await forms_of(platform).keep("openai/next", {**KNOWN, "room": None})
    await clock.advance(timedelta(hours=2))
    assert (await forms_of(platform).load())["openai/next"]["room"] is None
