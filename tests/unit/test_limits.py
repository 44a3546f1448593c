from datetime import timedelta

import pytest

from soorma_ai.errors import ConfigError, Paid
from soorma_ai.kernel.domain.limits import Limits, fill_in

COUNTS = [name for name in Limits.__struct_fields__ if name not in ("deadline", "max_repeats")]


def test_the_defaults_are_those_of_the_contract() -> None:
    assert Limits() == Limits(
        max_actions=20,
        max_llm_calls=60,
        max_tokens=500_000,
        max_cost_usd=None,
        deadline=timedelta(days=7),
        max_depth=5,
        max_parallel=32,
        max_repeats=3,
    )


@pytest.mark.parametrize("name", COUNTS)
def test_zero_allows_none_none_means_unlimited_and_a_negative_limit_is_refused(name: str) -> None:
    assert [getattr(Limits(**{name: value}), name) for value in (0, None)] == [0, None]
    with pytest.raises(ConfigError, match=rf"Limits\({name}=-1\): give a number from 0, or None"):
        Limits(**{name: -1})


def test_max_repeats_is_at_least_one_and_a_deadline_is_a_positive_span() -> None:
    assert Limits(max_repeats=1).max_repeats == 1
    assert Limits(max_repeats=None, deadline=None).deadline is None
    with pytest.raises(ConfigError, match=r"Limits\(max_repeats=0\): give a number from 1, or None"):
        Limits(max_repeats=0)
    for span in (timedelta(0), timedelta(seconds=-1)):
        with pytest.raises(ConfigError, match="give a span above zero, or None"):
            Limits(deadline=span)


def test_limits_are_immutable() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        Limits().max_actions = 1_000


@pytest.mark.parametrize(
    ("paid", "charged"),
    [
        (Paid(100, 20, 0.5), Paid(100, 20, 0.5)),
        (Paid(), Paid(0, 0, 0.0)),
        (Paid(uncounted=1), Paid(1000, 400, 2.0)),
        (Paid(uncounted=3), Paid(3000, 1200, 6.0)),
        (Paid(100, 20, 0.5, 1), Paid(1100, 420, 2.5)),
        (Paid(-5, 20, 0.5), Paid(1000, 400, 2.0)),
        (Paid(5, -20, 0.5), Paid(1000, 400, 2.0)),
        (Paid(100, 20, None), Paid(100, 20, 2.0)),
        (Paid(100, 20, -1.0), Paid(100, 20, 2.0)),
        (Paid(100, 20, float("nan")), Paid(100, 20, 2.0)),
    ],
)
def test_unknown_parts_of_a_calls_cost_are_charged_as_reserved(paid: Paid, charged: Paid) -> None:
    assert fill_in(paid, Paid(1000, 400, 2.0)) == charged


def test_cached_tokens_are_kept_apart() -> None:
    assert fill_in(Paid(100, 20, 1.0, cached_tokens=80), Paid(1000, 400, 2.0)) == Paid(100, 20, 1.0, cached_tokens=80)
    assert fill_in(Paid(uncounted=1, cached_tokens=0), Paid(1000, 400, 2.0)).cached_tokens == 0


def test_the_price_of_an_unpriced_model_stays_unknown() -> None:
    assert fill_in(Paid(100, 20, None), Paid(1000, 400, None)) == Paid(100, 20, None)
    assert fill_in(Paid(uncounted=1), Paid(1000, 400, None)) == Paid(1000, 400, None)


def test_limits_off_stops_nothing() -> None:
    off = Limits.off()
    assert [getattr(off, name) for name in Limits.__struct_fields__] == [None] * len(Limits.__struct_fields__)
