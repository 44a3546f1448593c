"""One question in full, its payload, and its answers: in the inbox, and by a link."""

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from http import HTTPStatus

from msgspec import Struct, field
from starlette.responses import Response

from soorma_ai.api.server.routes.people import STATUS
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.human_tasks.difference import Difference
from soorma_ai.features.human_tasks.pages.answering import (
    AnswerRefusal,
    Sheet,
    answer_form,
    change_list,
    checks_of,
    judge,
    payload_form,
    sheet_of,
)
from soorma_ai.features.human_tasks.pages.facts import Facts, facts_of, json_line, show_text
from soorma_ai.features.human_tasks.question import QuestionDetails, question_details
from soorma_ai.features.human_tasks.service import inbox_of
from soorma_ai.features.human_tasks.summary import urgency
from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import ACCEPTED, INVALID, AnswerDecision, Ask
from soorma_ai.kernel.domain.values import Json, clip
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead
from soorma_ai.surfaces.forms.forms import FormField
from soorma_ai.surfaces.page_context import HEADERS, PageContext
from soorma_ai.surfaces.terminal.wording import ago, spending, time_left

MOST_SHOWN = 20_000
LONGEST_TEXT = 4_000
CLAIM, INSIST, RELEASE, HAND, SNOOZE = "claim", "insist", "release", "hand", "snooze"
# Hours of a snooze, and their words.
SNOOZES = {"1": "1 hour", "4": "4 hours", "24": "1 day", "168": "1 week"}
LONGEST_TITLE = 140
SMALL_TITLE = 60
LONGEST_REASON = 140
OPEN_FIELDS = "open"
SCRIPT = "scripted"  # the model of a script, which gives no reasons of its own
TOO_LATE = "Your answer was not recorded:"


class QuestionFrame(Struct, frozen=True):
    """Page around a question: its template with further variables, the path of the question with its
    query, and the path back."""

    template: str
    path: tuple[str, ...]
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    asked: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    back: str = ""


class QuestionView(Struct, frozen=True):
    """State of a form beside the question: its values, their faults, and changes that came between."""

    sheet: Sheet = field(default_factory=Sheet)
    refusal: AnswerRefusal | None = None
    fault: str = ""
    said: str = ""
    status: HTTPStatus = HTTPStatus.OK


async def load(visitor: PageContext, wait_id: str, *, looks: bool = False) -> QuestionDetails:
    """Return a question. With `looks`, a person's first look at it is recorded."""
    details = await question_details(visitor.client.services, visitor.client.person, wait_id)
    if looks and visitor.request.method == "GET":
        await inbox_of(visitor.client).look(wait_id, details.notices)
    return details


def show(
    visitor: PageContext, around: QuestionFrame, details: QuestionDetails, shown: QuestionView | None = None
) -> Response:
    """Return the page of a question."""
    shown = shown or QuestionView(said=visitor.query_value("said"))
    values = _question_values(visitor, details, around, shown)
    title = str(values["title"])
    return visitor.frame.page(around.template, shown.status, **{"title": title, **around.values, "question": values})


async def answer(visitor: PageContext, around: QuestionFrame, wait_id: str) -> Response:
    """Send a person's answer; an invalid one is shown again as it was filled in."""
    client, sheet, details = visitor.client, sheet_of(visitor.sent), await load(visitor, wait_id)
    if sheet.do in (CLAIM, INSIST, RELEASE, SNOOZE) or (sheet.do == HAND and visitor.link is None):
        return await _take(visitor, around, details, sheet.do)
    if sheet.do == OPEN_FIELDS:
        return show(visitor, around, details, QuestionView(sheet))
    if (changed := change_list(sheet)) is not None:
        return show(visitor, around, details, QuestionView(changed))
    # On threads, since a large form takes long to read.
    for schema, value in await asyncio.to_thread(checks_of, details.asked, sheet):
        await check_ahead(details.asked.tenant_id, schema, value)
    given = await asyncio.to_thread(judge, details.asked, sheet)
    if isinstance(given, AnswerRefusal):
        if not details.standing.is_open:
            return show(visitor, around, details, QuestionView(fault=TOO_LATE, status=HTTPStatus.CONFLICT))
        return show(visitor, around, details, QuestionView(sheet, given, status=HTTPStatus.UNPROCESSABLE_ENTITY))
    outcome = await client.answer(
        wait_id,
        given.payload,
        decision=given.decision,
        note=given.note,
        answer_id=visitor.form_value("answer_id") or None,
    )
    if outcome == ACCEPTED:
        return visitor.frame.see_other(*around.path, said=ACCEPTED, **around.asked)
    after, status = await load(visitor, wait_id), STATUS[str(outcome)]
    if outcome == INVALID:
        return show(visitor, around, after, QuestionView(sheet, AnswerRefusal(outcome.detail), status=status))
    return show(visitor, around, after, QuestionView(fault=f"{TOO_LATE} {outcome.detail}.", status=status))


async def _take(visitor: PageContext, around: QuestionFrame, details: QuestionDetails, do: str) -> Response:
    """Claim, release, assign or snooze a question."""
    inbox, wait_id = inbox_of(visitor.client), details.asked.id
    try:
        if do == RELEASE:
            await inbox.release(wait_id)
        elif do == HAND:
            await inbox.hand_over(wait_id, visitor.form_value("to"))
        elif do == SNOOZE:
            await inbox.snooze(wait_id, visitor.now + _snooze_span(visitor.form_value("hours")))
        else:
            await inbox.claim(wait_id, insist=do == INSIST)
    except LocalProtocolError as error:
        return show(visitor, around, details, QuestionView(fault=str(error), status=HTTPStatus.UNPROCESSABLE_ENTITY))
    return visitor.frame.see_other(*around.path, **around.asked)


def _snooze_span(hours: str) -> timedelta:
    """Return the span of a choice. Raise LocalProtocolError for another."""
    if hours not in SNOOZES:
        raise LocalProtocolError(f"{hours!r} is not offered; choose one of {', '.join(SNOOZES.values())}")
    return timedelta(hours=int(hours))


async def payload_of(details: QuestionDetails) -> Response:
    """Return the payload that is held, whole: a page shows no more than a part of a long one."""
    held = details.asked.ask.proposal if details.asked.ask else None
    if held is None:
        raise NotFound("this question holds no payload")
    name = f"payload-{held.digest[:12]}.json"
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}"'}
    return Response(await asyncio.to_thread(_pretty, held.data), HTTPStatus.OK, headers, "application/json")


def _question_values(
    visitor: PageContext, details: QuestionDetails, around: QuestionFrame, shown: QuestionView
) -> dict[str, object]:
    """Return the variables of the template of a question."""
    asked, frame, person = details.asked, visitor.frame, visitor.client.person
    ask = asked.ask
    assert ask is not None  # it is a question
    refusal, answered = shown.refusal, asked.answer
    form = payload_form(ask, shown.sheet, refusal)
    return {
        **_subject_values(details, ask),
        **_time_values(details, ask, visitor.now),
        "action": frame.path(*around.path, **around.asked),
        "payload_path": frame.path(*around.path, "payload"),
        "plan_path": frame.path("plans", details.plan.plan_id) if details.plan and frame.user else "",
        "back": around.back,
        "is_done": shown.said == ACCEPTED and answered is not None and answered.user_id == person.user_id,
        "form": form,
        "answer_form": answer_form(ask, shown.sheet, refusal),
        "is_editing": _is_editing(ask, shown.sheet, form),
        "sheet": shown.sheet,
        "refusal": refusal,
        "fault": shown.fault,
        "others": _other_faults(refusal),
        "snoozes": SNOOZES.items(),
        "is_holder": details.claim is not None and details.claim.user_id == person.user_id,
        "colleagues": details.colleagues if visitor.link is None else (),
        "links": details.links,
        "answer_id": visitor.client.services.clock.new_id(),
    }


def _is_editing(ask: Ask, sheet: Sheet, form: FormField | None) -> bool:
    """Tell whether the fields of the payload are open: on demand, or with something typed in them."""
    is_typed = bool(sheet.payload) and form != payload_form(ask, Sheet(), None)
    return is_typed or sheet.do in (OPEN_FIELDS, AnswerDecision.EDIT)


def _subject_values(details: QuestionDetails, ask: Ask) -> dict[str, object]:
    """Return the subject of a question: its sentence, its payload, and the reasons for it."""
    asked, held, why = details.asked, ask.proposal, details.reasoning
    agent, sentence = plain_name(asked.agent), _lines(ask.message) or f"{asked.event_type} is requested"
    payload, is_cut = _beginning(held.data) if held else ("", False)
    reasoning = _lines(why.words) if why else ""
    return {
        "asked": asked,
        "ask": ask,
        "held": held,
        "details": details,
        "sentence": sentence,
        "title": clip(sentence, LONGEST_TITLE),
        "is_small": len(sentence) > SMALL_TITLE,
        "is_cut": len(sentence) > LONGEST_TITLE,
        "who": _requester(agent, asked.user_id),
        "facts": facts_of(held.data, details.earlier.last_payload) if held else Facts(),
        "payload": payload,
        "payload_is_cut": is_cut,
        "changes": _changes(details.since),
        "budget": spending(details.spent, details.plan.limits) if details.plan and details.spent else "",
        "reasoning": reasoning,
        "reason": clip(" ".join(reasoning.split()), LONGEST_REASON),
        "reason_is_cut": len(reasoning) > LONGEST_REASON,
        "model": why.model if why and why.model != SCRIPT else "",
    }


def _requester(agent: str, user_id: str) -> str:
    """Return the name of an agent, with its user; of a client, the user alone."""
    if not user_id:
        return agent
    return user_id if agent == CLIENT else f"{agent} on behalf of {user_id}"


def _time_values(details: QuestionDetails, ask: Ask, now: datetime) -> dict[str, object]:
    """Return the times of a question, and the people that may answer it by now."""
    asked, last_at = details.asked, details.earlier.last_at
    return {
        "left": time_left(asked.deadline, now),
        "urgency": urgency(asked.opened_at, asked.deadline, now),
        "asked_ago": ago(asked.opened_at, now),
        "who_may": ", ".join(ask.approvers_at(asked.opened_at, now)) or "anybody",
        "last_ago": ago(last_at, now) if last_at else "",
    }


def _other_faults(refusal: AnswerRefusal | None) -> tuple[str, ...]:
    """Return the faults of a payload or an answer as a whole."""
    readings = (refusal.payload, refusal.answer) if refusal else ()
    return tuple(fault for one in readings if one for fault in one.others)


def _changes(since: Difference | None) -> list[tuple[str, str, str]]:
    if since is None:
        return []
    return [(one.path.removeprefix("$."), json_line(one.was), json_line(one.now)) for one in since.changes]


def _beginning(value: Json) -> tuple[str, bool]:
    """Return the part of a value that a page shows, as JSON without invisible characters, and whether there is more. No
    more of it is written than that."""
    written, size = list[str](), 0
    for chunk in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value):
        written.append(chunk[: MOST_SHOWN + 1])
        size += len(written[-1])
        if size > MOST_SHOWN:
            break
    return show_text(clip("".join(written), MOST_SHOWN)), size > MOST_SHOWN


def _pretty(value: Json) -> str:
    """Return JSON without invisible characters. With unprintable ones in it, all but ASCII is spelled out."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text if text.replace("\n", "").isprintable() else json.dumps(value, indent=2)


def _lines(text: str) -> str:
    return clip(text.strip(), LONGEST_TEXT)
