"""The cost of a model call in one line."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from soorma_ai.features.tracking.lines import thought_of
from soorma_ai.features.tracking.plan_list import short_cost
from soorma_ai.kernel.domain.history import JournalEntry, JournalKey, Verdict
from soorma_ai.kernel.domain.limits import Limits, Reserved, Spent
from soorma_ai.surfaces.terminal.wording import call_facts, cost_so_far, spending

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
    ("spent", "told", "in_a_list"),
    [
        (Spent(), "$0.00", "$0.00"),
        (Spent(cost_usd=0.0123), "$0.0123", "$0.0123"),
        (Spent(cost_usd=None), "price unknown", "unknown"),
        (Spent(cost_usd=None, at_least_usd=1.5), "at least $1.50", ">$1.50"),
    ],
)
def test_an_unknown_price_is_shown_as_unknown_and_never_as_zero(spent: Spent, told: str, in_a_list: str) -> None:
    assert (cost_so_far(spent), short_cost(spent)) == (told, in_a_list)
    assert told in spending(spent, Limits()) and ("$0.00" in told) == (spent == Spent())


@pytest.mark.parametrize(
    ("spent", "limits", "told"),
    [
        (Spent(1, 2, 300, 0.5), Limits(max_cost_usd=2.0), "300 of 500,000 tokens, $0.5000 of $2.00 spent"),
        (Spent(1, 2, 300, None), Limits(), "300 of 500,000 tokens, price unknown"),
        (Spent(1, 2, 300, None, 0.25), Limits(), "300 of 500,000 tokens, at least $0.2500 spent"),
        (Spent(reserved=Reserved(1, 4345, 0.5)), Limits(), "$0.00 spent, 4,345 tokens and $0.5000 reserved"),
        (Spent(reserved=Reserved(1, 4345)), Limits(), "$0.00 spent, 4,345 tokens reserved"),
    ],
)
def test_spending_is_shown_apart_from_reservations(spent: Spent, limits: Limits, told: str) -> None:
    assert spending(spent, limits).endswith(told)


@pytest.mark.parametrize(
    ("cached", "told"), [(0, "12,000+50 tokens, $0.2500"), (11_000, "12,000+50 tokens (11,000 cached), $0.2500")]
)
def test_cached_tokens_of_a_prompt_are_shown(cached: int, told: str) -> None:
    assert told in call_facts(thought_of(replace(ENTRY, cached_tokens=cached)))
