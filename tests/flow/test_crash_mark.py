"""The crash test of a user's own flow: planted faults are named, with the commit and the effect."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.testing.crash.ledger import Ledger
from soorma_ai.testing.crash.proof import CrashFault, CrashTest

Handler = Callable[[InvocationContext, PlatformContext, Ledger], dict[str, object]]

SEEN = list[str]()


def once(request: InvocationContext, context: PlatformContext, ledger: Ledger) -> dict[str, object]:
    ledger.write("payment", key=request.idempotency_key, amount=5)
    return {"paid": True}


def twice(request: InvocationContext, context: PlatformContext, ledger: Ledger) -> dict[str, object]:
    ledger.write("payment", amount=5)
    return {"paid": True}


def by_the_clock(request: InvocationContext, context: PlatformContext, ledger: Ledger) -> dict[str, object]:
    return {"year": datetime.now(UTC).year}  # noqa: TID251  (the fault)


def from_memory(request: InvocationContext, context: PlatformContext, ledger: Ledger) -> dict[str, object]:
    SEEN.append(request.event_type)
    return {"place": len(SEEN)}


def by_the_order(request: InvocationContext, context: PlatformContext, ledger: Ledger) -> dict[str, object]:
    ledger.write("seat", key=request.idempotency_key)
    seats = [effect.key for effect in ledger.effects]
    return {"number": request.data["number"], "seat": seats.index(request.idempotency_key)}


def shows(
    handler: Handler, path: Path, requests: int = 2, *, at_once: bool = False, clock: bool = False, order: bool = False
) -> int:
    ledger = Ledger(path)

    async def test() -> None:
        till = Tool("till")

        @till.on_invoke("refund.pay.requested")
        async def pay(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
            return handler(request, context, ledger)

        async with Platform("sqlite://") as platform:
            await platform.start(till)
            ask = partial(platform.request, "refund.pay.requested", timeout=20)
            if at_once:
                await asyncio.gather(*(ask({"number": number}) for number in range(requests)))
            else:
                for number in range(requests):
                    await ask({"number": number})

    return CrashTest(test, {}, ledger).run(clock=clock)


def test_an_idempotent_handler_survives_a_death_at_every_commit(tmp_path: Path) -> None:
    assert shows(once, tmp_path / "ledger") >= 4


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (twice, ("till: refund.pay.requested is not idempotent", "payment(amount=5) 3 times", "a death before commit")),
        (by_the_clock, ("till: refund.pay.requested reads the wall clock", "by_the_clock, test_crash_mark.py:")),
        (from_memory, ("till: refund.pay.requested keeps state in memory", "`SEEN` in from_memory")),
    ],
)
def test_a_planted_fault_is_named_with_its_handler(handler: Handler, words: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(CrashFault) as fault:
        shows(handler, tmp_path / "ledger")
    for text in (*words, "found:", "wanted:", "cure:"):
        assert text in str(fault.value)


def test_a_harmless_read_of_the_clock_can_be_declared(tmp_path: Path) -> None:
    assert shows(by_the_clock, tmp_path / "ledger", clock=True) >= 4


def test_a_flow_with_a_result_by_the_order_of_its_deliveries_is_named(tmp_path: Path) -> None:
    with pytest.raises(CrashFault, match="depends on the order of its deliveries"):
        shows(by_the_order, tmp_path / "ledger", at_once=True)


def test_requests_at_once_survive_in_any_order(tmp_path: Path) -> None:
    assert shows(once, tmp_path / "ledger", at_once=True) >= 4
