"""What was lent to processes elsewhere whose answer may have been lost on its way. Forgotten with this process: then a
lease that nobody heard of runs out, as one of its delivery's attempts."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import count

from soorma_ai.domain.remote import Lease

MOST_PROCESSES = 10_000

# The name of an agent, and of the process in which it runs.
Borrower = tuple[str, str]


class Loans:
    def __init__(self) -> None:
        self._numbers = count(1)
        self._lent: OrderedDict[Borrower, dict[int, list[Lease]]] = OrderedDict()

    def lend(self, borrower: Borrower, leases: Sequence[Lease]) -> int:
        """Return the number of this loan, which is said by the process when it asks again."""
        number = next(self._numbers)
        self._lent.setdefault(borrower, {})[number] = list(leases)
        self._lent.move_to_end(borrower)
        if len(self._lent) > MOST_PROCESSES:
            self._lent.popitem(last=False)
        return number

    def lost(self, borrower: Borrower, last: int | None) -> list[Lease]:
        """Return what was lent since and never came, as the last loan that came to the process shows. Told once."""
        lent = self._lent.pop(borrower, {})
        return [lease for number, leases in lent.items() if number != last for lease in leases]
