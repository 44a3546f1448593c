from collections.abc import Sequence

import pytest

from soorma_ai.adapters.sqlite.file.wal import MOST_LOOKS, lasting_damage


@pytest.mark.parametrize(
    ("looks", "damage"),
    [
        ([""], ""),
        (["frame 1", "frame 1"], "frame 1"),
        (["frame 81", ""], ""),  # half written at the first look
        (["frame 1", "frame 9", "frame 9"], "frame 9"),
        ([f"frame {number}" for number in range(MOST_LOOKS + 1)], ""),
    ],
)
def test_a_log_is_damaged_if_two_looks_in_a_row_find_the_same_fault(looks: Sequence[str], damage: str) -> None:
    left = iter(looks)
    assert lasting_damage(lambda: next(left)) == damage
    assert next(left, None) is None, "no more looks than needed"
