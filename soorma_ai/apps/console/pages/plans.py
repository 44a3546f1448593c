"""Plans: all of them, and one."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from functools import partial
from http import HTTPStatus

from starlette.responses import StreamingResponse
from starlette.types import ASGIApp

from soorma_ai.apps.console.plan_view import tell_decision, view_of
from soorma_ai.apps.console.siblings import Progress, progress_of
from soorma_ai.context_parts.progress import PlanPage
from soorma_ai.errors import Forbidden, LocalProtocolError, NotFound
from soorma_ai.features.tracking.lines import LineKind, decision_line, flatten
from soorma_ai.features.tracking.plan_parts import STEPS, is_long, show_part
from soorma_ai.features.tracking.plan_views import trace_of
from soorma_ai.features.tracking.service import reader_of
from soorma_ai.features.tracking.trace import Trace, TurnRange, count_turns
from soorma_ai.features.trials.pages import DONE as CASE_DONE
from soorma_ai.features.trials.pages import case_form
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import ACCEPTED, DUPLICATE, INVALID, LATE, SUPERSEDED
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord, PlanStatus
from soorma_ai.kernel.domain.states import RESUMED
from soorma_ai.kernel.rules.authority import RESUME, Owner, can_answer, may
from soorma_ai.kernel.runtime.client.client import PLANS
from soorma_ai.kernel.runtime.views.plans import ACTIVE, own_plan
from soorma_ai.surfaces.page_context import HEADERS, PageContext, PageRoute, get, post

PAGE = 50
MOST_CANCELLED = 50
EVENTS = 20
MOST_WAITS = 20
LONGEST_REASON = 2_000
TURNS = 15
MOST_COUNTED = 1_500  # events of a plan, for its progress
# What was done, by what an address says of it: no address puts words of its own on a page.
DONE = {
    "cancelled": "Cancelling the plan and its parts.",
    "ended": "The plan ended before.",
    ACCEPTED: "The plan continues.",
    DUPLICATE: "Another answer came first.",
    LATE: "Too late: the deadline has passed.",
    SUPERSEDED: "The plan had continued before.",
    INVALID: "Not accepted. The plan is still paused.",
}
STATUSES = (ACTIVE, *PlanStatus)


async def list_plans(visitor: PageContext) -> ASGIApp:
    status, session, search = (visitor.query_value(name).strip() for name in ("status", "session", "search"))
    if status not in ("", *STATUSES):
        raise LocalProtocolError(f"{status[:40]!r} is no status of a plan; there are {', '.join(STATUSES)}")
    before = number(visitor.query_value("before"))
    page = await reader_of(visitor.client).tracker.plans(
        status=status or None, session_id=session or None, search=search[:200], before=before, limit=PAGE
    )
    asked = {"status": status or None, "session": session or None, "search": search or None}
    return visitor.frame.page(
        "plans.html",
        title="Plans",
        section="/plans",
        page=page,
        now=visitor.now,
        statuses=STATUSES,
        asked=asked,
        command=_command_of(asked),
        older=None if page.is_end else visitor.frame.path("plans", **asked, before=page.before),
        newest=visitor.frame.path("plans", **asked) if before else None,
        done=_bulk_summary(visitor),
        age=_age_of(page, visitor),
        mine=frozenset(one.plan_id for one in page.plans if not one.status.is_final and _steers(visitor, one.user_id)),
    )


def _steers(visitor: PageContext, user_id: str) -> bool:
    """Tell whether a plan of this user is the visitor's to cancel."""
    person = visitor.client.person
    return may(person, PLANS["cancel"], Owner(person.tenant_id, user_id))


def _age_of(page: PlanPage, visitor: PageContext) -> dict[str, timedelta]:
    """Return how long each plan took, or has lasted by now."""
    ends = {one.plan_id: one.updated_at if one.status.is_final else visitor.now for one in page.plans}
    return {one.plan_id: ends[one.plan_id] - one.created_at for one in page.plans}


def _command_of(asked: dict[str, str | None]) -> str:
    status = asked["status"]
    return f"soorma plans ls --status {status}" if status and status != ACTIVE else "soorma plans ls"


async def cancel_plans(visitor: PageContext) -> ASGIApp:
    """Cancel the plans that are ticked, and tell how many that were."""
    chosen = list(dict.fromkeys(value for key, value in visitor.sent if key == "plan"))[:MOST_CANCELLED]
    reason = visitor.form_value("reason").strip()[:LONGEST_REASON]
    cancelled, missing, refused = 0, 0, 0
    for plan_id in chosen:
        try:
            cancelled += await visitor.client.cancel(plan_id, reason)
        except NotFound:
            missing += 1
        except Forbidden:
            refused += 1
    ended, status = len(chosen) - cancelled - missing - refused, visitor.form_value("status") or None
    told = {"cancelled": cancelled, "ended": ended, "missing": missing, "refused": refused}
    return visitor.frame.see_other("plans", status=status, **told)


def _bulk_summary(visitor: PageContext) -> str:
    """Return the outcome for selected plans, from the numbers in the address."""
    if not visitor.query_value("cancelled"):
        return ""
    counts = {
        "cancelling": "cancelled",
        "ended already": "ended",
        "not found": "missing",
        "not yours to cancel": "refused",
    }
    said = [f"{count} {words}" for words, field in counts.items() if (count := number(visitor.query_value(field)))]
    return ", ".join(said) or "no plan was selected"


async def show_plan(visitor: PageContext) -> ASGIApp:
    """Show a part of a plan, from the turn or step on that the address names, else its end. A long plan is read by
    parts, too."""
    plan_id, client = visitor.part("plan_id"), visitor.client
    record = await own_plan(client.services, client.person, plan_id)
    is_by_parts = await is_long(client.services, record)
    trace, shown = await (_step_part if is_by_parts else _turn_part)(visitor, record)
    after = number(visitor.query_value("after"))
    events = await client.events(plan_id=plan_id, after=after, limit=EVENTS)
    children = [line for line in flatten(trace.lines) if line.kind is LineKind.PLAN][:EVENTS]
    return visitor.frame.page(
        "plan.html",
        HTTPStatus.OK,
        section="/plans",
        now=visitor.now,
        progress=await _progress(visitor, record, is_by_parts=is_by_parts),
        waits=await client.waits(plan_id=plan_id, limit=MOST_WAITS),
        children=children,
        steers=may(client.person, PLANS["cancel"], record.lineage),
        is_paused=any(can_answer(client.person, one, visitor.now) for one in _pauses(trace))
        or (bool(trace.blocked) and may(client.person, RESUME, record.lineage)),
        events=events,
        next_events=None if events.is_end else visitor.frame.path("plans", plan_id, after=events.after),
        done=DONE.get(visitor.query_value("done"), ""),
        **shown,
    )


async def _progress(visitor: PageContext, plan: PlanRecord, *, is_by_parts: bool) -> tuple[Progress, ...]:
    """Return the progress of a plan; nothing of one with more events than are read for it."""
    client = visitor.client
    if is_by_parts:
        log = client.services.store.events
        found = await log.events(
            tenant_id=client.person.tenant_id, root_plan_id=plan.root_plan_id, limit=MOST_COUNTED + 1
        )
        if len(found) > MOST_COUNTED:
            return ()
    return progress_of(await reader_of(client).tracker.actions(plan.plan_id))


async def _turn_part(visitor: PageContext, plan: PlanRecord) -> tuple[Trace, Mapping[str, object]]:
    """Return a part of a plan that is read as a whole, and its view."""
    said, plan_id = visitor.query_value("turn"), plan.plan_id
    part = TurnRange(TURNS, number(said) if said else None)
    trace = await trace_of(visitor.client.services, visitor.client.person, plan_id, part)
    count = count_turns(trace)
    told, path = part.of(count), visitor.frame.path
    later = told.stop if told.stop + TURNS < count else None
    pages = {
        "told_as": "turns",
        "told": (told.start + 1, told.stop, count) if len(told) < count else None,
        "earlier": path("plans", plan_id, turn=max(0, told.start - TURNS)) if told.start else None,
        "later": path("plans", plan_id, turn=later) if told.stop < count else None,
    }
    return trace, {**pages, **await asyncio.to_thread(partial(view_of, title=plan.title), trace)}


async def _step_part(visitor: PageContext, plan: PlanRecord) -> tuple[Trace, Mapping[str, object]]:
    """Return a part of a long plan, and its view; nothing else of the plan is read."""
    said = visitor.query_value("step")
    part = await show_part(visitor.client.services, plan, number(said) if said else None)
    path, last_part = visitor.frame.path, part.count - STEPS
    later = part.last if part.last < last_part else None
    pages = {
        "told_as": "steps",
        "told": (part.first + 1, part.last, part.count),
        "earlier": path("plans", plan.plan_id, step=max(0, part.first - STEPS)) if part.first else None,
        "later": path("plans", plan.plan_id, step=later) if part.last < part.count else None,
    }
    view = partial(
        view_of, title=plan.title, lasted=part.lasted, begins=part.begins, decisions_before=part.decisions_before
    )
    return part.trace, {**pages, **await asyncio.to_thread(view, part.trace)}


def _pauses(plan: PlanDetails) -> list[Expectation]:
    """Return the plans in need of a resumption."""
    return [
        one
        for one in plan.expectations
        if one.event_type == RESUMED and one.ask is not None and one.status is ExpectationStatus.OPEN
    ]


async def show_decision(visitor: PageContext) -> ASGIApp:
    """Show the question to a model, word for word, and its answer."""
    plan_id, said = visitor.part("plan_id"), visitor.part("number")
    if not number(said):
        raise NotFound(f"no decision {said[:40]!r} of plan {plan_id[:80]}: give its number")
    sent = await reader_of(visitor.client).prompt(plan_id, number(said))
    (entry,) = await visitor.client.services.store.plans.decisions(plan_id, sent.number - 1, 1)
    shown = await visitor.client.services.store.plans.find_shown(plan_id)
    later = sent.number + 1 if sent.number < sent.count else 0
    return visitor.frame.page(
        "decision.html",
        title=f"Decision {sent.number} of plan {plan_id[:8]}",
        section="/plans",
        plan_id=plan_id,
        sent=sent,
        one=await asyncio.to_thread(tell_decision, sent.number, "", decision_line(entry, entry.at), shown),
        earlier=_decision_path(visitor, plan_id, sent.number - 1),
        later=_decision_path(visitor, plan_id, later),
        case=case_form(visitor, plain_name(entry.key.agent), entry),
        done=CASE_DONE.get(visitor.query_value("done"), ""),
    )


def _decision_path(visitor: PageContext, plan_id: str, number: int) -> str | None:
    return visitor.frame.path("plans", plan_id, "decisions", str(number)) if number else None


async def cancel_plan(visitor: PageContext) -> ASGIApp:
    plan_id = visitor.part("plan_id")
    is_cancelled = await visitor.client.cancel(plan_id, visitor.form_value("reason").strip()[:LONGEST_REASON])
    return visitor.frame.see_other("plans", plan_id, done="cancelled" if is_cancelled else "ended")


async def resume_plan(visitor: PageContext) -> ASGIApp:
    """Resume a plan that is paused without an end, or that needs an operator."""
    plan_id = visitor.part("plan_id")
    note = visitor.form_value("note").strip()[:LONGEST_REASON]
    outcome = await visitor.client.resume(plan_id, note=note)
    return visitor.frame.see_other("plans", plan_id, done=str(outcome))


async def download_events(visitor: PageContext) -> ASGIApp:
    """Send the events of a plan's tree that there are by now, a CloudEvent a line."""
    plan_id = visitor.part("plan_id")
    last = await visitor.client.events(plan_id=plan_id, limit=1, newest=True)
    until = last.events[0].seq if last.events else 0
    name = "".join(one for one in plan_id if one.isascii() and (one.isalnum() or one == "-"))[:80]
    headers = {**HEADERS, "content-disposition": f'attachment; filename="plan-{name}.ndjson"'}
    return StreamingResponse(_events(visitor, plan_id, until), headers=headers, media_type="application/x-ndjson")


async def _events(visitor: PageContext, plan_id: str, until: int) -> AsyncIterator[bytes]:
    after, is_end = 0, False
    while not is_end and after < until:
        page = await visitor.client.events(plan_id=plan_id, after=after, limit=EVENTS)
        for row in page.events:
            if row.seq <= until:
                yield row.event.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
        after, is_end = page.after, page.is_end


def number(said: str) -> int:
    """Return a place of a list as an address says it; the beginning for anything else."""
    return int(said) if said.isascii() and said.isdigit() and len(said) < 19 else 0


ROUTES: tuple[PageRoute, ...] = (
    get("/plans", list_plans),
    post("/plans/cancel", cancel_plans),
    get("/plans/{plan_id}", show_plan),
    post("/plans/{plan_id}/cancel", cancel_plan),
    post("/plans/{plan_id}/resume", resume_plan),
    get("/plans/{plan_id}/events.ndjson", download_events),
    get("/plans/{plan_id}/decisions/{number}", show_decision),
)
