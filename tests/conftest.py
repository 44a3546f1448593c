import os
import signal
from collections.abc import Generator
from pathlib import Path

import hands
import nats_server as nats_servers
import pytest
from nats_server import NatsServer

# A shell starts background commands with SIGINT ignored, and children inherit this: a test's Ctrl-C would never end
# them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Only runs in another place load its modules.
IS_ELSEWHERE = bool({"SOORMA_TEST_STORE", "SOORMA_TEST_BUS"} & os.environ.keys())


def pytest_configure() -> None:
    hands.compare()
    if IS_ELSEWHERE:
        import places

        places.stand_in()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if IS_ELSEWHERE:
        import apart

        apart.mark(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Give back the databases of the test, after the end of its fixtures."""
    yield
    if IS_ELSEWHERE and isinstance(item, pytest.Function):
        import postgres_server

        if isinstance(folder := item.funcargs.get("tmp_path"), Path):
            postgres_server.forget(folder)


def pytest_report_header() -> str:
    """Report the seeds of the crash proof's samples and the state machine's histories."""
    return f"SEED={os.environ.get('SEED', '1')}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape invalid Unicode in the output of a test, since a worker could not send it."""
    report = yield
    report.sections = [(title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections]
    return report


@pytest.fixture(scope="session")
def nats_server() -> NatsServer:
    return nats_servers.shared()
