"""States of plans in hand: changed with every commit of this process instead of read again.

Beside other processes a state has the place of its plan's row, and stands for the rows as long as that is the place of
the row. Each commit moves the places of the plans that it changes.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from msgspec import Struct

from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plan_state import HandlingEnd, PlanRow, PlanState
from soorma_ai.kernel.rules.fold import fold

MOST_PLANS = 4_096
MOST_BYTES = 16 * 2**20
# Part of these bytes that one plan may take.
LARGEST_PART = 0.25


class PlanPlace(NamedTuple):
    """Place of a plan: its number in the order of all plans, given once, and its number of changes."""

    seq: int
    number: int


class PlanMove(NamedTuple):
    """Move of a plan's place by a transaction; a new plan has none `before`."""

    before: PlanPlace | None
    after: PlanPlace


class StateInHand(Struct, frozen=True):
    """State of a plan without its `spent`, of so many bytes on disk. Without a place no other process changes it."""

    state: PlanState
    size: int
    place: PlanPlace | None = None


def oldest_first(opened: Mapping[str, Expectation]) -> Mapping[str, Expectation]:
    """Return open expectations oldest first."""
    if len(opened) < 2:
        return opened
    return {one.id: one for one in sorted(opened.values(), key=lambda one: (one.opened_at, one.id))}


class PlanChanges(Struct):
    """Changes of plans' states by a transaction: rows by plan, with their bytes on disk, moves of places, and the
    amounts of trees. `others` are plans changed in another way. `is_unknown`: any plan may be. `era` is that of the
    states at its begin."""

    rows: dict[str, list[PlanRow]] = {}
    sizes: dict[str, int] = {}
    moves: dict[str, PlanMove] = {}
    spent: dict[str, Spent] = {}
    others: set[str] = set()
    is_unknown: bool = False
    era: int = 0

    def add(self, plan_id: str, row: PlanRow, size: int) -> None:
        if plan_id in self.rows:
            self.rows[plan_id].append(row)
            self.sizes[plan_id] += size
        else:
            self.rows[plan_id], self.sizes[plan_id] = [row], size

    def move(self, plan_id: str, after: PlanPlace, *, is_new: bool = False) -> None:
        """Note a move by one, or the first place of a new plan."""
        known = self.moves.get(plan_id)
        before = known.before if known else None if is_new else PlanPlace(after.seq, after.number - 1)
        self.moves[plan_id] = PlanMove(before, after)

    def extend(self, later: "PlanChanges") -> None:
        """Add the changes of a later operation of the transaction."""
        for plan_id, rows in later.rows.items():
            for row in rows:
                self.add(plan_id, row, 0)
            self.sizes[plan_id] += later.sizes[plan_id]
        for plan_id, move in later.moves.items():
            known = self.moves.get(plan_id)
            self.moves[plan_id] = PlanMove(known.before, move.after) if known else move
        self.spent.update(later.spent)
        self.others |= later.others
        self.is_unknown |= later.is_unknown

    def unmoved(self) -> list[str]:
        """Return the changed plans without a move so far."""
        changed = {plan_id for plan_id, rows in self.rows.items() if not _are_ends(rows)}
        return sorted((changed | self.others) - self.moves.keys())


def _are_ends(rows: Sequence[PlanRow]) -> bool:
    """Tell whether these are ends of handlings alone: no row of a table is changed by them."""
    return all(type(row) is HandlingEnd for row in rows)


class PlanStates:
    """Cache of plans' states, of at most so many plans and bytes on disk; the plans used last stay. In memory a state
    takes some five times of these bytes.

    Every committed change of a kept plan has to come here, in the order of the commits; beside other processes, every
    change by this one. `era` counts the times at which all states were given up.
    """

    def __init__(self, most: int = MOST_PLANS, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, StateInHand] = OrderedDict()
        self._bytes = 0
        self._spent: OrderedDict[str, Spent] = OrderedDict()
        self._eras = count(1)
        self.era = 0
        self._era = 0

    def find(self, plan_id: str) -> StateInHand | None:
        if self._era != self.era:
            self._forget_earlier()
        found = self._kept.get(plan_id)
        if found is not None:
            self._kept.move_to_end(plan_id)
        return found

    def find_spent(self, root_plan_id: str) -> Spent | None:
        return self._spent.get(root_plan_id)

    def keep(self, read: StateInHand, era: int = 0) -> None:
        """Keep a state as it was read in this era, if none of a later place is there."""
        if self._era != self.era:
            self._forget_earlier()
        known = self._kept.get(read.state.plan.plan_id)
        is_late = known and known.place and read.place and known.place > read.place
        if era == self._era and not is_late:
            self._put(read)
            self._shrink()

    def keep_spent(self, root_plan_id: str, spent: Spent) -> None:
        self._spent[root_plan_id] = spent
        self._spent.move_to_end(root_plan_id)
        while len(self._spent) > self._most:
            self._spent.popitem(last=False)

    def apply(self, changes: PlanChanges) -> None:
        """Apply committed changes. A plan begins to be kept with its first row."""
        if self._era != self.era:
            self._forget_earlier()
        if changes.is_unknown or changes.era != self._era:
            self.clear()
            return
        for root_plan_id, spent in changes.spent.items():
            self.keep_spent(root_plan_id, spent)
        for plan_id in changes.rows:
            self._fold(plan_id, changes)
        for plan_id in changes.others:
            self._drop(plan_id)
        self._shrink()

    def give_up(self) -> None:
        """Let no present state be used again. Any thread may call this."""
        self.era = next(self._eras)

    def clear(self) -> None:
        self._kept.clear()
        self._spent.clear()
        self._bytes = 0

    def _forget_earlier(self) -> None:
        self._era = self.era
        self.clear()

    def _fold(self, plan_id: str, changes: PlanChanges) -> None:
        rows: Sequence[PlanRow] = changes.rows[plan_id]
        known, move = self._kept.get(plan_id), changes.moves.get(plan_id)
        for number, row in enumerate(rows):
            match row:
                case SavePlan(plan, None):
                    known, rows = StateInHand(PlanState(plan), 0), rows[number + 1 :]
                    break
                case _:
                    pass
        if known is None or (known.place and move and known.place >= move.after):
            return
        is_unmoved = move is None and (known.place is None or _are_ends(rows))
        if is_unmoved or (move and known.place == move.before):
            place = move.after if move else known.place
            self._put(StateInHand(fold(known.state, rows), known.size + changes.sizes[plan_id], place))
        else:
            self._drop(plan_id)

    def _put(self, one: StateInHand) -> None:
        """Keep a state in the place of the one before. One that would push out most others is not kept."""
        plan_id = one.state.plan.plan_id
        self._drop(plan_id)
        if one.size <= self._most_bytes * LARGEST_PART:
            self._kept[plan_id] = one
            self._bytes += one.size

    def _drop(self, plan_id: str) -> None:
        before = self._kept.pop(plan_id, None)
        self._bytes -= before.size if before else 0

    def _shrink(self) -> None:
        while self._kept and (len(self._kept) > self._most or self._bytes > self._most_bytes):
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size
