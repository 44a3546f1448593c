"""States of plans in hand: those of a process alone with its file, changed with every commit instead of read again."""

from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plan_state import PlanRow, PlanState
from soorma_ai.kernel.rules.fold import fold

MOST_PLANS = 4_096
MOST_BYTES = 16 * 2**20
# Part of these bytes that one plan may take.
LARGEST_PART = 0.25


class PlanChanges(Struct):
    """Changes of plans' states by a transaction: rows by plan, with their bytes on disk, and the amounts of trees.
    `is_unknown`: states may be changed in another way too, and all are to be read again."""

    rows: dict[str, list[PlanRow]] = {}
    sizes: dict[str, int] = {}
    spent: dict[str, Spent] = {}
    is_unknown: bool = False

    def add(self, plan_id: str, row: PlanRow, size: int) -> None:
        if plan_id in self.rows:
            self.rows[plan_id].append(row)
            self.sizes[plan_id] += size
        else:
            self.rows[plan_id], self.sizes[plan_id] = [row], size


class PlanStates:
    """Cache of plans' states, of at most so many plans and bytes on disk; the plans used last stay. In memory a state
    takes some five times of these bytes.

    Every committed change of a kept plan has to come here, in the order of the commits.
    """

    def __init__(self, most: int = MOST_PLANS, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, tuple[PlanState, int]] = OrderedDict()
        self._bytes = 0
        self._spent: OrderedDict[str, Spent] = OrderedDict()

    def find(self, plan_id: str) -> PlanState | None:
        """Return a state without its `spent`."""
        found = self._kept.get(plan_id)
        if found is None:
            return None
        self._kept.move_to_end(plan_id)
        return found[0]

    def find_spent(self, root_plan_id: str) -> Spent | None:
        return self._spent.get(root_plan_id)

    def keep(self, state: PlanState, size: int) -> None:
        """Keep a state as it was read, of so many bytes on disk."""
        self._put(state, size)
        self._shrink()

    def keep_spent(self, root_plan_id: str, spent: Spent) -> None:
        self._spent[root_plan_id] = spent
        self._spent.move_to_end(root_plan_id)
        while len(self._spent) > self._most:
            self._spent.popitem(last=False)

    def apply(self, changes: PlanChanges) -> None:
        """Apply committed changes. A plan begins to be kept with its first row."""
        if changes.is_unknown:
            self.clear()
            return
        for root_plan_id, spent in changes.spent.items():
            self.keep_spent(root_plan_id, spent)
        for plan_id, rows in changes.rows.items():
            self._fold(plan_id, rows, changes.sizes[plan_id])
        self._shrink()

    def _fold(self, plan_id: str, rows: Sequence[PlanRow], size: int) -> None:
        known = self._kept.get(plan_id)
        for place, row in enumerate(rows):
            if isinstance(row, SavePlan) and row.expected_version is None:
                known, rows = (PlanState(row.plan), 0), rows[place + 1 :]
                break
        if known is not None:
            self._put(fold(known[0], rows), known[1] + size)

    def clear(self) -> None:
        self._kept.clear()
        self._spent.clear()
        self._bytes = 0

    def _put(self, state: PlanState, size: int) -> None:
        """Keep a state in the place of the one before. One that would push out most others is not kept."""
        _, before = self._kept.pop(state.plan.plan_id, (None, 0))
        self._bytes -= before
        if size <= self._most_bytes * LARGEST_PART:
            self._kept[state.plan.plan_id] = state, size
            self._bytes += size

    def _shrink(self) -> None:
        while self._kept and (len(self._kept) > self._most or self._bytes > self._most_bytes):
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size
