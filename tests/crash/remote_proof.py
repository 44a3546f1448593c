"""The crash proof of agents without a store: both processes are killed, again and again, and the end is compared with
an undisturbed run; then a bug is planted, and must be caught.

    python tests/crash/remote_proof.py --kills 300 --seed 1
"""

import argparse
import os
import random
import sys
import time

import remote_layer
from trial import Stage, Trial

KILLS = 300
# Most of a trial is waiting, for leases of killed processes.
AT_ONCE = 3 * (os.cpu_count() or 1)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill the process of the store, and that of its agents.")
    parser.add_argument("--kills", type=int, default=KILLS, help="go on until there were so many")
    parser.add_argument("--seed", type=int, default=1, help="of the random points")
    given = parser.parse_args()
    rng, begun, trials = random.Random(given.seed), time.monotonic(), list[Trial]()
    with Stage(AT_ONCE) as stage:
        known = remote_layer.undisturbed_run(stage)
        trials += remote_layer.run(stage, known.end, remote_layer.after_commits(known.passed))
        while sum(trial.kills for trial in trials) < given.kills:
            trials += remote_layer.run(stage, known.end, remote_layer.draw(known.passed, AT_ONCE, rng))
            print(f"{sum(trial.kills for trial in trials)} kills", file=sys.stderr, flush=True)
        bad = [trial for trial in trials if trial.violations]
        for trial in bad:
            print(f"VIOLATION at {trial.position}: {'; '.join(trial.violations)}", flush=True)
        shown = remote_layer.hunt(stage, known)
    print(f"planted: {remote_layer.WITHOUT_FENCE}: {f'caught at {shown}' if shown else 'NOT CAUGHT'}")
    print(
        f"crash-remote: {sum(trial.kills for trial in trials)} kills of either side, {len(trials)} trials, seed "
        f"{given.seed}, {len(bad)} violations, {sum(trial.absorbed for trial in trials)} calls absorbed by keys, "
        f"{int(bool(shown))}/1 planted bugs caught, {time.monotonic() - begun:.0f} s"
    )
    return 0 if shown and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
