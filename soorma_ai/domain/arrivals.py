"""Outcomes of events that came in."""

from dataclasses import dataclass
from typing import Literal

StrayReason = Literal["early", "late", "surplus", "ambiguous", "invalid"]


@dataclass(frozen=True)
class Stray:
    """An event that an expectation did not take: too early, too late, once too often, off its schema,
    or fitting several, of which the oldest took it."""

    event_id: str
    event_type: str
    reason: StrayReason
    expectation_id: str | None


@dataclass(frozen=True)
class Arrival:
    """The outcome of events that came in: agents with new work, client requests answered, strays."""

    agents: frozenset[str]
    answered: frozenset[str]
    strays: tuple[Stray, ...]
