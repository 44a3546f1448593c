"""Random histories in any order: crashes, duplicates, forged and late events, people with two answers.

SOORMA_MACHINE_EXAMPLES is the number of histories, SOORMA_MACHINE_STEPS the length of each, and SEED their choice: the
same seed tries the same. A failure is shortened as far as possible, and printed as a program of rules.
"""

import os

import pytest
from hypothesis import settings

from machine.rules import Machine, histories

EXAMPLES = int(os.environ.get("SOORMA_MACHINE_EXAMPLES", "30"))
STEPS = int(os.environ.get("SOORMA_MACHINE_STEPS", "30"))
SEED = int(os.environ.get("SEED", "1"))


@pytest.mark.timeout(600)
def test_the_invariants_hold_after_every_step_of_random_histories() -> None:
    print(f"SEED={SEED} SOORMA_MACHINE_EXAMPLES={EXAMPLES} SOORMA_MACHINE_STEPS={STEPS}")
    histories(Machine, SEED, settings(max_examples=EXAMPLES, stateful_step_count=STEPS))
