"""What was lent to processes elsewhere whose answer may have been lost on its way. Forgotten with this process: then a
lease that nobody heard of runs out, as one of its delivery's attempts."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import count
from secrets import randbits

from soorma_ai.features.remote.records import Lease

MOST_PROCESSES = 10_000

# The name of an agent, and of the process in which it runs.
Borrower = tuple[str, str]


class Loans:
    def __init__(self) -> None:
        # Another number in each process, so that none of an earlier one, or of another server, is taken for one of it.
        self._numbers = count(randbits(40))
        self._lent: OrderedDict[Borrower, dict[int, list[Lease]]] = OrderedDict()

    def lend(self, borrower: Borrower, leases: Sequence[Lease]) -> int:
        """Return the number of this loan, which is said by the process when it asks again."""
        number = next(self._numbers)
        self._lent.setdefault(borrower, {})[number] = list(leases)
        self._lent.move_to_end(borrower)
        if len(self._lent) > MOST_PROCESSES:
            self._lent.popitem(last=False)
        return number

    def open_loans(self, borrower: Borrower) -> dict[int, list[Lease]]:
        """Return by number what was lent and is not known to have come."""
        return {**self._lent.get(borrower, {})}

    def settle(self, borrower: Borrower, numbers: Iterable[int]) -> None:
        """Forget loans that came, or were taken back."""
        lent = self._lent.get(borrower, {})
        for number in numbers:
            lent.pop(number, None)
        if not lent:
            self._lent.pop(borrower, None)
