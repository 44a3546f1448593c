import pytest
from postgres_server import Server, is_there, shared


@pytest.fixture(scope="session")
def postgres() -> Server:
    if not is_there():
        pytest.skip("no wheel that brings a PostgreSQL server is installed")
    return shared()
