"""A planner buys a spare part by the tools of two MCP servers. The order costs money, so a person approves it.

    python examples/10_mcp/main.py                    asks you on a terminal, else approves
    python examples/10_mcp/main.py --answer reject    approve or reject

Runs from a recording; SOORMA_CASSETTES=live asks the model instead. The servers are started as subprocesses.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from purchases import Need, Purchase, make_planner, make_server

from soorma_ai import Platform
from soorma_ai.features.tracking.story import print_trace
from soorma_ai.testing import cassette

RECORDING = Path(__file__).parents[2] / "cassettes" / "10_mcp"


async def buy(store_url: str, answer: str) -> int:
    async with Platform(store_url) as platform:
        await platform.start(make_planner(), make_server("catalogue"), make_server("orders"))
        boss = platform.as_user(tenant_id="default", user_id="bea")
        plan = await platform.submit("part.needed", Need(machine="lathe", quantity=2))
        while question := await plan.next_wait():
            print(f"{question.message}\n  {question.proposed_event}: {question.proposed_data}")
            print(f"bea's answer: {await boss.answer(question.wait_id, {'approved': choose(answer)})}")
        purchase = await plan.result(as_=Purchase, timeout=60)
        print(f"{purchase.status}: {purchase.message}")
        print_trace(await platform.trace(plan.plan_id))
    return 0


def choose(answer: str) -> bool:
    if answer == "ask":
        return not sys.stdin.isatty() or input("approve? [y/n] ").strip().lower().startswith("y")
    return answer == "approve"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--answer", choices=("ask", "approve", "reject"), default="ask")
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///purchases.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    given = options.parse_args()
    with cassette(RECORDING, repeat=True, allow_unplayed=True):
        return asyncio.run(buy(given.store, given.answer))


if __name__ == "__main__":
    sys.exit(main())
