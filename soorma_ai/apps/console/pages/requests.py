"""Requests of clients: the open ones, and one."""

import asyncio
from datetime import datetime, timedelta

from msgspec import Struct
from starlette.types import ASGIApp

from soorma_ai.apps.console.pages.plans import LONGEST_REASON
from soorma_ai.apps.console.siblings import Progress, progress_of
from soorma_ai.apps.console.words import pretty
from soorma_ai.context_parts.progress import Action
from soorma_ai.features.human_tasks.pages.facts import Facts, facts_of
from soorma_ai.features.tracking.requests import RequestDetails, find_details, list_requests, state_of
from soorma_ai.features.tracking.tracker import CALLS
from soorma_ai.kernel.domain.parameters import BY_REQUEST
from soorma_ai.kernel.domain.replies import content_of
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.authority import may
from soorma_ai.kernel.runtime.client.client import REQUESTS
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get, post

PAGE = 50
DONE = {"cancelled": "The request is cancelled.", "ended": "The request has a reply already."}


class RequestRow(Struct, frozen=True):
    """A request with its status in words, its age and its progress."""

    action: Action
    state: str
    age: timedelta
    progress: tuple[Progress, ...]


class Content(Struct, frozen=True):
    """Data of a request or of its reply: as facts, and as JSON. `text` is empty without data."""

    facts: Facts
    text: str = ""


async def show_list(visitor: PageContext) -> ASGIApp:
    client, before = visitor.client, visitor.query_value("before").strip()[:200]
    found, path = await list_requests(client.services, client.person, PAGE, before or None), visitor.frame.path
    return visitor.frame.page(
        "requests.html",
        title="Requests",
        section="/plans",
        rows=[_row(one, visitor.now) for one in found.actions],
        older=path("requests", before=found.before) if found.before else None,
        newest=path("requests") if before else None,
    )


async def show_request(visitor: PageContext) -> ASGIApp:
    client = visitor.client
    details = await find_details(client.services, client.person, visitor.part("request_id"), CALLS["request"])
    data, reply = await asyncio.to_thread(_contents, details)
    return visitor.frame.page(
        "request.html",
        title=details.action.event_type,
        section="/plans",
        row=_row(details.action, visitor.now),
        user=details.expected.user_id,
        deadline=details.expected.deadline,
        data=data,
        reply=reply,
        steers=not details.action.status.is_final and may(client.person, REQUESTS["cancel_request"], details.expected),
        done=DONE.get(visitor.query_value("done"), ""),
    )


async def cancel_request(visitor: PageContext) -> ASGIApp:
    request_id, reason = visitor.part("request_id"), visitor.form_value("reason").strip()[:LONGEST_REASON]
    is_cancelled = await visitor.client.cancel_request(request_id, reason or BY_REQUEST)
    return visitor.frame.see_other("requests", request_id, done="cancelled" if is_cancelled else "ended")


def _row(action: Action, now: datetime) -> RequestRow:
    return RequestRow(action, state_of(action), (action.ended_at or now) - action.requested_at, progress_of((action,)))


def _contents(details: RequestDetails) -> tuple[Content, Content]:
    reply = details.reply
    return _content(details.event.data), _content(content_of(reply.data)) if reply else Content(Facts())


def _content(value: Json) -> Content:
    facts = facts_of(value) if isinstance(value, dict) else Facts(is_whole=False)
    return Content(facts, pretty(value))


ROUTES: tuple[PageRoute, ...] = (
    get("/requests", show_list),
    get("/requests/{request_id}", show_request),
    post("/requests/{request_id}/cancel", cancel_request),
)
