"""A sample of kills in and around a call unsafe to repeat."""

import random
from collections.abc import Iterator

import doubt_layer
import pytest
from test_crash import SEED, violations
from trial import Stage

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.mark.parametrize("program", [doubt_layer.DONE, doubt_layer.NOT_DONE], ids=lambda program: program.name)
def test_a_payment_unsafe_to_repeat_is_made_at_most_once_for_a_kill_at_any_point(
    stage: Stage, program: doubt_layer.Program
) -> None:
    print(f"SEED={SEED}")
    everywhere = doubt_layer.all_positions(stage)
    chosen = {*doubt_layer.IN_THE_MIDDLE, *random.Random(SEED).sample(everywhere, 6)}
    assert violations(doubt_layer.run(stage, program, sorted(chosen))) == []
