"""The day of a decision, in one sentence: the only word about time in a prompt, for planners that are told it."""

import re
from datetime import date

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SENTENCE = re.compile(rf"Today is [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}} \((?:{'|'.join(_WEEKDAYS)})\)\.")


def name_day(day: date) -> str:
    """Return the sentence that a model is told."""
    return f"Today is {day.isoformat()} ({_WEEKDAYS[day.weekday()]})."


def without_day(text: str) -> str:
    """Return a text in which that sentence names no day, so that prompts of two days can be compared."""
    return _SENTENCE.sub("Today is some day.", text)
