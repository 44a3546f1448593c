"""States of plans in hand: those of a process alone with its file, changed with every commit instead of read again."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plan_state import PlanRow, PlanState
from soorma_ai.kernel.rules.fold import fold

MOST_PLANS = 4_096
MOST_BYTES = 16 * 2**20


class RowChange(Struct, frozen=True):
    """Change of a plan's state by a transaction, of so many bytes on disk."""

    plan_id: str
    row: PlanRow
    size: int = 0


class SpentChange(Struct, frozen=True):
    """Amounts of a plan's tree by now."""

    root_plan_id: str
    spent: Spent


StateChange = RowChange | SpentChange


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

    def apply(self, changes: Iterable[StateChange]) -> None:
        """Apply committed changes. A plan begins to be kept with its first row."""
        rows: dict[str, list[PlanRow]] = {}
        sizes: dict[str, int] = {}
        for change in changes:
            if isinstance(change, SpentChange):
                self.keep_spent(change.root_plan_id, change.spent)
                continue
            rows.setdefault(change.plan_id, []).append(change.row)
            sizes[change.plan_id] = sizes.get(change.plan_id, 0) + change.size
        for plan_id, changed in rows.items():
            self._fold(plan_id, changed, sizes[plan_id])
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
        _, before = self._kept.pop(state.plan.plan_id, (None, 0))
        self._kept[state.plan.plan_id] = state, size
        self._bytes += size - before

    def _shrink(self) -> None:
        while self._kept and (len(self._kept) > self._most or self._bytes > self._most_bytes):
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size
