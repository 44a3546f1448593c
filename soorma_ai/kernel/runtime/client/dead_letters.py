"""Dead letters of one tenant, for one person to read and redrive."""

from msgspec import Struct

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.kernel.domain.dead_letters import Letter, LetterStatus
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import DeadLetterRow, Place
from soorma_ai.kernel.rules.authority import Act, Owner, Right, check, only_user
from soorma_ai.kernel.rules.delivery.disposition import hindrance
from soorma_ai.kernel.runtime.handling.handling import Services

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
    letters, user_id = services.store.letters, only_user(person)
    found = await letters.dead_letters(person.tenant_id, limit + 1, user_id=user_id, beyond=beyond)
    if beyond is not None and beyond.is_back:
        if len(found) <= limit:
            return await dead_letter_page(services, person, limit)
        return DeadLetterPage(tuple(map(dead_letter_of, found[1:])), older=True, newer=True)
    return DeadLetterPage(tuple(map(dead_letter_of, found[:limit])), older=len(found) > limit, newer=beyond is not None)


async def redrive(services: Services, person: Person, letter_id: int) -> bool:
    """Deliver a dead letter again. Raise LocalProtocolError when something hinders it. A letter changed since it was
    read is judged again."""
    row, is_redriven = await own_row(services, person, letter_id, REDRIVE), False
    while row.status is LetterStatus.DEAD:
        hinders = _hindrance(row)
        if hinders is not None:
            raise LocalProtocolError(f"letter {letter_id} cannot be redriven: {hinders}")
        is_redriven = await services.store.letters.redrive(row)
        if is_redriven:
            break
        row = await own_row(services, person, letter_id, REDRIVE)
    services.signals.wake_agents(frozenset({row.agent}))
    return is_redriven


async def own_row(services: Services, person: Person, letter_id: int, right: Right) -> DeadLetterRow:
    """Return the row of a letter. Raise NotFound for a letter invisible to the person, and Forbidden."""
    row = await services.store.letters.dead_letter(letter_id)
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
