import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit import open_platform
from msgspec.structs import replace
from worst import ON_NATS

import soorma_ai.platform
from soorma_ai import Platform
from soorma_ai.settings import Settings, read_settings
from soorma_ai.testing.clock import VirtualClock


@pytest.fixture(autouse=True)
def bus_url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With SOORMA_TEST_BUS=nats, platforms that name no bus have one on NATS, in a namespace of each test and of each
    of its stores: virtual clocks of one seed give two stores the same id, as no real clock does."""
    if not ON_NATS:
        return
    url: str = request.getfixturevalue("nats_server").namespace_url()
    monkeypatch.setenv("SOORMA_BUS_URL", url)

    def read(store_url: str | None = None, bus_url: str | None = None) -> Settings:
        settings = read_settings(store_url, bus_url)
        if settings.bus_url != url:
            return settings
        return replace(settings, bus_url=f"{url}-{hashlib.sha256(settings.store_url.encode()).hexdigest()[:12]}")

    monkeypatch.setattr(soorma_ai.platform, "read_settings", read)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "flow.db"


@pytest.fixture
async def platform(path: Path, clock: VirtualClock) -> AsyncIterator[Platform]:
    async with open_platform(path, clock) as opened:
        yield opened
