import os
import signal
from collections.abc import Generator

import pytest

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
