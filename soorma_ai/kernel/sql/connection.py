"""Connections for statements. Statements are written once, in SQL for both databases; functions missing in one of them
are made by its schema (see `adapters/postgres/schema.py`)."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Protocol

from msgspec import Struct

from soorma_ai.kernel.domain.effects import FeatureEffect
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plan_state import PlanRow
from soorma_ai.kernel.ports import Delivery, Hands, StoredEvent, StoreKey
from soorma_ai.kernel.sql.plan_states import PlanChanges, PlanPlace

# Parts of prompts that are known to be stored, and the seconds after which one that is in use is written again.
MOST_PARTS = 4_096
PARTS_IN_USE = 24 * 3600.0

# A name of a parameter, `:name`, or its place, `?`.
Parameters = Sequence[object] | Mapping[str, object]


class Rows(Protocol):
    """Result of a statement, and the number of its changed rows."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Reader(Protocol):
    """Reader of committed rows, and of those written by its own transaction. `registry` is another number after every
    committed change of takers by another process."""

    @property
    def registry(self) -> int: ...

    @property
    def is_settled(self) -> bool:
        """Tell whether read rows stay as they are until a later write of this process."""
        ...

    @property
    def log_end(self) -> int | None:
        """Place in the log up to which no event is to come any more; None where places come in the order of commits."""
        ...

    def words(self, table: str) -> "FullTextIndex":
        """Return the full-text index of a table."""
        ...

    def execute(self, sql: str, parameters: Parameters = ..., /) -> Rows: ...

    def executemany(self, sql: str, parameters: Iterable[Parameters], /) -> Rows: ...


class FullTextIndex(Protocol):
    """Full-text index of a table with the columns `seq`, `body` and `expires`, made of words and marks of its rows.

    `wanted` are marks, each in its spellings; a row needs one spelling of each. The results are rows that have not
    expired, as number and body.
    """

    def keep(self, db: "Connection", seq: int, title: str, content: str, marks: str) -> None: ...

    def drop(self, db: "Connection", seq: int) -> None: ...

    def counts(self, db: Reader, words: Sequence[str]) -> dict[str, int]:
        """Return the number of rows with each word and mark, without those in no row."""
        ...

    def likest(
        self, db: Reader, words: Sequence[str], wanted: Sequence[Sequence[str]], now: datetime, limit: int
    ) -> list[tuple[int, str]]:
        """Return those that have any of these words, the likest first: rare words in short rows count most, and marks
        for nothing."""
        ...

    def newest(
        self, db: Reader, wanted: Sequence[Sequence[str]], now: datetime, limit: int
    ) -> list[tuple[int, str]]: ...

    def among(
        self, db: Reader, seqs: Sequence[int], wanted: Sequence[Sequence[str]], now: datetime
    ) -> list[tuple[int, str]]:
        """Return those of these numbers, in any order."""
        ...

    def merge(self, db: "Connection", *, is_begun: bool) -> bool:
        """Take a step of removing dropped entries for good; return False when nothing is left to do."""
        ...


class Removal(Struct, frozen=True, kw_only=True):
    """Removal of a feature's rows. Statements have `:tenant`, those of a person `:user`, those by age `:before`.

    `of_questions` removes rows of removed questions, `:ids`. `of_person` are statements about few rows,
    `some_of_person` and `old` remove up to `:limit`. `begin` ends the rights of a person and returns the number of
    revoked keys. `kept` removes up to so many records of a person and returns their number. `merge` removes a
    further piece of their words from an index, False at its end.
    """

    of_questions: tuple[str, ...] = ()
    of_person: tuple[str, ...] = ()
    some_of_person: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    begin: "Callable[[Connection, str, str, datetime], int] | None" = None
    kept: "Callable[[Connection, str, str, int], int] | None" = None
    merge: "Callable[[Connection, bool], bool] | None" = None


class Features(Protocol):
    """Work of features in the transactions of the kernel."""

    @property
    def names(self) -> frozenset[str]: ...

    @property
    def parts(self) -> Mapping[StoreKey[Any], Callable[..., object]]:
        """Makers of the parts of a store, each of its database, tenant scope and note."""
        ...

    @property
    def closing(self) -> Sequence[str]:
        """Statements about a question that is closed, each with its id."""
        ...

    @property
    def removals(self) -> Sequence[Removal]: ...

    def apply(self, db: "Connection", effect: FeatureEffect) -> None:
        """Raise LocalProtocolError for an effect of a feature that is off."""
        ...

    def check_users(self, db: Reader, users: Iterable[tuple[str, str]]) -> None:
        """Raise TransientError where one of these users, by tenant and id, may begin nothing now."""
        ...

    def find_leaving(self, db: Reader) -> set[tuple[str, str]]:
        """Return the users with events dropped at their arrival, by tenant and id."""
        ...

    def tidy(self, db: "Connection", now: datetime) -> None:
        """Remove expired rows, a limited number of them."""
        ...


class MustBeAlone(Exception):
    """Raised for an operation begun beside other writers, and forbidden there."""


class Connection(ABC):
    """Writer, with the effects of its transaction beside rows.

    `hands` are those of the agents of this process, each leased for `lease`; without them, a published event stands in
    the outbox.

    Events about to arrive in this transaction: `published` are new events, `brought` those of a bus, `untaken` requests
    without a taker so far. `taken` are the deliveries leased to a free hand; `queued` are agents with something to
    claim. `is_leaving`: something stands in the outbox unknown to the relay. `holder` is the number of this process,
    with its leases ending at its end; 0 ends none. `is_beside`: others write at the same time, and it does only work
    open to their interference. `taking` is an addition to a claim: rows in another's claim at that moment are left to
    it. It changes rows of `keys` alone, None for any, see `commit_keys`. `is_far_from_hands`: another
    thread answers for them. `is_careful`: one operation, or one event, may be undone by itself. `parts` are those of
    prompts and offers known to be stored, by this transaction or an earlier one, with the time of their write. `opened`
    are the expectations opened by this operation, with the topic of their events. It `keeps_plans`: the states of plans
    are kept in hand, and `plan_changes` are its changes of them. It `moves_places`: other processes write too, so a
    commit moves the places of the plans that it changes.
    """

    def __init__(self) -> None:
        self.hands: Hands | None = None
        self.lease = timedelta(0)
        self.holder = 0
        self.published: list[StoredEvent] = []
        self.brought: list[StoredEvent] = []
        self.untaken: list[StoredEvent] = []
        self.taken: list[Delivery] = []
        self._reserved: list[str] = []
        self.queued: set[str] = set()
        self.is_leaving = False
        self.is_careful = False
        self.is_beside = False
        self.keys: frozenset[str] | None = None
        self.opened: dict[str, EventTopic] = {}
        self.parts: OrderedDict[tuple[str, ...], float] = OrderedDict()
        self.plan_changes = PlanChanges()

    features: Features
    keeps_plans = False
    moves_places = False
    registry: int
    taking = ""
    is_far_from_hands = False

    @property
    def is_settled(self) -> bool:
        return False

    @property
    def log_end(self) -> int | None:
        return None

    def must_be_alone(self) -> None:
        """Raise MustBeAlone where others write at the same time."""
        if self.is_beside or self.keys is not None:
            raise MustBeAlone

    def must_hold(self, key: str) -> None:
        """Raise MustBeAlone where others may change rows of this key at the same time."""
        if self.is_beside or (self.keys is not None and key not in self.keys):
            raise MustBeAlone

    @abstractmethod
    def execute(self, sql: str, parameters: Parameters = ..., /) -> Rows: ...

    def write(self, sql: str, parameters: Parameters, check: Callable[[Rows], None] | None = None) -> None:
        """Execute a statement whose rows are not waited for: now, or with the next one that is waited for. `check` gets
        its rows before the commit, and may raise."""
        found = self.execute(sql, parameters)
        if check is not None:
            check(found)

    def write_beside(self, sql: str, parameters: Parameters, note: Callable[[Rows], None]) -> None:
        """Execute a statement now, or with the next one, at the latest with the commit. `note` gets its rows, and
        raises nothing."""
        note(self.execute(sql, parameters))

    def send(self) -> None:
        """Execute what is written, and check its rows."""
        return

    @abstractmethod
    def executemany(self, sql: str, parameters: Iterable[Parameters], /) -> Rows: ...

    @abstractmethod
    def words(self, table: str) -> FullTextIndex:
        """Return the full-text index of a table."""
        ...

    @abstractmethod
    def in_our_words(self) -> AbstractContextManager[None]:
        """Raise errors of the library as errors of our tree."""
        ...

    @abstractmethod
    def overwriting(self) -> AbstractContextManager[None]:
        """Let nothing be left where rows are removed meanwhile, as far as the database can say so."""
        ...

    def act_for(self, tenant_id: str) -> None:
        """Do the platform's own work for this tenant from now on."""
        return

    def savepoint(self, name: str, tenant_id: str) -> None:
        """Allow an undo of the next operations by themselves; the platform's own work is done for this tenant from now
        on."""
        self.execute(f"SAVEPOINT {name}")

    def find_everywhere(self, sql: str) -> list[Any]:
        """Return the rows of a statement among all tenants, in any scope of the rest."""
        return self.execute(sql).fetchall()

    def has_part(self, part: tuple[str, ...], at: float) -> bool:
        """Tell whether a part need not be written at this moment; if it must, it counts as stored from now on."""
        written = self.parts.get(part)
        if written is not None and (part[0] or at - written < PARTS_IN_USE):
            return True
        self.parts[part] = at
        self.parts.move_to_end(part)
        if len(self.parts) > MOST_PARTS:
            self.parts.popitem(last=False)
        return False

    def take_hand(self, agent: str, *, freed: bool = False) -> bool:
        """Reserve a free hand."""
        if self.hands is None or self.is_careful or not self.hands.take(agent, freed=freed):
            return False
        self._reserved.append(agent)
        return True

    def give_back_hand(self, agent: str) -> None:
        if self.hands is not None:
            self._reserved.remove(agent)
            self.hands.give_back(agent)

    def leave_queued(self, agent: str) -> None:
        """Note that something waits for a claim of this agent; no later delivery gets a hand before it."""
        self.queued.add(agent)
        if self.hands is not None and not self.is_careful:
            self.hands.note_queued(agent)

    def note_claim(self, agent: str, found: int) -> None:
        """Tell the hands of an agent how much a claim has found, which is not stored yet."""
        if self.hands is not None and not self.is_careful:
            self.hands.note_claim(agent, found)

    def note(self, plan_id: str | None, row: PlanRow, size: int = 0) -> None:
        """Note a change of a plan's state, of so many bytes on disk."""
        if self.keeps_plans and plan_id is not None:
            self.plan_changes.add(plan_id, row, size)

    def note_place(self, plan_id: str, seq: int, number: int, *, is_new: bool = False) -> None:
        """Note the place of a plan after a move by this transaction."""
        if self.moves_places:
            self.plan_changes.move(plan_id, PlanPlace(seq, number), is_new=is_new)

    def note_other_change(self, plan_id: str) -> None:
        """Note a change of a plan's state that is no row of it: the state is read again."""
        self.plan_changes.others.add(plan_id)

    def note_spent(self, root_plan_id: str, spent: Spent) -> None:
        """Note the amounts of a tree. Beside other processes they are read each time."""
        if self.keeps_plans and not self.moves_places:
            self.plan_changes.spent[root_plan_id] = spent

    def note_unknown(self) -> None:
        """Note that states of plans may be changed in any way. For other processes such a change moves places itself,
        or deletes the plans."""
        self.plan_changes.is_unknown = True

    def take_changes(self) -> PlanChanges:
        """Return the changes of plans' states, and begin new ones."""
        changes = self.plan_changes
        self.plan_changes = PlanChanges(era=changes.era)
        return changes

    def place(self) -> tuple[int, int]:
        """Return how far hands are reserved and filled, for `give_back_since`."""
        return len(self._reserved), len(self.taken)

    def give_back_since(self, place: tuple[int, int]) -> None:
        """Give back the hands reserved since for undone work. Of its changes of plans nothing is known, and moves may
        be undone: the commit moves each changed plan again."""
        self.note_unknown()
        self.plan_changes.moves.clear()
        reserved, taken = place
        del self.taken[taken:]
        for agent in self._reserved[reserved:]:
            self.give_back_hand(agent)

    def take_what_was_taken(self) -> Sequence[Delivery]:
        """Return the leased deliveries. What a lease reserves may come to them as late as the commit."""
        taken, self.taken, self._reserved = self.taken, [], []
        self.opened.clear()
        return taken

    def take_queued(self) -> frozenset[str]:
        queued, self.queued = frozenset(self.queued), set()
        return queued

    def take_leaving(self) -> bool:
        is_leaving, self.is_leaving = self.is_leaving, False
        return is_leaving

    def let_go(self) -> None:
        """Forget the publications and leases of a failed operation."""
        self.published.clear()
        self.brought.clear()
        self.untaken.clear()
        self.queued.clear()
        self.taken.clear()
        self.opened.clear()
        while self._reserved:
            self.give_back_hand(self._reserved[-1])
