"""`soorma dead-letters`: list, show, redrive and discard dead letters."""

from contextlib import suppress
from datetime import datetime
from typing import Protocol

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.errors import NotFound
from soorma_ai.features.dead_letters.calls import DeadLetterCalls
from soorma_ai.features.dead_letters.records import Letter, LetterStatus
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import clip
from soorma_ai.surfaces.ids import tenant_in_words
from soorma_ai.surfaces.options import LOCAL_USER, SHORTEST_PREFIX, Access, as_json, with_platform
from soorma_ai.surfaces.store_access import StoreAccess, open_store
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, WAITING, Part, Printer, print_json, print_list
from soorma_ai.surfaces.terminal.wording import ago, json_line, local_time, short_id

_STYLES = {LetterStatus.DEAD: BAD, LetterStatus.REDRIVEN: WAITING, LetterStatus.HANDLED: GOOD}
_TITLES = ("ID", "AGENT", "EVENT", "DIED", "TRIED", "REASON")
MOST_LETTERS = 1_000_000
LONGEST_NUMBER = 18
_INDENT = 2
_LABEL = 10


class LetterClient(KernelCalls, DeadLetterCalls, Protocol):
    """Calls of the kernel and about dead letters."""


_letter = click.argument("letter", metavar="ID")


@click.group("dead-letters")
def dead_letters() -> None:
    """List, show, redrive and discard dead letters: deliveries that failed for good.

    An ID is the number of a letter, or enough of the beginning of its event's id.
    """


@dead_letters.command()
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Largest number of rows.")
@as_json
@with_platform
def ls(access: Access, limit: int, as_json: bool) -> None:
    """List dead letters, the newest first."""
    letters = _open(access).look_up(lambda client: client.dead_letters(limit=limit))
    print_list(letters, "no dead letters", _row, (_TITLES, _cells), as_json=as_json)


@dead_letters.command()
@_letter
@as_json
@with_platform
def show(access: Access, letter: str, as_json: bool) -> None:
    """Show the event of a letter, the reason of its failure, and the next steps."""
    one = _open(access).look_up(lambda client: find_dead_letter(client, letter))
    if as_json:
        print_json(one)
    else:
        _print_dead_letter(Printer(), one, access.flags, SystemClock().now())


@dead_letters.command()
@_letter
@as_json
@with_platform
def redrive(access: Access, letter: str, as_json: bool) -> None:
    """Deliver a letter again, after a fix."""
    runner = _open(access)
    one = runner.look_up(lambda client: find_dead_letter(client, letter))
    is_redriven = runner.steer(lambda client: client.redrive(one.letter_id))
    _end(access, one.letter_id, "redriven", is_done=is_redriven, as_json=as_json)
    if not runner.has_owner:
        starter = one_line(one.agent) if one.agent else "they"
        Printer(stderr=True).line(
            f"No agents running on this store; the letter is handled when {starter} start{'s' if one.agent else ''}."
        )


@dead_letters.command()
@_letter
@click.option("--note", default="", metavar="TEXT", help="Reason, kept with the letter.")
@click.option(
    "--as", "user_id", default=LOCAL_USER, metavar="NAME", show_default=True, help="Your name, for the record."
)
@as_json
@with_platform
def discard(access: Access, letter: str, note: str, user_id: str, as_json: bool) -> None:
    """Discard a letter for good."""
    runner = _open(access, Person(access.tenant_id, user_id))
    one = runner.look_up(lambda client: find_dead_letter(client, letter))
    is_discarded = runner.steer(lambda client: client.discard(one.letter_id, note))
    _end(access, one.letter_id, "discarded", is_done=is_discarded, as_json=as_json)


def _end(access: Access, letter_id: int, done: str, *, is_done: bool, as_json: bool) -> None:
    """Print the outcome for a letter, and exit with 1 when the command changed nothing."""
    letter = _open(access).look_up(lambda client: client.dead_letter(letter_id))
    what = f"letter {letter.letter_id} ({one_line(letter.event.type)}{_addressee(letter)})"
    if as_json:
        print_json({"letter_id": letter.letter_id, done: is_done, "status": letter.status})
    elif is_done:
        Printer().line((done, GOOD), f" {what}")
    else:
        Printer().line((f"not {done}", BAD), f" {what}: {_what_became(letter)}")
    if not is_done:
        raise click.exceptions.Exit(1)


def _what_became(letter: Letter) -> str:
    """Return the earlier decision about a letter."""
    match letter.status:
        case LetterStatus.DEAD:
            return "it was redriven before, and failed again"
        case LetterStatus.REDRIVEN:
            return "it was redriven before, and is queued or in progress"
        case LetterStatus.HANDLED:
            return "it was redriven before, and is handled"
        case LetterStatus.DISCARDED:
            return one_line(letter.reason)


def _addressee(letter: Letter) -> str:
    return f" for {one_line(letter.agent)}" if letter.agent else ", delivered to no agent"


def _row(letter: Letter) -> tuple[str, ...]:
    return (
        str(letter.letter_id),
        *map(one_line, (letter.agent, letter.event.type, letter.event.id)),
        str(letter.attempts),
        str(letter.redriven),
        letter.at.isoformat(),
        one_line(letter.plan_id or ""),
        one_line(letter.reason),
    )


def _cells(letter: Letter) -> tuple[Part, ...]:
    return (
        str(letter.letter_id),
        clip(one_line(letter.agent), 24) or ("none", DIM),
        clip(one_line(letter.event.type), 40),
        ago(letter.at, SystemClock().now()),
        _tries(letter),
        clip(one_line(letter.reason), 200),
    )


def _tries(letter: Letter) -> str:
    return f"{letter.attempts}×" + (f", redriven {letter.redriven}×" if letter.redriven else "")


def _print_dead_letter(printer: Printer, letter: Letter, flags: str, now: datetime) -> None:
    event = letter.event
    since = f"{local_time(letter.at)}, {ago(letter.at, now)}"
    printer.line(
        f"letter {letter.letter_id}  ",
        (one_line(event.type), BOLD),
        f"{_addressee(letter)}  ",
        (str(letter.status), _STYLES.get(letter.status, BOLD)),
        (f"  {since}" if letter.status in (LetterStatus.DEAD, LetterStatus.DISCARDED) else "", DIM),
    )
    lines: tuple[tuple[str, Part], ...] = (
        ("reason", one_line(letter.reason) or ("resolved", DIM)),
        ("tried", _tries(letter)),
        ("plan", _plan(letter)),
        ("event", f"{one_line(event.id)} on {event.topic}, from {one_line(event.source)} at {local_time(event.time)}"),
        ("payload", json_line(event.data)),
    )
    for label, part in lines:
        printer.line(part, indent=_INDENT, label=f"{label:<{_LABEL}}")
    if letter.status is LetterStatus.DEAD:
        _print_choices(printer, letter, flags)


def _plan(letter: Letter) -> Part:
    if letter.plan_id is None:
        return ("none", DIM)
    root = letter.root_plan_id
    return one_line(letter.plan_id) + (f", of {one_line(root)}" if root not in (None, letter.plan_id) else "")


def _print_choices(printer: Printer, letter: Letter, flags: str) -> None:
    """Print the commands that decide about it, to copy."""
    if letter.plan_id is not None:
        printer.line((f"soorma plans show {short_id(letter.plan_id)}{flags}", DIM), indent=_INDENT)
    if letter.hindrance is None:
        printer.line((f"soorma dead-letters redrive {letter.letter_id}{flags}", DIM), indent=_INDENT)
    else:
        printer.line(f"cannot be redriven: {one_line(letter.hindrance)}", indent=_INDENT)
    printer.line((f"soorma dead-letters discard {letter.letter_id}{flags} --note TEXT", DIM), indent=_INDENT)


async def find_dead_letter(client: LetterClient, named: str) -> Letter:
    """Find a letter by its number, of any status, or a dead letter by the beginning of its event's id.

    Raise NotFound for none, and for several.
    """
    found: dict[int, Letter] = {}
    if named.isascii() and named.isdigit() and len(named) <= LONGEST_NUMBER:
        with suppress(NotFound):
            one = await client.dead_letter(int(named))
            found[one.letter_id] = one
    if len(named) >= SHORTEST_PREFIX:
        dead = await client.dead_letters(limit=MOST_LETTERS)
        found |= {one.letter_id: one for one in dead if one.event.id.startswith(named)}
    if not found:
        raise NotFound(
            f"no dead letter{await tenant_in_words(client)} has the number {named!r}, "
            f"nor the id of an event with this beginning, of {SHORTEST_PREFIX} characters or more"
        )
    if len(found) > 1:
        ids = [str(letter_id) for letter_id in sorted(found)]
        some = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
        raise NotFound(f"{named!r} may mean {len(ids)} dead letters; give the number of one: {some}")
    return next(iter(found.values()))


def _open(access: Access, person: Person | None = None) -> StoreAccess[LetterClient]:
    return open_store(access, person)
