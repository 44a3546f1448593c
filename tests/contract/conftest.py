from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from apart import SAMPLE_ON_POSTGRES
from client_kit import WAYS, connect_client
from postgres_server import IS_MEANT, Server, is_there, shared
from store_kit import NOW, Backend

from soorma_ai import Platform, PlatformClient
from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.ports import Store

POSTGRES = "postgresql"
LASTING = ["sqlite file", POSTGRES]
BACKENDS = ["sqlite memory", *LASTING]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = [item for item in items if _is_left(item)]
    config.hook.pytest_deselected(items=left)
    gone = set(left)
    items[:] = [item for item in items if item not in gone]


def _is_left(item: pytest.Item) -> bool:
    if IS_MEANT:
        return any(f"[{name}" in item.name for name in BACKENDS if name != POSTGRES)
    return POSTGRES in item.name and not any(one in item.nodeid for one in SAMPLE_ON_POSTGRES)


@pytest.fixture(scope="session")
def postgres() -> Server:
    if not is_there():
        pytest.skip("no wheel that brings a PostgreSQL server is installed")
    return shared()


def make_backend(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Another store is another name here."""
    if name == POSTGRES:
        server: Server = request.getfixturevalue("postgres")
        return Backend(name, partial(PostgresStore, server.empty(), ALL_FEATURES))
    path = None if name == "sqlite memory" else tmp_path / "store.db"
    return Backend(name, partial(SqliteStore, path, ALL_FEATURES))


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return make_backend(request.param, request, tmp_path)


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A backend with data that outlive `close()`."""
    return make_backend(request.param, request, tmp_path)


@pytest.fixture
def commits() -> list[str]:
    """A list that grows by one with every commit signalled by the store."""
    return []


@pytest.fixture
async def store(backend: Backend, commits: list[str]) -> AsyncIterator[Store]:
    opened = backend.make()
    opened.notify(lambda is_leaving: commits.append("commit"), lambda arrival: None)
    await opened.open(NOW)
    yield opened
    await opened.close()


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    async with Platform(f"sqlite:///{tmp_path / 'shop.db'}") as opened:
        yield opened


@pytest.fixture(params=WAYS)
async def client(request: pytest.FixtureRequest, platform: Platform) -> AsyncIterator[PlatformClient]:
    async with connect_client(platform, request.param, tries=2) as reaching:
        yield reaching
