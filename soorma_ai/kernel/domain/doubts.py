"""Findings about a call outside that may or may not have happened."""

from enum import StrEnum
from typing import Any

from msgspec import Struct


class OutsideEffects(StrEnum):
    """Effects of a handler outside the platform, and so of its repetition.

    PURE: nothing. KEYED: it passes its idempotency key on, so that a repetition is recognised there. AT_MOST_ONCE: it
    cannot, so it is repeated only after somebody has found out that it was not done.
    """

    PURE = "pure"
    KEYED = "keyed"
    AT_MOST_ONCE = "at_most_once"


class Done(Struct, frozen=True):
    """Finding that it was done, with its result."""

    result: Any = None


class NotDone(Struct, frozen=True):
    """Finding that it was not done, and may be done now."""


class Failed(Struct, frozen=True):
    """Finding that it was tried and did not work; the requester is told so."""

    message: str


class StillUnknown(Struct, frozen=True):
    """Nobody can say yet: a person is asked."""

    reason: str = ""


Finding = Done | NotDone | Failed | StillUnknown
