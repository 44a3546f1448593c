"""The inbox: open questions, and one of them beside the list."""

from datetime import datetime
from http import HTTPStatus

from msgspec import Struct
from starlette.types import ASGIApp

from soorma_ai.errors import NotFound
from soorma_ai.features.human_tasks.pages import question
from soorma_ai.features.human_tasks.pages.question import QuestionFrame
from soorma_ai.features.human_tasks.summary import Urgency, urgency
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.runtime.client.questions import count_questions, question_page
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get, post
from soorma_ai.surfaces.terminal.wording import time_left

PAGE = 25
LONGEST_LINE = 160
LONGEST_NAME = 60
TEMPLATE = "inbox.html"


class QuestionRow(Struct, frozen=True):
    """A question as a line of the list. `left` is how much time there is, in words; `holder` has it in hand."""

    wait_id: str
    what: str
    who: str
    left: str
    urgency: Urgency
    holder: str


class QuestionList(Struct, frozen=True):
    """One page of the questions. `count` is their number on all pages, in words if it is not known exactly. The
    page begins behind the question `begin`; `earlier` and `later` are the places of the pages beside it, None for the
    first and the last page."""

    rows: tuple[QuestionRow, ...]
    count: str
    begin: str | None = None
    earlier: str | None = None
    later: str | None = None


async def show_inbox(visitor: PageContext) -> ASGIApp:
    """Show the list, and beside it the most urgent question."""
    queue = await read_queue(visitor)
    first = queue.rows[0].wait_id if queue.rows else None
    try:
        details = await question.load(visitor, first, looks=True) if first else None
    except NotFound:
        details = None  # it has gone since
    if details is not None:
        return question.show(visitor, _around(visitor, queue, details.asked.id, is_list=True), details)
    values = {**_around(visitor, queue, None, is_list=True).values, "question": None}
    return visitor.frame.page(TEMPLATE, HTTPStatus.OK, **values)


async def show_question(visitor: PageContext) -> ASGIApp:
    details = await question.load(visitor, visitor.part("wait_id"), looks=True)
    return question.show(visitor, _around(visitor, await read_queue(visitor), details.asked.id), details)


async def answer_question(visitor: PageContext) -> ASGIApp:
    wait_id = visitor.part("wait_id")
    return await question.answer(visitor, _around(visitor, await read_queue(visitor), wait_id), wait_id)


async def send_payload(visitor: PageContext) -> ASGIApp:
    return await question.payload_of(await question.load(visitor, visitor.part("wait_id")))


def _around(visitor: PageContext, queue: QuestionList, wait_id: str | None, *, is_list: bool = False) -> QuestionFrame:
    path = ("inbox", wait_id) if wait_id else ("inbox",)
    values: dict[str, object] = {
        "title": "Inbox",
        "section": "/inbox",
        "queue": queue,
        "chosen": wait_id,
        "here": visitor.frame.path(*path, after=queue.begin),
        "is_list": is_list,
    }
    return QuestionFrame(TEMPLATE, path, values, {"after": queue.begin}, visitor.frame.path("inbox", after=queue.begin))


async def read_queue(visitor: PageContext, plan_id: str | None = None) -> QuestionList:
    """Return the wanted page of the list; with a `plan_id`, of the questions of its tree."""
    services, person, now = visitor.client.services, visitor.client.person, visitor.now
    try:
        page = await question_page(services, person, PAGE, plan_id, beyond=visitor.place)
    except NotFound:  # it is forgotten by now, or was none of theirs
        page = await question_page(services, person, PAGE, plan_id)
    counted = await count_questions(services, person, plan_id)
    rows = tuple(_row(wait, now) for wait in page.waits)
    return QuestionList(
        rows,
        f"{counted.number:,}" if counted.is_exact else f"about {counted.number:,}",
        page.begin,
        rows[0].wait_id if page.begin and rows else None,
        rows[-1].wait_id if page.has_more else None,
    )


def _row(wait: Wait, now: datetime) -> QuestionRow:
    return QuestionRow(
        wait.wait_id,
        clip(" ".join(wait.message.split()), LONGEST_LINE) or wait.expected_event,
        clip(wait.agent, LONGEST_NAME),
        time_left(wait.deadline, now),
        urgency(wait.opened_at, wait.deadline, now),
        clip(wait.claim.user_id, LONGEST_NAME) if wait.claim else "",
    )


ROUTES: tuple[PageRoute, ...] = (
    get("/inbox", show_inbox),
    get("/inbox/{wait_id}", show_question),
    post("/inbox/{wait_id}", answer_question),
    get("/inbox/{wait_id}/payload", send_payload),
)
