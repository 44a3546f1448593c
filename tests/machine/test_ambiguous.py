"""An order reaches the undisturbed end despite writes reported as failed, and a bus with doubles, delays and
denials."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from machine.faults import UNSAFE_WAYS, Fault, FaultyBus, FaultyStore, StoreFault, Way
from machine.order import Run, pursue

# A fault takes a pause, a lease, or the time until the next look; never the plan's own time.
AT_MOST = timedelta(minutes=3)


def run_with_store_fault(fault: StoreFault | None) -> tuple[Run, list[str]]:
    stores: list[FaultyStore] = []

    def wrap(store: Any, bus: Any, clock: Any) -> Any:
        stores.append(FaultyStore(store, fault))
        return stores[-1], bus

    with TemporaryDirectory() as folder:
        return pursue(Path(folder) / "order.db", wrap), stores[-1].written


def run_with_bus_faults(seed: int, ways: tuple[Way, ...]) -> tuple[Run, list[Way]]:
    buses: list[FaultyBus] = []

    def wrap(store: Any, bus: Any, clock: Any) -> Any:
        buses.append(FaultyBus(bus, clock, seed, ways))
        return store, buses[-1]

    with TemporaryDirectory() as folder:
        return pursue(Path(folder) / "order.db", wrap), buses[-1].took


def differences(found: Run, wanted: Run, at_most: timedelta = AT_MOST) -> Iterator[str]:
    for name, value in vars(wanted.end).items():
        if getattr(found.end, name) != value:
            yield f"{name}: found {getattr(found.end, name)}, wanted {value}"
    yield from found.wrong
    if found.took > at_most:
        yield f"it took {found.took}"


@pytest.fixture(scope="module")
def undisturbed() -> tuple[Run, list[str]]:
    run, written = run_with_store_fault(None)
    assert run.end.plan.startswith('["completed"')
    assert (run.took, run.asked, run.wrong) == (timedelta(0), 1, ())
    return run, written


@pytest.mark.parametrize("what", Fault)
def test_an_order_survives_a_failed_or_falsely_failed_write(undisturbed: tuple[Run, list[str]], what: Fault) -> None:
    wanted, written = undisturbed
    wrong: dict[str, list[str]] = {}
    for position, name in enumerate(written, 1):
        found, _ = run_with_store_fault(StoreFault(position, what))
        told = list(differences(found, wanted))
        if found.asked > 1 and not (what is Fault.NOT_MADE and name == "settle"):
            told.append(f"a question was asked {found.asked} times")
        if told:
            wrong[f"{name}, write {position}"] = told
    assert wrong == {}


@pytest.mark.parametrize(
    ("ways", "seeds", "at_most"),
    [(UNSAFE_WAYS, range(1, 31), AT_MOST), ((Way.GOOD, Way.GOOD, Way.LOST), range(1, 11), timedelta(minutes=15))],
    ids=["doubles, delays, reorders and denies", "loses"],
)
def test_faults_of_the_bus_change_only_the_duration_of_an_order(
    undisturbed: tuple[Run, list[str]], ways: tuple[Way, ...], seeds: range, at_most: timedelta
) -> None:
    wrong: dict[int, list[str]] = {}
    tried: set[Way] = set()
    for seed in seeds:
        found, took = run_with_bus_faults(seed, ways)
        tried.update(took)
        if told := list(differences(found, undisturbed[0], at_most)):
            wrong[seed] = told
    assert wrong == {}
    assert tried == set(ways)
