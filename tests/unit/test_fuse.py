"""Fusion of several rankings into one."""

import pytest

from soorma_ai.kernel.rules.choices.index import fuse


@pytest.mark.parametrize(
    ("rankings", "most", "fused"),
    [
        ([], 3, []),
        ([("ab", 1)], 3, "ab"),
        ([("abc", 1), ("bca", 1)], 3, "bac"),
        ([("ax", 1), ("bx", 1)], 3, "xab"),
        ([("b", 1), ("a", 1)], 3, "ab"),
        ([("b", 2), ("a", 1)], 3, "ba"),
        ([("abc", 1)], 2, "ab"),
        ([("aab", 1), ("b", 1)], 3, "ba"),
    ],
)
def test_an_event_ranked_well_in_several_lists_comes_first(
    rankings: list[tuple[str, float]], most: int, fused: str
) -> None:
    assert fuse(rankings, most) == [*fused]
