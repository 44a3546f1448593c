"""Results of an upgrade check."""

from soorma_ai.features.trials.records import Outcome, PlanTrial
from soorma_ai.kernel.domain.contracts import BrokenWork
from soorma_ai.kernel.domain.records import Record


class EventChange(Record, frozen=True):
    """Change of an event from the version `before`. `kind` is "narrower", "changed" or "reworded"; a narrower one has
    `reasons`. `is_declared`: its definition names the former version in `replaces`."""

    agent: str
    event_name: str
    before: str
    version: str
    kind: str
    reasons: tuple[str, ...] = ()
    is_declared: bool = False


class UpgradeReport(Record, frozen=True):
    """Check of an upgrade: the changed events, the broken open work, and the plans with another last decision. `plans`
    is the number of open plans, `held` that of open approvals."""

    plans: int
    held: int
    changes: tuple[EventChange, ...] = ()
    broken: tuple[BrokenWork, ...] = ()
    trials: tuple[PlanTrial, ...] = ()

    @property
    def is_safe(self) -> bool:
        """Tell whether nothing breaks, and no last answer is refused."""
        return not self.broken and not any(one.first and one.first.outcome is Outcome.REFUSED for one in self.trials)
