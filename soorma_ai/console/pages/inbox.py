"""The inbox: what people are asked, one question in full, and their answers."""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus

from starlette.responses import Response
from starlette.types import ASGIApp

from soorma_ai.console.answering import Refusal, Sheet, answer_form, change_list, judge, payload_form, sheet_of
from soorma_ai.console.visitor import HEADERS, PageRoute, Visitor, get, post
from soorma_ai.core.report.difference import Difference
from soorma_ai.core.report.questions import Urgency, urgency
from soorma_ai.core.report.shapes import Absent, Found
from soorma_ai.domain.expectations import Wait
from soorma_ai.domain.people import ACCEPTED, INVALID
from soorma_ai.domain.values import Json, clip
from soorma_ai.errors import NotFound
from soorma_ai.runtime.client.questions import QuestionDetails, question_details
from soorma_ai.server.routes.people import STATUS
from soorma_ai.terminal.wording import ago, spending, time_left

PAGE = 50
MOST_PAGES = 20
MOST_SHOWN = 20_000
LONGEST_LINE = 160
LONGEST_NAME = 60
LONGEST_TEXT = 4_000
_UNSEEN = re.compile(r"[^ -~]")
TOO_LATE = "Your answer was not taken:"


@dataclass(frozen=True)
class Row:
    """A question as a line of the list. `left` is how much time there is, in words."""

    wait_id: str
    what: str
    who: str
    left: str
    urgency: Urgency


@dataclass(frozen=True)
class Queue:
    """One page of the questions. `count` is how many there are, `50+` where not all were counted."""

    rows: tuple[Row, ...]
    count: str
    page: int
    has_more: bool


@dataclass(frozen=True)
class Shown:
    """What a page shows beside the question: what was filled in, what is wrong with that, what came between."""

    sheet: Sheet = field(default_factory=Sheet)
    refusal: Refusal | None = None
    fault: str = ""
    said: str = ""
    status: HTTPStatus = HTTPStatus.OK
    is_list: bool = False


async def show_inbox(visitor: Visitor) -> ASGIApp:
    """Show the list, and beside it the most urgent question."""
    queue = await _queue(visitor)
    first = queue.rows[0].wait_id if queue.rows else None
    try:
        details = await question_details(visitor.client.services, visitor.client.person, first) if first else None
    except NotFound:
        details = None  # it has gone since
    return _page(visitor, queue, details, Shown(is_list=True))


async def show_question(visitor: Visitor) -> ASGIApp:
    details = await question_details(visitor.client.services, visitor.client.person, visitor.part("wait_id"))
    return _page(visitor, await _queue(visitor), details, Shown(said=visitor.asked("said")))


async def answer_question(visitor: Visitor) -> ASGIApp:
    """Say what a person decided; what cannot be said is shown again as they filled it in."""
    client, sheet = visitor.client, sheet_of(visitor.sent)
    wait_id = visitor.part("wait_id")
    details = await question_details(client.services, client.person, wait_id)
    if (changed := change_list(sheet)) is not None:
        return _page(visitor, await _queue(visitor), details, Shown(changed))
    given = judge(details.asked, sheet)
    if isinstance(given, Refusal):
        if not details.standing.is_open:
            return _page(visitor, await _queue(visitor), details, Shown(fault=TOO_LATE, status=HTTPStatus.CONFLICT))
        shown = Shown(sheet, given, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        return _page(visitor, await _queue(visitor), details, shown)
    outcome = await client.answer(
        wait_id, given.payload, decision=given.decision, note=given.note, answer_id=visitor.said("answer_id") or None
    )
    if outcome == ACCEPTED:
        return visitor.frame.see_other("inbox", wait_id, said="accepted", page=visitor.asked("page") or None)
    after = await question_details(client.services, client.person, wait_id)
    status = STATUS[str(outcome)]
    if outcome == INVALID:
        return _page(visitor, await _queue(visitor), after, Shown(sheet, Refusal(outcome.detail), status=status))
    return _page(visitor, await _queue(visitor), after, Shown(fault=f"{TOO_LATE} {outcome.detail}.", status=status))


async def download_payload(visitor: Visitor) -> ASGIApp:
    """Send the payload that is held, whole: a page shows no more than a part of a long one."""
    asked = (await question_details(visitor.client.services, visitor.client.person, visitor.part("wait_id"))).asked
    held = asked.ask.proposal if asked.ask else None
    if held is None:
        raise NotFound("this question holds no payload")
    name = f"payload-{held.digest[:12]}.json"
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}"'}
    return Response(_pretty(held.data), HTTPStatus.OK, headers, "application/json")


def _page(visitor: Visitor, queue: Queue, details: QuestionDetails | None, shown: Shown) -> Response:
    asked = details.asked if details else None
    values = _question_values(visitor, details, shown) if details else {}
    here = ("inbox", asked.id) if asked else ("inbox",)
    page = queue.page if queue.page > 1 else None
    return visitor.frame.page(
        "inbox.html",
        shown.status,
        title="Inbox",
        section="/inbox",
        queue=queue,
        chosen=asked.id if asked else None,
        here=visitor.frame.path(*here, page=page),
        is_list=shown.is_list,
        said=shown.said,
        question=values or None,
    )


def _question_values(visitor: Visitor, details: QuestionDetails, shown: Shown) -> dict[str, object]:
    """Return what the template of a question shows."""
    asked, now = details.asked, visitor.now
    ask = asked.ask
    assert ask is not None  # it is a question
    sheet, refusal, held = shown.sheet, shown.refusal, ask.proposal
    payload = _pretty(held.data) if held else ""
    who = f"{asked.agent} for {asked.user_id}" if asked.user_id else asked.agent
    return {
        "asked": asked,
        "ask": ask,
        "held": held,
        "sentence": _lines(ask.message) or f"{asked.event_type} is asked for",
        "details": details,
        "who": who,
        "left": time_left(asked.deadline, now),
        "urgency": urgency(asked.opened_at, asked.deadline, now),
        "asked_ago": ago(asked.opened_at, now),
        "who_may": ", ".join(ask.approvers_at(asked.opened_at, now)) or "anybody",
        "last_ago": ago(details.earlier.last_at, now) if details.earlier.last_at else "",
        "changes": _changes(details.since),
        "budget": spending(details.spent, details.plan.limits) if details.plan and details.spent else "",
        "reasoning": _lines(details.reasoning.words) if details.reasoning else "",
        "payload": clip(payload, MOST_SHOWN),
        "payload_chars": len(payload) if len(payload) > MOST_SHOWN else 0,
        "form": payload_form(ask, sheet, refusal),
        "answer_form": answer_form(ask, sheet, refusal),
        "is_changing": bool(sheet.payload),
        "sheet": sheet,
        "refusal": refusal,
        "fault": shown.fault,
        "others": _other_faults(refusal),
        "answer_id": visitor.client.services.clock.new_id(),
    }


async def _queue(visitor: Visitor) -> Queue:
    said = visitor.asked("page", "1")
    page = min(int(said), MOST_PAGES) if said.isascii() and said.isdigit() and 0 < len(said) < 4 else 1
    page, now = max(page, 1), visitor.now
    found = await visitor.client.waits(limit=page * PAGE + 1)
    begin = (page - 1) * PAGE
    has_more = len(found) > page * PAGE
    count = f"{page * PAGE}+" if has_more else str(len(found))
    rows = tuple(_row(wait, now) for wait in found[begin : begin + PAGE])
    return Queue(rows, count, page, has_more and page < MOST_PAGES)


def _row(wait: Wait, now: datetime) -> Row:
    return Row(
        wait.wait_id,
        clip(" ".join(wait.message.split()), LONGEST_LINE) or wait.expected_event,
        clip(wait.agent, LONGEST_NAME),
        time_left(wait.deadline, now),
        urgency(wait.opened_at, wait.deadline, now),
    )


def _other_faults(refusal: Refusal | None) -> tuple[str, ...]:
    """Return what is wrong with a payload or an answer as a whole."""
    readings = (refusal.payload, refusal.answer) if refusal else ()
    return tuple(fault for one in readings if one for fault in one.others)


def _changes(since: Difference | None) -> list[tuple[str, str, str]]:
    return [(one.path, _value(one.was), _value(one.now)) for one in since.changes] if since else []


def _pretty(value: Json) -> str:
    """Return JSON in which everything is seen: what would turn text around is spelled out, as JSON allows."""
    return _show(json.dumps(value, indent=2, ensure_ascii=False))


def _spell_out(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() or found[0] == "\n" else json.dumps(found[0])[1:-1]


def _value(value: Found) -> str:
    return "" if isinstance(value, Absent) else clip(_show(json.dumps(value, ensure_ascii=False)), LONGEST_LINE)


def _show(text: str) -> str:
    return _UNSEEN.sub(_spell_out, text)


def _lines(text: str) -> str:
    return clip(text.strip(), LONGEST_TEXT)


ROUTES: tuple[PageRoute, ...] = (
    get("/inbox", show_inbox),
    get("/inbox/{wait_id}", show_question),
    post("/inbox/{wait_id}", answer_question),
    get("/inbox/{wait_id}/payload", download_payload),
)
