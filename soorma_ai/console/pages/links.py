"""A question that somebody opens by the link that was sent to them."""

from starlette.types import ASGIApp

from soorma_ai.console.pages import question
from soorma_ai.console.pages.question import Around
from soorma_ai.console.visitor import PageRoute, Visitor, by_link


async def open_link(visitor: Visitor) -> ASGIApp:
    """Show the question. Nothing is answered by that: mail programs open links, too."""
    return question.show(visitor, _around(visitor), await question.load(visitor, visitor.link))


async def answer_link(visitor: Visitor) -> ASGIApp:
    return await question.answer(visitor, _around(visitor), visitor.link)


async def send_payload(visitor: Visitor) -> ASGIApp:
    return await question.payload_of(await question.load(visitor, visitor.link))


def _around(visitor: Visitor) -> Around:
    return Around("link.html", ("answers", visitor.part("token")))


# The first is where links lead that were sent out; what is posted there is an answer as JSON.
ROUTES: tuple[PageRoute, ...] = (
    by_link("GET", "/v1/answers/{token}", open_link),
    by_link("GET", "/answers/{token}", open_link),
    by_link("POST", "/answers/{token}", answer_link),
    by_link("GET", "/answers/{token}/payload", send_payload),
)
