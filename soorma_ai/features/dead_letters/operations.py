"""Routes of dead letters."""

from soorma_ai.api.operation import operations
from soorma_ai.api.paging import Page, make_page
from soorma_ai.api.server.app_state import Call
from soorma_ai.errors import NotFound
from soorma_ai.features.dead_letters.records import Letter
from soorma_ai.features.dead_letters.service import CALLS, dead_letter_page, letters_of
from soorma_ai.kernel.ports import Place


async def list_letters(call: Call, after: str | None, limit: int) -> Page[Letter]:
    """Return a page of the dead letters that a person sees."""
    beyond = _place(after) if after is not None else None
    found = await dead_letter_page(call.client.services, call.client.person, limit, beyond)
    return make_page(found.letters, str(found.letters[-1].letter_id) if found.older else None)


def _place(after: str) -> Place:
    """Return the place of a letter. Raise NotFound for anything but the number of one."""
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise NotFound(f"after={after[:40]!r} is no number of a dead letter; begin anew without it")
    return Place(after)


OPERATIONS = operations(CALLS, "dead_letters", lambda call: letters_of(call.client), dead_letters=list_letters)
