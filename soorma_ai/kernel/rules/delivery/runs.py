"""Runs of one owner: deliveries that stand in line, handled one after the other and committed together."""

from collections.abc import Iterable

from soorma_ai.kernel.domain.effects import AppendStep, Effect, SaveSubTask, SaveTask

# By then the commits that a run spares are little beside what is handled in it, and whoever waits has waited enough.
LONGEST_SECONDS = 0.1


def may_be_followed(recorded: Iterable[Effect]) -> bool:
    """Tell whether what stands behind a delivery may be handled before the commit of what this one recorded, beside the
    changes of its plan, its values and its memory. What is published or opened arrives, or is met, by the commit alone,
    and may be something for the next one to see."""
    return all(isinstance(effect, AppendStep | SaveTask | SaveSubTask) for effect in recorded)
