"""Choices that are likely to be taken: by words, by meaning, by what a plan has taken already."""

from collections.abc import Sequence

from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.rules.choices.fuse import fuse
from soorma_ai.kernel.rules.choices.index import Query
from soorma_ai.kernel.rules.choices.offer import Offer
from soorma_ai.kernel.rules.choices.share import share
from soorma_ai.kernel.rules.prompting.history import StepLines

MOST_RANKED = 400

_USED = (StepKind.PUBLISHED, StepKind.DELEGATED, StepKind.HELD, StepKind.ASKED)


def rank(offer: Offer, query: Query | str, meant: Sequence[str] = ()) -> list[str]:
    """Return the likely choices, best first. `meant` are events found by their meaning, which count as much as those
    that are found by words."""
    found = offer.index.rank(query, MOST_RANKED)
    ranked = fuse([(found, 1.0), (meant, 1.0)], MOST_RANKED) if meant else found
    return _choices(offer, share(ranked, lambda event: offer.agents.get(event, "")))


def events_used(history: Sequence[StepLines]) -> list[str]:
    """Return the events that a plan has asked or waited for, the newest first."""
    return [*dict.fromkeys(step.name for step in reversed(history) if step.kind in _USED)]


def choices_of(history: Sequence[StepLines], offer: Offer) -> list[str]:
    """Return the choices that a plan has taken, the newest first."""
    return _choices(offer, events_used(history))


def _choices(offer: Offer, events: Sequence[str]) -> list[str]:
    return [choice for event in events for choice in offer.choices_about.get(event, ())]
