"""The sentence about the day in a prompt."""

from datetime import date, timedelta

import pytest

from soorma_ai.kernel.rules.prompting.today import name_day, without_day


@pytest.mark.parametrize(
    ("day", "sentence"),
    [
        (date(2026, 11, 22), "Today is 2026-11-22 (Sunday)."),
        (date(2028, 2, 29), "Today is 2028-02-29 (Tuesday)."),
        (date(1, 1, 1), "Today is 0001-01-01 (Monday)."),
    ],
)
def test_a_day_is_named_by_date_and_weekday(day: date, sentence: str) -> None:
    assert name_day(day) == sentence


def test_prompts_of_two_days_are_equal_without_the_sentence() -> None:
    told = {without_day(f"Goal.\n{name_day(date(2026, 1, 1) + timedelta(days=n))}\nDecide.") for n in range(400)}
    assert len(told) == 1


@pytest.mark.parametrize(
    "text", ["Today is Sunday.", "today is 2026-11-22 (Sunday).", "Today is 2026-11-22.", "Today is 2026-11-22 (So)."]
)
def test_no_other_text_is_changed(text: str) -> None:
    assert without_day(text) == text
