from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit import open_platform

from soorma_ai import Platform
from soorma_ai.testing.clock import VirtualClock


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
