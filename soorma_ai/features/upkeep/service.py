"""Calls for retention and erasure."""

from collections.abc import Sequence
from datetime import timedelta

from soorma_ai.features.upkeep.retention import FINAL, FORGET, PRUNE, USUAL_AGE, forget, prune
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import Forgotten, Pruned
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.handling.handling import must_be_outside

CALLS = CallTable()


class UpkeepCalls(OperatorCalls):
    """Calls of an operator, with retention and erasure."""

    @CALLS.local(PRUNE)
    async def prune(
        self,
        older_than: timedelta = USUAL_AGE,
        statuses: Sequence[PlanStatus | str] = FINAL,
        *,
        dry_run: bool = False,
        after: str | None = None,
        batches: int | None = None,
    ) -> Pruned:
        """Remove plans of this tenant that ended, in one of `statuses`, longer ago than `older_than`, and old events
        outside of plans. A `dry_run` counts and removes nothing.

        Unfinished work stays, with its whole tree (`kept`). Removed data are forgotten: a repeated event, or a reused
        idempotency key, is new. Raise LocalProtocolError for less than 24 hours, and Forbidden without the operator's
        role. With `batches`, remove this number, from behind the place `after` on, and return the next place.
        """
        must_be_outside()
        async with self._changing("prune", f"older than {older_than}") as change:
            return await prune(
                change.services, self.person, older_than, statuses, dry_run=dry_run, after=after, batches=batches
            )

    @CALLS.local(FORGET)
    async def forget(self, user_id: str, *, batches: int | None = None) -> Forgotten:
        """Remove all data of a user of this tenant: plans, done or not, with their journals and events, sessions and
        memos; revoke their keys. Rows of keys and of the audit stay, and so do other people's and shared data. After a
        kill it continues by itself. With `batches`, remove this number. Raise Forbidden without the operator's role."""
        must_be_outside()
        async with self._changing("forget", user_id) as change:
            return await forget(change.services, self.person, user_id, batches=batches)


def upkeep_of(client: OperatorCalls) -> UpkeepCalls:
    """Return the calls of a client's person."""
    made = UpkeepCalls(client.services, client.person)
    made.caller = client.caller
    return made
