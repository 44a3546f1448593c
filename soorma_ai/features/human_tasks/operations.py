"""What people do about questions, beside answering them."""

from datetime import timedelta
from http import HTTPStatus

from pydantic import AwareDatetime, Field

from soorma_ai.api.server.operation import (
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Name,
    Nothing,
    Page,
    get,
    post,
)
from soorma_ai.api.server.routes.common import Made
from soorma_ai.api.server.routes.people import OfWait
from soorma_ai.features.human_tasks.records import Absence, Claim, LinkKind, MadeLink, NewLink, Notice
from soorma_ai.features.human_tasks.service import inbox_of

_MOST_ROLES = 50
_MOST_HOURS = 24 * 30


class Taking(Form):
    """`insist`: take it from who has it in hand."""

    insist: bool = False


class Handing(Form):
    to: Name


class Going(Form):
    until: AwareDatetime = Field(strict=False)
    deputy: Name


class Returning(Form):
    """`user_id`: who is back, where that is not who says so."""

    user_id: Name | None = None


class About(Form):
    """The id of a question or a plan; nothing for whole inboxes."""

    about: Id | None = None


class LinkWanted(Form):
    """Of somebody else, and with other roles than one's own, for the trusted root alone."""

    kind: LinkKind
    about: str = Field("", max_length=200)
    user_id: Name | None = None
    roles: list[Name] | None = Field(None, max_length=_MOST_ROLES)
    hours: float | None = Field(None, gt=0, le=_MOST_HOURS)


class LinkRevoked(Form):
    kind: LinkKind
    about: str = Field("", max_length=200)
    user_id: Name | None = None


class Released(Made):
    released: bool


class Back(Made):
    back: bool


class Revoked(Made):
    revoked: bool


async def claim_wait(call: Call[OfWait, Taking]) -> Answer:
    """Take a question in hand, for an hour or until it is answered; again, it stays what it was.

    Others are told, and none of them is kept from answering. 422 where somebody else has it, unless one insists.
    """
    return Answer(await inbox_of(call.client).claim(call.asked.wait_id, insist=call.sent.insist))


async def release_wait(call: Call[OfWait, Nothing]) -> Answer:
    """Let go of a question that one has in hand."""
    return Answer(Released(released=await inbox_of(call.client).release(call.asked.wait_id)))


async def hand_over_wait(call: Call[OfWait, Handing]) -> Answer:
    """Put a question into the hands of a colleague, who is known to be allowed to answer it."""
    return Answer(await inbox_of(call.client).hand_over(call.asked.wait_id, call.sent.to))


async def list_colleagues(call: Call[OfWait, Nothing]) -> Answer:
    """List the names of others who are known to be allowed to answer a question."""
    return Answer(Page[str](items=await inbox_of(call.client).colleagues(call.asked.wait_id)))


async def list_notices(call: Call[OfWait, Nothing]) -> Answer:
    """List who was told about a question, by which channel, and who has looked at it."""
    return Answer(Page[Notice](items=await inbox_of(call.client).notices(call.asked.wait_id)))


async def list_absences(call: Call[Nothing, Nothing]) -> Answer:
    """List who of the tenant is away, until when, and who answers for them."""
    return Answer(Page[Absence](items=await inbox_of(call.client).absences()))


async def be_away(call: Call[Nothing, Going]) -> Answer:
    """Let a colleague answer what one may answer oneself, until then. It takes the place of what was said before."""
    return Answer(await inbox_of(call.client).away(call.sent.until, call.sent.deputy))


async def end_absence(call: Call[Nothing, Returning]) -> Answer:
    """Be back before the time is over. An operator says so for another."""
    return Answer(Back(back=await inbox_of(call.client).back(call.sent.user_id)))


async def list_links(call: Call[About, Nothing]) -> Answer:
    """List the links to a question or to a plan's, the last made first. 403 for who is no auditor or operator."""
    return Answer(Page[MadeLink](items=await inbox_of(call.client).links(call.asked.about or "")))


async def make_link(call: Call[Nothing, LinkWanted]) -> Answer:
    """Make a link by which one answers without signing in: one question, those of a plan's tree, or all of an inbox.

    Its path is shown this once; it is empty where this server opens no links.
    """
    sent, links = call.sent, call.surroundings.links
    lasts = timedelta(hours=sent.hours) if sent.hours is not None else None
    made = await inbox_of(call.client).make_link(
        sent.kind, sent.about, user_id=sent.user_id, roles=sent.roles, lasts=lasts
    )
    return Answer(NewLink(made.made, links.path(made.made.link) if links else ""))


async def revoke_link(call: Call[Nothing, LinkRevoked]) -> Answer:
    """End the links of a person about the same that were made until now. An operator does it for another."""
    sent = call.sent
    return Answer(Revoked(revoked=await inbox_of(call.client).revoke_link(sent.kind, sent.about, user_id=sent.user_id)))


_OK = HTTPStatus.OK
_WAIT = "/v1/waits/{wait_id}"

OPERATIONS: tuple[AnyOperation, ...] = (
    post(f"{_WAIT}/claim", claim_wait, OfWait, Taking, {_OK: Claim}, NOT_FOUND),
    post(f"{_WAIT}/release", release_wait, OfWait, Nothing, {_OK: Released}, NOT_FOUND),
    post(f"{_WAIT}/hand-over", hand_over_wait, OfWait, Handing, {_OK: Claim}, NOT_FOUND),
    get(f"{_WAIT}/colleagues", list_colleagues, OfWait, Page[str], NOT_FOUND),
    get(f"{_WAIT}/notices", list_notices, OfWait, Page[Notice], NOT_FOUND),
    get("/v1/absences", list_absences, Nothing, Page[Absence]),
    post("/v1/absences", be_away, Nothing, Going, {_OK: Absence}),
    post("/v1/absences/end", end_absence, Nothing, Returning, {_OK: Back}, NOT_FOUND),
    get("/v1/links", list_links, About, Page[MadeLink]),
    post("/v1/links", make_link, Nothing, LinkWanted, {_OK: NewLink}, NOT_FOUND),
    post("/v1/links/revoke", revoke_link, Nothing, LinkRevoked, {_OK: Revoked}, NOT_FOUND),
)
