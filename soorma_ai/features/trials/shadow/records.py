"""Records of shadows: sampled decisions, their calls, and the outcomes."""

from datetime import datetime

from msgspec import Struct

from soorma_ai.features.trials.records import ModelTrial, TrialCall
from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.ports.shadows import Shadow

_HEX = 8


class Sample(Struct, frozen=True):
    """Decision of a planner, chosen for its shadow."""

    tenant_id: str
    user_id: str
    planner: str
    entry: JournalEntry
    shadow: Shadow

    @property
    def decision_id(self) -> str:
        return decision_id_of(self.entry)


def decision_id_of(entry: JournalEntry) -> str:
    key = entry.key
    return derived_id("shadow", key.agent, key.cause_id, str(key.ordinal))


def is_chosen(decision_id: str, share: float) -> bool:
    """Tell whether a decision belongs to this share of all, by its id alone."""
    return int(decision_id[:_HEX], 16) < share * 16**_HEX


class ShadowCall(Struct, frozen=True):
    """Call of a model for a sample, within a budget of the day."""

    sample: Sample
    call: TrialCall

    @property
    def day(self) -> str:
        return self.call.at.date().isoformat()


class ShadowDay(Record, frozen=True):
    """US dollars of a planner's shadow on one day of UTC: costs, and reservations of calls without an end."""

    day: str
    usd: float


class ShadowReport(Record, frozen=True):
    """Outcomes of a planner's shadow, the newest first, each a trial of one decision. `unanswered` calls have no
    outcome: they are on their way, or ended in an error or a kill."""

    planner: str
    trials: tuple[ModelTrial, ...] = ()
    unanswered: int = 0
    days: tuple[ShadowDay, ...] = ()


class Outcome(Struct, frozen=True):
    """Outcome of a sample at a moment."""

    sample: Sample
    trial: ModelTrial
    at: datetime
