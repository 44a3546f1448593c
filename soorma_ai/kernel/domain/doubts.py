"""Findings about an outside call of unknown outcome."""

from enum import StrEnum
from typing import Any

from msgspec import Struct


class OutsideEffects(StrEnum):
    """Effects of a handler outside the platform, and so of its repetition.

    PURE: nothing. KEYED: it passes its idempotency key on, to make a repetition recognisable there. AT_MOST_ONCE: it
    has no such key, and is repeated only after the finding that nothing was done.
    """

    PURE = "pure"
    KEYED = "keyed"
    AT_MOST_ONCE = "at_most_once"


class Done(Struct, frozen=True):
    """Finding: it was done, with its result."""

    result: Any = None


class NotDone(Struct, frozen=True):
    """Finding: it was not done, and may be done now."""


class Failed(Struct, frozen=True):
    """Finding: it was tried, and failed; the requester gets this failure."""

    message: str


class StillUnknown(Struct, frozen=True):
    """Finding: unknown so far; a person is asked."""

    reason: str = ""


Finding = Done | NotDone | Failed | StillUnknown
