"""The bill of a handling: calls of models that are settled with the commit that ends it, however that ends."""

from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.ports import Settlement


class Charges:
    """Charges of a handling. `hold` is the reservation of the delivery's lease, until a call takes it. Nothing is
    undone here with a handler's effects."""

    def __init__(self, hold: Charge | None = None) -> None:
        self.hold = hold
        self._owed: list[Settlement] = []
        self.settled: list[Settlement] = []  # before the commit, for observers

    def take_hold(self, root_plan_id: str) -> Charge | None:
        """Return the reservation of this tree, for one call."""
        if self.hold is None or self.hold.root_plan_id != root_plan_id:
            return None
        held, self.hold = self.hold, None
        return held

    def owe(self, settlement: Settlement) -> None:
        self._owed.append(settlement)

    @property
    def settlements(self) -> tuple[Settlement, ...]:
        """Return all open settlements, and the unused reservation."""
        unused = [Settlement(self.hold, Charge(self.hold.root_plan_id, 0, 0, 0.0))] if self.hold else []
        return (*self._owed, *unused)

    def take_owed(self) -> list[Settlement]:
        """Return the open settlements, and forget them."""
        owed, self._owed = self._owed, []
        return owed

    def clear(self) -> None:
        """Note that everything is settled."""
        self._owed, self.settled, self.hold = [], [], None
