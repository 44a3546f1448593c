"""Shown part of an offer: the likely choices with their schemas, and others as a line each, within the room.

While everything fits, everything is shown without a search. If not, a first tier is the same for all plans of a
planner, and the goal's own choices stand behind it: a provider finds the beginning of another plan's request again.
Within a plan the showing only grows, at its end; after too much growth, it begins anew.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain

from msgspec import Struct

from soorma_ai.kernel.domain.decisions import OfferRoom, Showing
from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import Same, identity_of
from soorma_ai.kernel.rules.choices.offer import WAIT, Offer
from soorma_ai.kernel.rules.choices.ranking import standing_order
from soorma_ai.kernel.rules.prompting.outline import length_of
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN, clip_to_size, size_of_text, spell, tokens_of
from soorma_ai.kernel.rules.schemas.bounded import show

LINE_CHARS = 240
SCHEMAS_TO_LINES = 1.5
# Parts of the room for the beginning of an offer that does not fit. The rest is for its growth.
SCHEMAS_AT_FIRST, LINES_AT_FIRST = 0.45, 0.25
# Parts of the schemas' room for the choices that all plans share: the more of all schemas it holds, the more of it.
MOST_SHARED, LEAST_SHARED, SHARED_OF_HELD = 0.75, 0.3, 4.5
# Parts of the number of schemas and of the room for lines that these take at most, and the part that is the goal's.
SHARED_SCHEMAS, SHARED_LINES, LEAST_FOR_GOAL = 0.9, 0.21, 0.08
RANKED_EACH_TIME = 5
LINES_OF_RECENT, SCHEMAS_OF_RECENT = 10, 3
TOKENS_OF_NEAR = 300
LINES_FOUND, SCHEMAS_FOUND = 20, 3
MOST_ASKED = 8
DESCRIPTION_CHARS = 2_000


class ChoiceSize(Struct, frozen=True):
    """Tokens of a choice as a line, and tokens of its schema beside that."""

    line: int
    schema: int


def line_of(definition: EventDefinition) -> str:
    return clip_to_size(definition.description, LINE_CHARS)


def description_beside(definition: EventDefinition) -> str:
    """Return the description that stands with the schema: none where the line holds all of it."""
    whole = definition.description
    return clip_to_size(whole, DESCRIPTION_CHARS) if size_of_text(whole) > LINE_CHARS else ""


def size_of(name: str, definition: EventDefinition) -> ChoiceSize:
    return _size(name, identity_of(definition))


@lru_cache(maxsize=16_384)
def _size(name: str, same: Same[EventDefinition]) -> ChoiceSize:
    line = (length_of(name) + length_of(line_of(same()))) // CHARS_PER_TOKEN + 2
    if name.startswith(WAIT):
        return ChoiceSize(line, 0)
    described = spell(description_beside(same())) + spell(show(same().payload_schema).plain)
    return ChoiceSize(line, tokens_of(name + described) + 10)


def needs_ranking(offer: Offer, room: OfferRoom) -> bool:
    """Tell whether the offer exceeds the room, and needs a ranking."""
    return _everything(offer, room) is None


def lacks_schemas(showing: Showing) -> bool:
    """Tell whether something is shown that can only be chosen when its schema has been asked for."""
    seen = {*showing.schemas}
    return any(name not in seen and _has_schema(name) for name in chain(showing.lines, showing.added))


def show_offer(
    offer: Offer,
    room: OfferRoom,
    ranked: Sequence[str],
    used: Iterable[str],
    before: Showing | None,
    recent: Sequence[str] = (),
) -> Showing:
    """Return the shown part of an offer. `ranked` are the likely choices, best first, and `recent` those by the last
    event alone, so that a new subject is not outweighed by the goal. `used` are the choices of this plan's steps,
    `before` the part that its last decision was shown."""
    if (everything := _everything(offer, room)) is not None:
        return everything
    pinned = [name for event in room.pinned for name in offer.choices_about.get(event, ())]
    needed = [*dict.fromkeys(name for name in chain(pinned, used) if name in offer.choices)]
    kept = still_offered(before, offer) if before else None
    if kept is None or _is_overgrown(kept, offer, room):
        return _add_recent(_begin(offer, room, needed, ranked), offer, recent, room)
    grown = add_schemas(kept, offer, needed)
    if grown.hidden:
        grown = add_lines(grown, offer, ranked[:RANKED_EACH_TIME])
    return _add_recent(grown, offer, recent, room)


def add_near(showing: Showing, offer: Offer, near: Sequence[str]) -> Showing:
    """Add choices of the agents in use, best first: so many tokens of schemas, and so many of lines."""
    shown = {*showing.schemas}
    unseen = [name for name in near if name not in shown]
    schemas = _within(TOKENS_OF_NEAR, unseen, lambda name: size_of(name, offer.choices[name]).schema)
    listed = {*showing.lines, *showing.added}
    unlisted = [name for name in near if name not in listed]
    lines = _within(TOKENS_OF_NEAR, unlisted, lambda name: size_of(name, offer.choices[name]).line)
    return add_lines(add_schemas(showing, offer, schemas), offer, lines)


def _within(room: int, names: Iterable[str], size: Callable[[str], int]) -> list[str]:
    """Return the first names that the room holds."""
    kept: list[str] = []
    for name in names:
        room -= size(name)
        if room < 0:
            break
        kept.append(name)
    return kept


def _add_recent(showing: Showing, offer: Offer, recent: Sequence[str], room: OfferRoom) -> Showing:
    """Add the choices that the last event is about, behind all that stays."""
    lined = add_lines(showing, offer, recent[:LINES_OF_RECENT])
    return add_asked(lined, offer, recent[:SCHEMAS_OF_RECENT], room)


def add_schemas(showing: Showing, offer: Offer, names: Iterable[str]) -> Showing:
    """Show these choices with their schemas; those without one are shown as a line."""
    wanted = [*dict.fromkeys(names)]
    more = [name for name in wanted if _has_schema(name) and name not in showing.schemas]
    lined = add_lines(showing, offer, wanted)
    return Showing((*lined.schemas, *more), lined.lines, lined.added, lined.hidden)


def add_lines(showing: Showing, offer: Offer, names: Iterable[str]) -> Showing:
    known = {*showing.lines, *showing.added}
    added = (*showing.added, *(name for name in dict.fromkeys(names) if name not in known))
    return _with_hidden(showing.schemas, showing.lines, added, offer)


def add_found(showing: Showing, offer: Offer, found: Sequence[str], room: OfferRoom) -> Showing:
    """Show the results of a model's own words, the best of them with schemas."""
    return add_asked(add_lines(showing, offer, found[:LINES_FOUND]), offer, found[:SCHEMAS_FOUND], room)


def add_asked(showing: Showing, offer: Offer, names: Iterable[str], room: OfferRoom) -> Showing:
    """Show the choices named by a model, within the room: its names are free, and one name may stand for many."""
    left = room.tokens * SCHEMAS_TO_LINES
    asked: list[str] = []
    for name in dict.fromkeys(names):
        left -= size_of(name, offer.choices[name]).schema
        if name not in showing.schemas and len(asked) < MOST_ASKED and (left >= 0 or not asked):
            asked.append(name)
    return add_schemas(showing, offer, asked)


def _everything(offer: Offer, room: OfferRoom) -> Showing | None:
    return _everything_in(identity_of(offer), room.tokens)


@lru_cache(maxsize=64)
def _everything_in(same: Same[Offer], tokens: int) -> Showing | None:
    offer, lines, schemas = same(), 0, 0
    for name, definition in offer.choices.items():
        size = size_of(name, definition)
        lines, schemas = lines + size.line, schemas + size.schema
        if lines > tokens or schemas > tokens * SCHEMAS_TO_LINES:
            return None
    names = tuple(offer.choices)
    return Showing(tuple(filter(_has_schema, names)), names, (), 0)


def _begin(offer: Offer, room: OfferRoom, needed: Sequence[str], ranked: Sequence[str]) -> Showing:
    shared = shared_choices(identity_of(offer), room)
    certain = [*needed, *(WAIT + one.definition.event_name for one in offer.waits if CLIENT in one.producers)]
    own = [name for name in needed if _has_schema(name) and name not in shared]
    likely = [name for name in ranked if _has_schema(name) and name not in shared and name not in own]
    most = room.tokens * SCHEMAS_TO_LINES
    left = max(LEAST_FOR_GOAL * most, SCHEMAS_AT_FIRST * most - _schemas_size(offer, shared))
    left -= _schemas_size(offer, own)
    for name in likely[: max(0, room.schemas - len(shared) - len(own))]:
        cost = size_of(name, offer.choices[name]).schema
        if cost <= left:
            own.append(name)
            left -= cost
    fits = _lines_size(tuple(offer.choices), identity_of(offer)) <= room.tokens
    for_lines = room.tokens if fits else int(LINES_AT_FIRST * room.tokens)
    wanted = (*shared, *own)
    lines = _fill(offer, for_lines, chain(wanted, certain, ranked, offer.choices), {*wanted, *certain})
    return _with_hidden(wanted, (*sorted(shared), *sorted(lines.difference(shared))), (), offer)


@lru_cache(maxsize=64)
def shared_choices(same: Same[Offer], room: OfferRoom) -> tuple[str, ...]:
    """Return the choices that stand first for all plans of a planner, with their schemas: the pinned ones, the most
    used ones, then others in their standing order."""
    offer, most = same(), room.tokens * SCHEMAS_TO_LINES
    pinned = (name for event in room.pinned for name in offer.choices_about.get(event, ()) if _has_schema(name))
    found = dict.fromkeys(pinned)
    held = most / max(1, _schemas_size(offer, filter(_has_schema, offer.choices)))
    left = most * min(MOST_SHARED, max(LEAST_SHARED, SHARED_OF_HELD * held)) - _schemas_size(offer, found)
    for_lines = SHARED_LINES * room.tokens
    used = (name for event in room.used for name in offer.choices_about.get(event, ()) if _has_schema(name))
    for name in chain(used, standing_order(same)):
        if name not in found:
            size = size_of(name, offer.choices[name])
            left, for_lines = left - size.schema, for_lines - size.line
            if min(left, for_lines) < 0 or len(found) >= int(SHARED_SCHEMAS * room.schemas):
                break
            found[name] = None
    return tuple(found)


def _schemas_size(offer: Offer, names: Iterable[str]) -> int:
    return sum(size_of(name, offer.choices[name]).schema for name in names)


def _fill(offer: Offer, left: int, names: Iterable[str], certain: Collection[str]) -> set[str]:
    """Return the choices within so many tokens: the certain ones, then the others in this order."""
    lines: set[str] = set()
    for name in names:
        cost = size_of(name, offer.choices[name]).line
        if name in lines:
            continue
        if cost > left and name not in certain:
            break
        left -= cost
        lines.add(name)
    return lines


def still_offered(before: Showing, offer: Offer) -> Showing:
    """Return the part of an earlier showing still on offer."""
    schemas, lines, added = (
        tuple(name for name in names if name in offer.choices) for names in (before.schemas, before.lines, before.added)
    )
    return _with_hidden(schemas, lines, added, offer)


def _is_overgrown(showing: Showing, offer: Offer, room: OfferRoom) -> bool:
    same = identity_of(offer)
    lines = _lines_size(showing.lines, same) + _lines_size(showing.added, same)
    schemas = _schemas_size(offer, showing.schemas)
    return lines > room.tokens or schemas > room.tokens * SCHEMAS_TO_LINES


# Of hundreds of lines most are those of the decision before.
@lru_cache(maxsize=64)
def _lines_size(names: tuple[str, ...], same: Same[Offer]) -> int:
    return sum(size_of(name, same().choices[name]).line for name in names)


def _with_hidden(schemas: tuple[str, ...], lines: tuple[str, ...], added: tuple[str, ...], offer: Offer) -> Showing:
    return Showing(schemas, lines, added, len(offer.choices) - len(lines) - len(added))


def _has_schema(name: str) -> bool:
    return not name.startswith(WAIT)
