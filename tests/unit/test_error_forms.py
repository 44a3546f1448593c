"""Errors cross a process border with their class, message and fields."""

from datetime import timedelta

import pytest

import soorma_ai.errors
from soorma_ai.api.error_forms import class_of, fields_of, rebuild_error
from soorma_ai.errors import (
    Held,
    LeaseLost,
    LimitExceeded,
    NotFound,
    Overloaded,
    PlanCancelled,
    SoormaError,
    StoreUnavailable,
    TransientError,
    VersionConflict,
)
from soorma_ai.kernel.domain.values import message_of

ERRORS = [
    NotFound("no plan"),
    LimitExceeded("max_actions", "20 of 20"),
    PlanCancelled("plan-1", "changed our mind"),
    Held("order.placed", "wait-1", "request-1"),
    Overloaded("too much", retry_after=timedelta(seconds=1.5)),
    StoreUnavailable("away"),
    LeaseLost("gone", counts=True),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_on_the_other_side(error: SoormaError) -> None:
    kind = class_of(error.code)
    assert kind is type(error)
    rebuilt = rebuild_error(kind, str(error), fields_of(error))
    assert (type(rebuilt), str(rebuilt), vars(rebuilt)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("code", [None, 7, "", "nonsense", "of_elsewhere", ["error"]])
def test_an_unknown_code_names_no_class(code: object) -> None:
    assert class_of(code) is None


@pytest.mark.parametrize("asked", ["soon", True, None, float("nan"), float("inf"), 1e300, [1]])
def test_an_invalid_retry_after_is_none(asked: object) -> None:
    error = rebuild_error(Overloaded, "too much", {"retry_after": asked})  # type: ignore[dict-item]
    assert isinstance(error, TransientError) and error.retry_after is None


def test_a_negative_retry_after_is_zero() -> None:
    error = rebuild_error(Overloaded, "too much", {"retry_after": -5})
    assert isinstance(error, TransientError) and error.retry_after == timedelta(0)


def test_every_error_class_is_rebuilt_from_its_message_alone() -> None:
    kinds = [kind for kind in vars(soorma_ai.errors).values() if isinstance(kind, type)]
    ours = [kind for kind in kinds if issubclass(kind, SoormaError)]
    assert len(ours) > 25
    for kind in ours:
        rebuilt = rebuild_error(kind, "said", {})
        assert (type(rebuilt), str(rebuilt)) == (kind, "said")
        assert message_of(rebuilt) == "said"
        assert not isinstance(rebuilt, VersionConflict) or rebuilt.counts
