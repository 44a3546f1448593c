"""Working memory in one handling: the stored values, with this handling's changes."""

from collections.abc import Sequence
from copy import deepcopy

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import FeatureEffect
from soorma_ai.kernel.domain.memory import DropMemory, MemoryChange, MemoryKey, StoredValue, StoreMemory
from soorma_ai.kernel.ports import Memory
from soorma_ai.kernel.rules.memory import apply_change, combine


class _Cell(Struct):
    stored: StoredValue | None = None
    change: MemoryChange | None = None


class MemoryInHand:
    """Working memory of a handling. A read value is the same for the whole handling. After a read and a change, in any
    order, a concurrent change conflicts; plain writes, increments and appends never do. Effects of features are kept
    beside it, in order."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._cells: dict[MemoryKey, _Cell] = {}
        self._of_features: list[FeatureEffect] = []

    def copy(self) -> "MemoryInHand":
        """Return one that goes on from here, and leaves this as it is."""
        again = MemoryInHand(self._memory)
        again._cells = {at: replace(cell) for at, cell in self._cells.items()}
        again._of_features = [*self._of_features]
        return again

    @property
    def recorded(self) -> Sequence[FeatureEffect]:
        """Effects of features, in order."""
        return self._of_features

    def record(self, effect: FeatureEffect) -> None:
        self._of_features.append(effect)

    async def look(self, at: MemoryKey) -> StoredValue:
        cell = self._cells.setdefault(at, _Cell())
        known = cell.change
        if cell.stored is None and not isinstance(known, StoreMemory | DropMemory):
            cell.stored = await self._memory.recall(at)
        return deepcopy(apply_change(cell.stored or StoredValue(), known))

    def change(self, change: MemoryChange) -> None:
        """Apply a change. Raise LocalProtocolError where the value is known to be no number, or no list."""
        cell = self._cells.setdefault(change.at, _Cell())
        then = combine(cell.change, change)
        if cell.stored is not None:
            apply_change(cell.stored, then)
        cell.change = then

    async def keys(self, tenant_id: str, plan_id: str) -> list[str]:
        found = set(await self._memory.memory_keys(tenant_id, plan_id))
        for at, cell in self._cells.items():
            if (at.tenant_id, at.plan_id) == (tenant_id, plan_id) and cell.change is not None:
                found.discard(at.key)
                if not isinstance(cell.change, DropMemory):
                    found.add(at.key)
        return sorted(found)

    @property
    def changes(self) -> tuple[MemoryChange | FeatureEffect, ...]:
        if not self._cells:
            return tuple(self._of_features)
        of_cells = (
            replace(cell.change, expected_version=cell.stored.version if cell.stored else None)
            for cell in self._cells.values()
            if cell.change is not None
        )
        return (*of_cells, *self._of_features)
