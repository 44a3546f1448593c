"""Statistics of a tenant at one moment, for monitoring."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field

from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.tracking import Backlog

# Ages by which open questions are counted.
AGES = (timedelta(hours=1), timedelta(days=1), timedelta(days=7))


class TenantStats(Struct, frozen=True):
    """Counts of a tenant, each up to the number of examined rows. `questions` to people are counted by their kind and
    by the number of exceeded `AGES`. `unsent`: events still to be brought to the inboxes by a bus, the first of them
    made at `unsent_since`."""

    backlogs: Sequence[Backlog] = ()
    questions: Mapping[tuple[ExpectationKind, int], int] = field(default_factory=dict[tuple[ExpectationKind, int], int])
    dead_letters: int = 0
    untaken: int = 0
    unsent: int = 0
    unsent_since: datetime | None = None
