from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from store_kit import NOW, Backend

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.ports import Store

LASTING = ["sqlite file"]
BACKENDS = ["sqlite memory", *LASTING]


def made(name: str, tmp_path: Path) -> Backend:
    """Another store is another name here."""
    path = None if name == "sqlite memory" else tmp_path / "store.db"
    return Backend(name, partial(SqliteStore, path))


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return made(request.param, tmp_path)


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """One whose data outlive `close()`."""
    return made(request.param, tmp_path)


@pytest.fixture
def commits() -> list[str]:
    """Grows by one with every commit that the store tells of."""
    return []


@pytest.fixture
async def store(backend: Backend, commits: list[str]) -> AsyncIterator[Store]:
    opened = backend.make()
    opened.notify(lambda is_leaving: commits.append("commit"), lambda arrival: None)
    await opened.open(NOW)
    yield opened
    await opened.close()
