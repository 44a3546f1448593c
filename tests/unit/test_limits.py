from dataclasses import FrozenInstanceError, fields
from datetime import timedelta

import pytest

from soorma_ai.domain.limits import Limits
from soorma_ai.errors import ConfigError

COUNTS = ("max_actions", "max_llm_calls", "max_tokens", "max_cost_usd", "max_depth", "max_parallel")


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


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_none_switches_a_limit_off(name: str) -> None:
    assert getattr(Limits(**{name: None}), name) is None


@pytest.mark.parametrize(
    "name", [field.name for field in fields(Limits) if field.name not in ("deadline", "max_repeats")]
)
def test_zero_allows_nothing_and_less_than_zero_is_refused(name: str) -> None:
    assert getattr(Limits(**{name: 0}), name) == 0
    with pytest.raises(ConfigError, match=rf"Limits\({name}=-1\): give a number from 0, or None"):
        Limits(**{name: -1})


def test_a_decision_is_made_at_least_once() -> None:
    assert Limits(max_repeats=1).max_repeats == 1
    with pytest.raises(ConfigError, match=r"Limits\(max_repeats=0\): give a number from 1, or None"):
        Limits(max_repeats=0)


@pytest.mark.parametrize("span", [timedelta(0), timedelta(seconds=-1)])
def test_a_deadline_lies_ahead(span: timedelta) -> None:
    with pytest.raises(ConfigError, match="give a span above zero, or None"):
        Limits(deadline=span)


def test_limits_do_not_change_under_a_running_plan() -> None:
    with pytest.raises(FrozenInstanceError):
        Limits().max_actions = 1_000
