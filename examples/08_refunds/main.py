"""Refunds up to $100 are paid at once. Over that a lead is asked, reminded after a day, and has two days.

    python examples/08_refunds/main.py                       an order of $900: asks you on a terminal, else approves
    python examples/08_refunds/main.py --answer reject       approve, reject, or none: no answer, and days pass
    python examples/08_refunds/main.py --order A1            $40: no question

Runs from a recording; SOORMA_CASSETTES=live asks the model instead.
"""

import argparse
import asyncio
import os
import sys
from decimal import Decimal
from pathlib import Path

from refunds import DEADLINE, REMIND_AFTER, Verdict, Wish, make_bell, make_orders, make_payments, make_planner

from soorma_ai import Platform
from soorma_ai.features.tracking.story import print_trace
from soorma_ai.testing import VirtualClock, cassette

RECORDING = Path(__file__).parents[2] / "cassettes" / "08_refunds"


async def refund(store_url: str, order_id: str, answer: str) -> int:
    """Pursue one refund. Its clock is moved by hand, so that two days pass in no time."""
    paid, rung, clock = dict[str, Decimal](), list[str](), VirtualClock()
    async with Platform(store_url, clock=clock) as platform:
        await platform.start(make_planner(), make_orders(), make_payments(paid), make_bell(rung))
        lead = platform.as_user(tenant_id="default", user_id="lena", roles={"lead"})
        plan = await platform.submit("refund.wanted", Wish(order_id=order_id, reason="It does not fit."))
        while question := await plan.next_wait():
            print(f"{question.message}\n  {question.proposed_event}: {question.proposed_data}")
            if answer == "none":
                await let_time_pass(clock, rung)
                break
            said = {"approved": choose(answer)}
            print(f"lena's answer: {await lead.answer(question.wait_id, said)}")
        verdict = await plan.result(as_=Verdict, timeout=60)
        print(f"reminders: {len(rung)}, paid: {sum(paid.values())}\n{verdict.status}: {verdict.message}")
        print_trace(await platform.trace(plan.plan_id))
    return 0


async def let_time_pass(clock: VirtualClock, rung: list[str]) -> None:
    """Let the reminder come, and then the deadline; in between the bell rings, since a day is longer than its lease."""
    await clock.advance(REMIND_AFTER)
    while not rung:  # noqa: ASYNC110  (the bell is a list)
        await asyncio.sleep(0.01)
    await clock.advance(DEADLINE - REMIND_AFTER)


def choose(answer: str) -> bool:
    if answer == "ask":
        return not sys.stdin.isatty() or input("approve? [y/n] ").strip().lower().startswith("y")
    return answer == "approve"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--order", choices=("A1", "A2"), default="A2", help="A1 is small, A2 is over the limit")
    options.add_argument("--answer", choices=("ask", "approve", "reject", "none"), default="ask")
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///refunds.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    given = options.parse_args()
    with cassette(RECORDING, repeat=True, allow_unplayed=True):
        return asyncio.run(refund(given.store, given.order, given.answer))


if __name__ == "__main__":
    sys.exit(main())
