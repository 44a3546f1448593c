"""Pages of a person's signed link: one question, or a queue of them, without signing in.

Opening answers nothing: mail programs open links, too. A link shows the outcome of a closed question,
without its payload.
"""

from http import HTTPStatus
from typing import Literal

from starlette.types import ASGIApp

from soorma_ai.errors import NotFound
from soorma_ai.features.human_tasks.pages import question
from soorma_ai.features.human_tasks.pages.inbox import read_queue
from soorma_ai.features.human_tasks.pages.question import QuestionFrame
from soorma_ai.features.human_tasks.question import QuestionDetails
from soorma_ai.features.human_tasks.records import LinkKind
from soorma_ai.surfaces.page_context import Handler, OpenedLink, PageContext, PageRoute

_QUESTION, _QUEUE = "link.html", "queue.html"


async def open_link(visitor: PageContext) -> ASGIApp:
    return question.show(visitor, _around(visitor), await question.load(visitor, _link(visitor).about, looks=True))


async def answer_link(visitor: PageContext) -> ASGIApp:
    return await question.answer(visitor, _around(visitor), _link(visitor).about)


async def send_payload(visitor: PageContext) -> ASGIApp:
    details = await question.load(visitor, _link(visitor).about)
    if not details.standing.is_open:
        raise NotFound("this question is answered or has expired: a link shows its outcome only")
    return await question.payload_of(details)


async def open_queue(visitor: PageContext) -> ASGIApp:
    around = await _around_queue(visitor)
    return visitor.frame.page(_QUEUE, HTTPStatus.OK, **{**around.values, "question": None})


async def open_in_queue(visitor: PageContext) -> ASGIApp:
    wait_id = visitor.part("wait_id")
    details = await _of_queue(visitor, wait_id, looks=True)
    return question.show(visitor, await _around_queue(visitor, wait_id), details)


async def answer_in_queue(visitor: PageContext) -> ASGIApp:
    wait_id = visitor.part("wait_id")
    await _of_queue(visitor, wait_id)
    return await question.answer(visitor, await _around_queue(visitor, wait_id), wait_id)


async def send_payload_in_queue(visitor: PageContext) -> ASGIApp:
    return await question.payload_of(await _of_queue(visitor, visitor.part("wait_id")))


async def _of_queue(visitor: PageContext, wait_id: str, *, looks: bool = False) -> QuestionDetails:
    """Return a question of the queue. Raise NotFound for any other question."""
    link, details = _link(visitor), await question.load(visitor, wait_id, looks=looks)
    if link.kind == "plan":
        plan = await visitor.client.services.store.plans.plan(link.about)
        if plan is None or details.asked.root_plan_id != plan.root_plan_id:
            raise NotFound(f"no question {wait_id} is asked in plan {link.about}")
    return details


def _link(visitor: PageContext) -> OpenedLink:
    assert visitor.link is not None  # the page is for who comes by one
    return visitor.link


def _around(visitor: PageContext) -> QuestionFrame:
    return QuestionFrame(_QUESTION, ("answers", visitor.part("token")))


async def _around_queue(visitor: PageContext, wait_id: str | None = None) -> QuestionFrame:
    link, token = _link(visitor), visitor.part("token")
    queue = await read_queue(visitor, link.about or None)
    values = {"title": "Questions", "queue": queue, "chosen": wait_id, "token": token}
    path = ("queue", token, wait_id) if wait_id else ("queue", token)
    back = visitor.frame.path("queue", token, after=queue.begin)
    return QuestionFrame(_QUEUE, path, values, {"after": queue.begin}, back)


def by_link(method: Literal["GET", "POST"], path: str, handle: Handler, *kinds: LinkKind) -> PageRoute:
    return PageRoute(method, path, handle, kinds or ("question",))


# The first is where links lead that were sent out; what is posted there is an answer as JSON.
ROUTES: tuple[PageRoute, ...] = (
    by_link("GET", "/v1/answers/{token}", open_link),
    by_link("GET", "/answers/{token}", open_link),
    by_link("POST", "/answers/{token}", answer_link),
    by_link("GET", "/answers/{token}/payload", send_payload),
    by_link("GET", "/queue/{token}", open_queue, "plan", "inbox"),
    by_link("GET", "/queue/{token}/{wait_id}", open_in_queue, "plan", "inbox"),
    by_link("POST", "/queue/{token}/{wait_id}", answer_in_queue, "plan", "inbox"),
    by_link("GET", "/queue/{token}/{wait_id}/payload", send_payload_in_queue, "plan", "inbox"),
)
