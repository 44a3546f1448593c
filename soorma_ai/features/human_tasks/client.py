"""What people do about questions beside answering them, on a platform elsewhere."""

from collections.abc import Collection
from datetime import datetime, timedelta

from soorma_ai.api.clients.messages import Page, get, post
from soorma_ai.api.clients.sender import Caller
from soorma_ai.features.human_tasks.records import Absence, Claim, LinkKind, MadeLink, NewLink, Notice
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject


class _Released(Record, frozen=True):
    released: bool


class _Back(Record, frozen=True):
    back: bool


class _Revoked(Record, frozen=True):
    revoked: bool


class AsyncInbox:
    """Every call about a question raises NotFound for what is not theirs to see or to answer."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def claim(self, wait_id: str, *, insist: bool = False) -> Claim:
        """Take a question in hand, for an hour or until it is answered; it tells others and stops none of them. Raise
        LocalProtocolError where somebody else has it, unless this one insists."""
        return await self._caller.read(post("waits", wait_id, "claim", body={"insist": insist}, is_safe=True), Claim)

    async def release(self, wait_id: str) -> bool:
        """Let go of a question. False where this person does not have it in hand."""
        return (await self._caller.read(post("waits", wait_id, "release", body={}, is_safe=True), _Released)).released

    async def hand_over(self, wait_id: str, to: str) -> Claim:
        """Put a question into the hands of a colleague. Raise LocalProtocolError for somebody who is not known to be
        allowed to answer it."""
        return await self._caller.read(post("waits", wait_id, "hand-over", body={"to": to}, is_safe=True), Claim)

    async def colleagues(self, wait_id: str) -> list[str]:
        """Return the names of others who are known to be allowed to answer a question."""
        return (await self._caller.read(get("waits", wait_id, "colleagues"), Page[str])).items

    async def notices(self, wait_id: str) -> list[Notice]:
        """Return who was told about a question, and who has looked at it."""
        return (await self._caller.read(get("waits", wait_id, "notices"), Page[Notice])).items

    async def away(self, until: datetime, deputy: str) -> Absence:
        """Let a colleague answer what this person may answer, until then. Raise LocalProtocolError where that cannot
        be."""
        body: JsonObject = {"until": until.isoformat(), "deputy": deputy}
        return await self._caller.read(post("absences", body=body, is_safe=True), Absence)

    async def back(self, user_id: str | None = None) -> bool:
        """End an absence before its time is over, one's own or as an operator. False where there is none."""
        return (await self._caller.read(post("absences", "end", body={"user_id": user_id}, is_safe=True), _Back)).back

    async def absences(self) -> list[Absence]:
        """Return who is away, until when, and who answers for them."""
        return (await self._caller.read(get("absences"), Page[Absence])).items

    async def make_link(
        self,
        kind: LinkKind,
        about: str = "",
        *,
        user_id: str | None = None,
        roles: Collection[str] | None = None,
        lasts: timedelta | None = None,
    ) -> NewLink:
        """Make a link by which a person answers without signing in. Its path, below the address of the server, is shown
        this once; it is empty where the server opens no links. Raise LocalProtocolError, Forbidden."""
        names: list[Json] | None = None if roles is None else [*sorted(roles)]
        hours = None if lasts is None else lasts / timedelta(hours=1)
        body: JsonObject = {"kind": kind, "about": about, "user_id": user_id, "roles": names, "hours": hours}
        return await self._caller.read(post("links", body=body), NewLink)

    async def links(self, about: str = "") -> list[MadeLink]:
        """Return the links to a question or to a plan's; about nothing, those to whole inboxes. Raise Forbidden."""
        return (await self._caller.read(get("links", about=about or None), Page[MadeLink])).items

    async def revoke_link(self, kind: LinkKind, about: str = "", *, user_id: str | None = None) -> bool:
        """End the links of a person about the same that were made until now. Kind `session` ends sessions of the
        console, of everybody with `user_id="*"`. False where they are revoked."""
        body: JsonObject = {"kind": kind, "about": about, "user_id": user_id}
        return (await self._caller.read(post("links", "revoke", body=body, is_safe=True), _Revoked)).revoked
