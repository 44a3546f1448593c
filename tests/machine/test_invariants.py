"""Anything may happen, in any order: crashes, duplicates, forged and late events, people who answer twice.

SOORMA_MACHINE_EXAMPLES says how many histories are tried, SOORMA_MACHINE_STEPS how long each is, and SEED which ones:
the same seed tries the same. A failure is made as short as it can be, and printed as a program of rules.
"""

import os

import pytest
from hypothesis import settings

from machine.rules import Machine, histories

EXAMPLES = int(os.environ.get("SOORMA_MACHINE_EXAMPLES", "30"))
STEPS = int(os.environ.get("SOORMA_MACHINE_STEPS", "30"))
SEED = int(os.environ.get("SEED", "1"))


@pytest.mark.timeout(600)
def test_the_invariants_hold_whatever_happens() -> None:
    print(f"SEED={SEED} SOORMA_MACHINE_EXAMPLES={EXAMPLES} SOORMA_MACHINE_STEPS={STEPS}")
    histories(Machine, SEED, settings(max_examples=EXAMPLES, stateful_step_count=STEPS))
