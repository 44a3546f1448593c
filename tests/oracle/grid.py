"""The oracle by every wire, in every form, at several rates and seeds: `grid.py [--wire NAME] [--every N]`; with
`--actions`, plans varied by each action, by one wire and with one seed.

Prints the faults and a line for each run; exits with 0 only if all passed.
"""

import argparse
import itertools
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from actions import PLAYS
from material import is_there
from run import FORMS, PLANS, Options, Outcome, run, tell_wrong
from wires import WIRES

RATES = (0.25, 0.6)
SEEDS = (1, 2, 3)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wire", choices=WIRES, action="append", help="only this one; may be given several times")
    parser.add_argument("--actions", action="store_true", help="play the plans by each action")
    parser.add_argument("--every", type=int, default=1, help="only every so many plans")
    given = parser.parse_args(arguments)
    folder = Path(os.environ.get("PLANS") or PLANS)
    if not is_there(folder):
        print(f"no plans in {folder}: give PLANS=folder with plans.jsonl, events.jsonl and policies.json")
        return 2
    actions, wires, seeds = ((*PLAYS,), ("direct",), SEEDS[:1]) if given.actions else (("",), WIRES, SEEDS)
    runs = itertools.product(actions, given.wire or wires, FORMS, RATES, seeds)
    passed = [
        run_one(Options(folder, rate=rate, seed=seed, wire=wire, form=form, action=action, every=given.every))
        for action, wire, form, rate, seed in runs
    ]
    print(f"{sum(passed)}/{len(passed)} runs passed")
    return 0 if all(passed) else 1


def run_one(options: Options) -> bool:
    started = time.perf_counter()
    outcome, refused = run(options)
    tell_wrong(outcome, refused)
    print(line_of(options, outcome, refused, time.perf_counter() - started), flush=True)
    return outcome.passed(options) and refused.passed(options)


def line_of(options: Options, outcome: Outcome, refused: Outcome, seconds: float) -> str:
    return (
        f"{options.action:<11} {options.wire:<9} {options.form:<11} RATE={options.rate:<4} SEED={options.seed}: "
        f"{outcome.exact}/{outcome.plans} plans exact, {refused.exact}/{refused.plans} refused, "
        f"{outcome.invalid + refused.invalid} invalid events, {outcome.corrupted.total()} corrupted answers, "
        f"{outcome.calls + refused.calls} requests, {seconds:.1f} s"
    )


if __name__ == "__main__":
    logging.getLogger("soorma_ai").setLevel(logging.CRITICAL)
    sys.exit(main())
