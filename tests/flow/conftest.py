from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kit import open_platform
from worst import IS_WORST

from soorma_ai import Platform
from soorma_ai.testing.clock import VirtualClock

# What is refused at the door is refused before there is an event that could come twice.
collect_ignore = ["test_platform.py"] if IS_WORST else []


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
