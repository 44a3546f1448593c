"""Findings about a call outside that may or may not have happened."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class OutsideEffects(StrEnum):
    """Effects of a handler outside the platform, and so of its repetition.

    PURE: nothing. KEYED: it passes its idempotency key on, so that a repetition is recognised there. AT_MOST_ONCE: it
    cannot, so it is repeated only after somebody has found out that it was not done.
    """

    PURE = "pure"
    KEYED = "keyed"
    AT_MOST_ONCE = "at_most_once"


@dataclass(frozen=True)
class Done:
    """Finding that it was done, with its result."""

    result: Any = None


@dataclass(frozen=True)
class NotDone:
    """Finding that it was not done, and may be done now."""


@dataclass(frozen=True)
class Failed:
    """Finding that it was tried and did not work; the requester is told so."""

    message: str


@dataclass(frozen=True)
class StillUnknown:
    """Nobody can say yet: a person is asked."""

    reason: str = ""


Finding = Done | NotDone | Failed | StillUnknown
