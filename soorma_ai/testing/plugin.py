"""The pytest plugin: tests call no models, and answers can be recorded.

It is loaded by every pytest run of an environment with this package, and imports nothing in advance.
"""

import os
import re
from collections.abc import Generator
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soorma_ai.testing.cassettes import Cassette
    from soorma_ai.testing.crash.ledger import Ledger

LIVE = "live_model"
CRASH = "soorma_crash"
RECORD = "--soorma-record"
PATIENCE = "soorma_model_patience"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("soorma")
    group.addoption(
        RECORD,
        nargs="?",
        const="record",
        choices=("record", "changed"),
        help="call the models and record their answers; `=changed`: only for requests without a recording",
    )
    parser.addini(
        PATIENCE, "seconds that a model may be away while a test waits for its plan; 0: no bound", default="10"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{LIVE}: this test may call a real model")
    config.addinivalue_line(
        "markers", f"{CRASH}(clock=False, order=False): die before and after each commit of this test"
    )


def _records(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption(RECORD) is not None


@pytest.fixture(autouse=True)
def soorma_forbids_model_calls(request: pytest.FixtureRequest) -> Generator[None]:
    """Make a call to another machine a ConfigError, also in the test's child processes."""
    if _records(request) or request.node.get_closest_marker(LIVE):
        yield
        return
    from soorma_ai.adapters.models.guard import forbid_model_calls

    with forbid_model_calls():
        yield


@pytest.fixture(autouse=True)
def soorma_bounds_patience(request: pytest.FixtureRequest) -> Generator[None]:
    """Make a wait for a plan raise the model's own reason after a while of its absence."""
    seconds = _patience(str(request.config.getini(PATIENCE)))
    if seconds <= 0:
        yield
        return
    from soorma_ai.kernel.runtime.handling.process.circuits import bound_patience

    with bound_patience(seconds):
        yield


def _patience(given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise pytest.UsageError(f"{PATIENCE} = {given}: give a number of seconds, or 0 for no bound") from None


@pytest.fixture
def soorma_cassette(request: pytest.FixtureRequest) -> "Generator[Cassette]":
    """Replay `cassettes/<test file>/<test>.yaml` next to the test's file; with --soorma-record, record it."""
    from soorma_ai.testing.cassettes import cassette

    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")
    path = request.path.parent / "cassettes" / request.path.stem / f"{name}.yaml"
    with cassette(path, mode=request.config.getoption(RECORD) or "replay") as played:
        assert played is not None
        yield played


@pytest.fixture
def soorma_ledger(tmp_path: Path) -> "Ledger":
    """Return the ledger of effects outside; a crash test compares them, and each of its lives finds them."""
    from soorma_ai.testing.crash.ledger import Ledger

    return Ledger(tmp_path / "soorma-ledger")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Put the crash test in the place of a marked test."""
    if (mark := item.get_closest_marker(CRASH)) is not None and isinstance(item, pytest.Function):
        setattr(item, "runtest", partial(_crash, item, **mark.kwargs))  # noqa: B010  (a method by its declaration)


def _crash(item: pytest.Function, *, clock: bool = False, order: bool = False) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("a crash test needs os.fork, and this system has none")
    from soorma_ai.testing.crash.ledger import Ledger
    from soorma_ai.testing.crash.proof import CrashFault, CrashTest

    given = {name: item.funcargs[name] for name in signature(item.obj).parameters if name in item.funcargs}
    ledger = next((one for one in item.funcargs.values() if isinstance(one, Ledger)), Ledger(Path()))
    found = ""
    try:
        CrashTest(item.obj, given, ledger).run(clock=clock, order=order)
    except CrashFault as fault:
        found = str(fault)
    if found:  # outside of the handler, so the message comes once
        pytest.fail(found, pytrace=False)
