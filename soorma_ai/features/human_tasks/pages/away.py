"""Page of absences and substitutes."""

from datetime import UTC, date, datetime, time, timedelta
from http import HTTPStatus

from starlette.types import ASGIApp

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.human_tasks.service import inbox_of
from soorma_ai.kernel.domain.values import clip
from soorma_ai.surfaces.page_context import PageContext, PageRoute, get, post

TEMPLATE = "away.html"
BACK = "back"
LONGEST_DEPUTY = 200


async def show_away(visitor: PageContext) -> ASGIApp:
    return await _page(visitor)


async def change_away(visitor: PageContext) -> ASGIApp:
    """Record an absence, or its end."""
    inbox = inbox_of(visitor.client)
    if visitor.form_value("do") == BACK:
        await inbox.back(visitor.form_value("user_id") or visitor.client.person.user_id)
        return visitor.frame.see_other("away")
    try:
        await inbox.away(_end_of(visitor.form_value("until")), visitor.form_value("deputy").strip())
    except LocalProtocolError as error:
        return await _page(visitor, str(error))
    return visitor.frame.see_other("away")


def _end_of(day: str) -> datetime:
    """Return the end of a day. Raise LocalProtocolError for any other text."""
    try:
        return datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise LocalProtocolError(f"{clip(day, 40)!r} is no day: give one as 2030-12-31") from error


async def _page(visitor: PageContext, fault: str = "") -> ASGIApp:
    person, inbox = visitor.client.person, inbox_of(visitor.client)
    absences = await inbox.absences()
    values = {
        "title": "Away",
        "section": "/inbox",
        "absences": absences,
        "own": next((one for one in absences if one.user_id == person.user_id), None),
        "may_end_all": bool(person.roles and "operator" in person.roles),
        "until": visitor.form_value("until"),
        "deputy": visitor.form_value("deputy")[:LONGEST_DEPUTY],
        "fault": fault,
    }
    return visitor.frame.page(TEMPLATE, HTTPStatus.UNPROCESSABLE_ENTITY if fault else HTTPStatus.OK, **values)


ROUTES: tuple[PageRoute, ...] = (get("/away", show_away), post("/away", change_away))
