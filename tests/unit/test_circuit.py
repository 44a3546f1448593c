"""The circuit of a provider: during an outage one caller probes it at growing intervals, and failures of one question
alone open no circuit."""

from datetime import timedelta

import pytest

from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.rules.decisions.circuit import (
    Circuit,
    SetupRefusal,
    fail,
    is_half_open,
    may_ask_again,
    may_insist,
    needs_other_form,
    rest_after,
    room_after,
    time_left,
)
from unit.kit import NOW


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(("rests", "pause"), [(0, 5), (1, 10), (2, 20), (5, 160), (6, 300), (7, 300), (1_000_000, 300)])
def test_rests_grow_up_to_five_minutes(rests: int, pause: float) -> None:
    assert rest_after(rests) == seconds(pause)


@pytest.mark.parametrize(
    ("failures", "open_for"),
    [
        ([("a", 0, None)], None),
        ([("a", 0, None), ("a", 1, None), ("a", 2, None)], None),
        ([("a", 0, None), ("b", 0, None)], 5),
        ([("a", 0, None), ("b", 0, None), ("c", 0, None), ("d", 0, None)], 5),
        ([("a", 0, None), ("b", 0, None), ("c", 5, None)], 15),
        ([("a", 0, None), ("b", 0, None), ("b", 5, None)], None),
        ([("a", 0, None), ("b", 0, None), ("b", 5, None), ("a", 6, None)], 16),
        ([("a", 0, 3600)], 3600),
        ([("a", 0, 3600), ("b", 1, 60), ("c", 1, None)], 3600),
        ([("a", 0, 60), ("b", 1, 3600)], 3601),
    ],
)
def test_a_circuit_opens_after_two_failed_callers_or_on_the_providers_retry_after(
    failures: list[tuple[str, float, float | None]], open_for: float | None
) -> None:
    circuit, now = Circuit(), NOW
    for who, at, asked in failures:
        now = NOW + seconds(at)
        circuit = fail(circuit, who, now, None if asked is None else seconds(asked))
    left = time_left(circuit, now)
    assert left == (None if open_for is None else NOW + seconds(open_for) - now)
    if open_for is not None:
        assert (time_left(circuit, NOW + seconds(open_for)), is_half_open(circuit, NOW + seconds(open_for))) == (
            None,
            True,
        )


@pytest.mark.parametrize(
    ("endings", "again", "room", "other"),
    [
        ("good", True, 10, False),
        ("good good", True, 10, False),
        ("good good good", False, 10, False),
        ("cut", True, 20, False),
        ("cut cut", False, 20, False),
        ("odd", True, 10, False),
        ("odd odd", False, 10, False),
        ("blank", True, 10, False),
        ("blank blank", True, 10, True),
        ("blank blank blank", False, 10, True),
        ("blank cut", True, 20, False),
        ("cut good blank", True, 20, False),
    ],
)
def test_the_endings_of_unusable_answers_decide_on_another_ask_its_room_and_its_form(
    endings: str, again: bool, room: int, other: bool
) -> None:
    unusable = [Ending(one) for one in endings.split()]
    assert (may_ask_again(unusable), room_after(unusable, 10), needs_other_form(unusable)) == (again, room, other)


def test_a_circuit_is_half_open_only_after_its_open_time() -> None:
    assert not is_half_open(Circuit(), NOW)
    assert not is_half_open(fail(Circuit(), "a", NOW, None), NOW)
    assert not is_half_open(fail(Circuit(), "a", NOW, seconds(1)), NOW)


@pytest.mark.parametrize(
    ("resumed", "after", "may"),
    [(None, 59, False), (None, 60, True), (0, 0, True), (7, 0, False), (8, 0, True), (6, 0, True)],
    ids=["new", "new, later", "resumed", "resumed just before the refusal", "after it", "clock set back"],
)
def test_a_refused_model_is_asked_again_after_a_minute_or_by_a_plan_resumed_since(
    resumed: int | None, after: float, may: bool
) -> None:
    refusal = SetupRefusal("no key", NOW + seconds(7), at=100.0)
    assert may_insist(refusal, None if resumed is None else NOW + seconds(resumed), 100.0 + after) is may
