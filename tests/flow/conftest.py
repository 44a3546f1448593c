from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit import open_platform
from worst import ON_NATS

from soorma_ai import Platform
from soorma_ai.testing.clock import VirtualClock


@pytest.fixture(autouse=True)
def bus_url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With SOORMA_TEST_BUS=nats, platforms that name no bus have one on NATS, in a namespace of each test."""
    if ON_NATS:
        monkeypatch.setenv("SOORMA_BUS_URL", request.getfixturevalue("nats_server").namespace_url())


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
