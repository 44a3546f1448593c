"""Dead letters, as one person of one tenant sees them, redrives and discards them."""

from msgspec import Struct

from soorma_ai.errors import IllegalTransition, LocalProtocolError, NotFound
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.dead_letters.records import DeadLetterRow, Letter, LetterStatus, hindrance
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.parameters import Note, Position
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.rules.authority import Act, Owner, Right, check, only_user
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside

CALLS = CallTable()
_ENDED = (IllegalTransition,)
REDRIVE = Right("redrive", Act.STEER)


class DeadLetterPage(Struct, frozen=True):
    """Page of dead letters, the newest first. `older`: more behind them; `newer`: more before them."""

    letters: tuple[Letter, ...]
    older: bool
    newer: bool


async def dead_letter_page(
    services: Services, person: Person, limit: int, beyond: Place | None = None
) -> DeadLetterPage:
    """Return some of the dead letters visible to a person: from the newest on, or `beyond` the number of one. For less
    than a page before a letter, it is the first page."""
    letters, user_id = services.store.part(LETTERS), only_user(person)
    found = await letters.dead_letters(person.tenant_id, limit + 1, user_id=user_id, beyond=beyond)
    if beyond is not None and beyond.is_back:
        if len(found) <= limit:
            return await dead_letter_page(services, person, limit)
        return DeadLetterPage(tuple(map(dead_letter_of, found[1:])), older=True, newer=True)
    return DeadLetterPage(tuple(map(dead_letter_of, found[:limit])), older=len(found) > limit, newer=beyond is not None)


async def redrive_letter(services: Services, person: Person, letter_id: int) -> bool:
    """Raise LocalProtocolError when something hinders it. One that has changed since it was read is judged again."""
    row, is_redriven = await own_row(services, person, letter_id, REDRIVE), False
    while row.status is LetterStatus.DEAD:
        hinders = _hindrance(row)
        if hinders is not None:
            raise LocalProtocolError(f"letter {letter_id} cannot be redriven: {hinders}")
        is_redriven = await services.store.part(LETTERS).redrive(row)
        if is_redriven:
            break
        row = await own_row(services, person, letter_id, REDRIVE)
    services.signals.wake_agents(frozenset({row.agent}))
    return is_redriven


async def own_row(services: Services, person: Person, letter_id: int, right: Right) -> DeadLetterRow:
    """Return the row of a letter. Raise NotFound for a letter invisible to the person, and Forbidden."""
    row = await services.store.part(LETTERS).dead_letter(letter_id)
    missing = f"no dead letter {letter_id} in tenant {person.tenant_id!r}; `soorma dead-letters ls` lists them"
    if row is None:
        raise NotFound(missing)
    check(person, right, Owner(row.event.tenant_id, row.user_id), missing)
    return row


def _hindrance(row: DeadLetterRow) -> str | None:
    return hindrance(row.unreadable, row.came_for, row.plan_status)


def dead_letter_of(row: DeadLetterRow) -> Letter:
    return Letter(
        letter_id=row.seq,
        status=row.status,
        agent=plain_name(row.agent),
        event=row.event,
        reason=row.reason,
        attempts=row.attempts,
        redriven=row.redriven,
        at=row.at,
        tenant_id=row.event.tenant_id,
        plan_id=row.plan_id,
        root_plan_id=row.root_plan_id,
        hindrance=_hindrance(row),
    )


class LetterCalls(OperatorCalls):
    """Calls of an operator about dead letters."""

    @CALLS("GET /dead-letters", Act.SEE, "list_letters", by=lambda one: str(one.letter_id))
    async def dead_letters(self, *, limit: int = 50) -> list[Letter]:
        """Return dead letters, the newest first: failed deliveries with an open decision."""
        must_be_outside()
        return [*(await dead_letter_page(self.services, self.person, limit)).letters]

    @CALLS("GET /dead-letters/{letter_id}", Act.SEE, "show_letter")
    async def dead_letter(self, letter_id: Position) -> Letter:
        """Return a dead letter, even a redriven or discarded one. Raise NotFound."""
        must_be_outside()
        return dead_letter_of(await own_row(self.services, self.person, letter_id, CALLS["dead_letter"]))

    @CALLS("POST /dead-letters/{letter_id}/redrive", REDRIVE, "redrive_letter", key="redriven", raises=_ENDED)
    async def redrive(self, letter_id: Position) -> bool:
        """Deliver it again, as if for the first time but with the same `idempotency_key`. False for a letter no longer
        dead. Raise NotFound, and LocalProtocolError for a letter of an ended plan or with an unreadable event.

        The requester got the failure at the letter's death. A plan past it does not take a second reply; `request` with
        the same `idempotency_key` finds the success, once there is one.
        """
        must_be_outside()
        async with self._changing("redrive", str(letter_id)) as change:
            return await redrive_letter(change.services, self.person, letter_id)

    @CALLS("POST /dead-letters/{letter_id}/discard", Act.STEER, "discard_letter", key="discarded", raises=_ENDED)
    async def discard(self, letter_id: Position, note: Note = "") -> bool:
        """Discard it for good. False for a letter no longer dead. Raise NotFound."""
        must_be_outside()
        said = f"discarded by {self.person.user_id}" + (f": {note}" if note else "")
        async with self._changing("discard", str(letter_id)) as change:
            await own_row(self.services, self.person, letter_id, CALLS["discard"])
            return await change.store.part(LETTERS).discard(letter_id, said, self._now())


def letters_of(client: OperatorCalls) -> LetterCalls:
    """Return the calls of a client's person."""
    made = LetterCalls(client.services, client.person)
    made.caller = client.caller
    return made
