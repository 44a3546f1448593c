"""What stands in a tenant at one moment, for whoever watches it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field

from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.tracking import Backlog

# Ages by which open questions are counted.
AGES = (timedelta(hours=1), timedelta(days=1), timedelta(days=7))


class TenantStats(Struct, frozen=True):
    """Each count is of so many rows at most as were looked at. `questions` to people are counted by their kind and by
    how many of `AGES` they are older than. `unsent`: events that no bus has brought to the inboxes yet, the first of
    which was made at `unsent_since`."""

    backlogs: Sequence[Backlog] = ()
    questions: Mapping[tuple[ExpectationKind, int], int] = field(default_factory=dict[tuple[ExpectationKind, int], int])
    dead_letters: int = 0
    untaken: int = 0
    unsent: int = 0
    unsent_since: datetime | None = None
