"""Dead letters, and outside calls with an unknown outcome."""

from starlette.types import ASGIApp

from soorma_ai.errors import Forbidden, NotFound
from soorma_ai.features.dead_letters.service import REDRIVE, dead_letter_page, letters_of, own_row
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.runtime.client.questions import question_page
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get, post

PAGE = 50
LONGEST_NOTE = 2_000
DONE = {
    "redriven": "The letter is queued again.",
    "discarded": "The letter is discarded.",
    "no letter": "It is no longer a dead letter.",
}


async def list_dead_letters(visitor: PageContext) -> ASGIApp:
    client, place = visitor.client, visitor.place
    page = await dead_letter_page(
        client.services, client.person, PAGE, place if place and is_number(place.id) else None
    )
    letters, path = page.letters, visitor.frame.path
    return visitor.frame.page(
        "letters.html",
        title="Dead letters",
        section="/agents",
        letters=letters,
        newer=path("dead-letters", before=letters[0].letter_id) if page.newer and letters else None,
        older=path("dead-letters", after=letters[-1].letter_id) if page.older and letters else None,
        newest=path("dead-letters") if page.newer else None,
        done=DONE.get(visitor.query_value("done"), ""),
    )


async def list_doubts(visitor: PageContext) -> ASGIApp:
    client, path = visitor.client, visitor.frame.path
    page = await question_page(client.services, client.person, PAGE, beyond=visitor.place, kind=ExpectationKind.DOUBT)
    waits = page.waits
    return visitor.frame.page(
        "doubts.html",
        title="In doubt",
        section="/agents",
        doubts=waits,
        earlier=path("doubts", before=waits[0].wait_id) if page.begin and waits else None,
        later=path("doubts", after=waits[-1].wait_id) if page.has_more else None,
    )


async def show_dead_letter(visitor: PageContext) -> ASGIApp:
    letter = await letters_of(visitor.client).dead_letter(_number(visitor))
    return visitor.frame.page(
        "letter.html",
        title=f"Dead letter {letter.letter_id}",
        section="/agents",
        now=visitor.now,
        letter=letter,
        steers=await _steers(visitor, letter.letter_id),
    )


async def _steers(visitor: PageContext, letter_id: int) -> bool:
    """Tell whether a letter is the visitor's to redrive and to discard."""
    try:
        await own_row(visitor.client.services, visitor.client.person, letter_id, REDRIVE)
    except Forbidden:
        return False
    return True


async def redrive(visitor: PageContext) -> ASGIApp:
    is_redriven = await letters_of(visitor.client).redrive(_number(visitor))
    return _go_back(visitor, "redriven" if is_redriven else "no letter")


async def discard(visitor: PageContext) -> ASGIApp:
    note = visitor.form_value("note").strip()[:LONGEST_NOTE]
    is_discarded = await letters_of(visitor.client).discard(_number(visitor), note)
    return _go_back(visitor, "discarded" if is_discarded else "no letter")


def is_number(said: str) -> bool:
    return said.isascii() and said.isdigit() and len(said) < 19


def _number(visitor: PageContext) -> int:
    said = visitor.part("letter_id")
    if not is_number(said):
        raise NotFound(f"no dead letter {said[:40]!r}: give its number")
    return int(said)


def _go_back(visitor: PageContext, done: str) -> ASGIApp:
    return visitor.frame.see_other("dead-letters", done=done)


ROUTES: tuple[PageRoute, ...] = (
    get("/doubts", list_doubts),
    get("/dead-letters", list_dead_letters),
    get("/dead-letters/{letter_id}", show_dead_letter),
    post("/dead-letters/{letter_id}/redrive", redrive),
    post("/dead-letters/{letter_id}/discard", discard),
)
