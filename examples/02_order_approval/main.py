"""An order over $5,000 must be approved by a manager before it is paid: with a typed answer, a deadline, and a no.

    python examples/02_order_approval/main.py                    asks you on a terminal
    python examples/02_order_approval/main.py --answer reject    approve, reject, or none: let the deadline pass
    python examples/02_order_approval/main.py --amount 800       too small to be asked about

Runs from recordings; SOORMA_CASSETTES=live asks the model instead.
"""

import argparse
import asyncio
import os
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from agents import ManagerAnswer, manager_approval, shop
from planner import order_planner

from soorma_ai import PlanFailed, Platform, Wait
from soorma_ai.features.tracking.story import print_trace
from soorma_ai.testing.cassettes import cassette

RECORDING = Path(__file__).parents[2] / "cassettes" / "02_order_approval"


async def order(store_url: str, amount: Decimal, answer: str) -> int:
    approval = manager_approval(timedelta(seconds=2) if answer == "none" else timedelta(days=2))
    async with Platform(store_url) as platform:
        await platform.start(order_planner(), *shop(approval))
        maria = platform.as_user(tenant_id="default", user_id="maria", roles={"manager"})
        plan = await platform.submit(
            "order.received", {"order_id": "A1", "sku": "lathe", "quantity": 1, "amount": amount}
        )
        while answer != "none" and (question := await plan.next_wait()):
            reply = await decide(question, answer)
            outcome = await maria.answer(question.wait_id, reply.model_dump())
            print(f"maria's answer: {outcome} {outcome.detail}".rstrip())
        try:
            await plan.result(timeout=60)
        except PlanFailed as failure:
            print(failure, file=sys.stderr)
            return 3
        finally:
            print_trace(await platform.trace(plan.plan_id))
    return 0


async def decide(question: Wait, answer: str) -> ManagerAnswer:
    print(f"\n{question.message}\n  {question.proposed_event}: {question.proposed_data}")
    if answer == "ask":
        typed = await asyncio.to_thread(input, "Approve it? [y/n] ")
        return ManagerAnswer(approved=typed.strip().lower().startswith("y"))
    return ManagerAnswer(approved=answer == "approve")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--answer", choices=("ask", "approve", "reject", "none"), default=None)
    options.add_argument("--amount", type=Decimal, default=Decimal("12000.00"))
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///orders.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    given = options.parse_args()
    answer = given.answer or ("ask" if sys.stdin.isatty() else "approve")
    with cassette(RECORDING, allow_unplayed=True):
        return asyncio.run(order(given.store, given.amount, answer))


if __name__ == "__main__":
    sys.exit(main())
