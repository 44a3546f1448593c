"""Routes of questions to people, and of the inbox."""

from http import HTTPStatus

from soorma_ai.api.operation import Answer, operations
from soorma_ai.api.paging import Page, make_page
from soorma_ai.api.server.app_state import Call
from soorma_ai.errors import NotFound
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.listing import question_page
from soorma_ai.features.human_tasks.service import CALLS, Inbox
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.expectations import ExpectationKind, Wait
from soorma_ai.kernel.domain.parameters import Id, Limit
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.runtime.client.client import QUESTIONS

HANDLERS = CallTable()


@HANDLERS("GET /doubts", QUESTIONS["waits"], "list_doubts", answers={HTTPStatus.OK: Page[Wait]}, raises=(NotFound,))
async def list_doubts(call: Call, after: Id | None = None, limit: Limit = 50) -> Answer:
    """List the questions about calls outside of which nobody knows whether they happened, the most urgent first."""
    return Answer(await list_waits(call, after, limit, kind=ExpectationKind.DOUBT))


async def list_waits(
    call: Call, after: str | None, limit: int, plan_id: str | None = None, kind: ExpectationKind | None = None
) -> Page[Wait]:
    """Return a page of open questions."""
    client, beyond = call.client, Place(after) if after is not None else None
    found = await question_page(client.services, client.person, limit, plan_id, beyond=beyond, kind=kind)
    if beyond is not None and found.begin is None:
        return make_page([], None)
    return make_page(found.waits, found.waits[-1].wait_id if found.has_more else None)


def inbox_of(call: Call) -> Inbox:
    client = call.client
    return Inbox(client.services, client.person, client.caller, call.surroundings.find(Links))


OPERATIONS = (
    *operations(QUESTIONS, "people", lambda call: call.client, waits=list_waits),
    *operations(HANDLERS, "people"),
    *operations(CALLS, "inbox", inbox_of),
)
