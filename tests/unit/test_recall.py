"""Recall of the ranking over two thousand published events."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from soorma_ai.kernel.rules.choices.index import EventIndex
from unit.material import rows

BENCH = Path(__file__).parents[2] / "bench" / "ranking.py"


@pytest.fixture(scope="module")
def recall_by_tokens() -> dict[int, float]:
    events, queries = rows("registry-dev/events.jsonl.gz"), rows("registry-dev/queries.jsonl.gz")
    bench: dict[str, Any] = runpy.run_path(str(BENCH))
    return bench["recall"](EventIndex([bench["definition_of"](row) for row in events]).rank, events, queries)


@pytest.mark.parametrize(("tokens", "part"), [(1_000, 0.93), (2_000, 0.945), (4_000, 0.955)])
def test_the_right_event_is_among_the_shown_lines(recall_by_tokens: dict[int, float], tokens: int, part: float) -> None:
    assert recall_by_tokens[tokens] >= part
