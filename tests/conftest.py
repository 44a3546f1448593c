import os
import signal
from collections.abc import Generator

import pytest
from nats_server import NatsServer

# A shell starts what it puts into the background with SIGINT ignored, and a child inherits that: then no Ctrl-C that a
# test sends would ever end it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """What the samples of the crash proof and the state machine's histories are drawn by."""
    return f"SEED={os.environ.get('SEED', '1')}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Spell out what is no Unicode in what a test printed: a worker could not send it."""
    report = yield
    report.sections = [(title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections]
    return report


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[NatsServer]:
    """The NATS server of this process, for whoever takes a namespace of its own and leaves it running."""
    server = NatsServer(tmp_path_factory.mktemp("nats"))
    server.start()
    yield server
    server.stop()
