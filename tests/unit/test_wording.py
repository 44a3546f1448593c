"""What a call of a model cost is told in one line."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from soorma_ai.core.report.lines import thought_of
from soorma_ai.domain.history import JournalEntry, JournalKey, Verdict
from soorma_ai.terminal.wording import call_facts

ENTRY = JournalEntry(
    key=JournalKey("planner", "event", 0),
    plan_id="plan",
    root_plan_id="plan",
    prompt_id="decide",
    prompt_version="1",
    prompt_hash="abc",
    offer_digest="def",
    model="openai/gpt-4o",
    raw="{}",
    value={},
    fault="",
    verdict=Verdict.ACCEPTED,
    refusal="",
    prompt_tokens=12_000,
    completion_tokens=50,
    cost_usd=0.25,
    latency_ms=1500,
    at=datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("cached", "told"), [(0, "12,000+50 tokens, $0.2500"), (11_000, "12,000+50 tokens (11,000 cached), $0.2500")]
)
def test_what_a_provider_had_kept_of_a_prompt_is_told(cached: int, told: str) -> None:
    assert told in call_facts(thought_of(replace(ENTRY, cached_tokens=cached)))
