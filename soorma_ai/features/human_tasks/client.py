"""Calls of the inbox over HTTP. Written by `make clients`; do not edit."""

from datetime import datetime, timedelta

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.api.clients.messages import Page, get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.human_tasks.records import (
    Absence,
    Claim,
    Lasting,
    LinkKind,
    MadeLink,
    NewLink,
    Notice,
    Roles,
    Snooze,
)
from soorma_ai.kernel.domain.parameters import Id, Name, Short


class AsyncInbox:
    """Calls about questions, beside `answer`."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def claim(self, wait_id: Id, *, insist: bool = False) -> Claim:
        """Claim a question, for an hour or until its answer, and return the claim. It informs others and stops none of
        them. A repeated call changes nothing. With `insist`, take it from another person. Raise LocalProtocolError for
        another person's claim without `insist`, and for a closed question."""
        return await self._caller.read(post("waits", wait_id, "claim", body={"insist": insist}, is_safe=True), Claim)

    async def release(self, wait_id: Id) -> bool:
        """End a claim of this person. False for none."""
        return await self._caller.read_key(post("waits", wait_id, "release", body={}, is_safe=True), "released", bool)

    async def hand_over(self, wait_id: Id, to: Name) -> Claim:
        """Assign a question to a colleague, inform them, and return the claim. A repeated call changes nothing, and
        informs no one. The colleague needs the right to answer it beforehand; raise LocalProtocolError for others. A
        person with the right to steer the question needs no right to answer it."""
        return await self._caller.read(post("waits", wait_id, "hand-over", body={"to": to}, is_safe=True), Claim)

    async def snooze(self, wait_id: Id, until: datetime) -> Snooze:
        """Postpone the reminders and the escalation of a question `until` then, and return the snooze, in place of an
        earlier one. Only an approver may. Raise LocalProtocolError for a closed question, and for a moment in the past,
        at or after the deadline, before the end of an earlier snooze, or more than 30 days from the first."""
        return await self._caller.read(post("waits", wait_id, "snooze", body={"until": until}, is_safe=True), Snooze)

    async def colleagues(self, wait_id: Id) -> list[str]:
        """List the names of other people known to have the right to answer a question."""
        return (await self._caller.read(get("waits", wait_id, "colleagues"), Page[str])).items

    async def away(self, until: datetime, deputy: Name) -> Absence:
        """Let a colleague, the `deputy`, answer the questions of this person `until` then, with the present roles of
        this person. It replaces an earlier absence. Raise LocalProtocolError for an impossible one."""
        return await self._caller.read(post("absences", body={"until": until, "deputy": deputy}, is_safe=True), Absence)

    async def back(self, user_id: Name | None = None) -> bool:
        """End an absence early: one's own, or as an operator that of `user_id`. False for none."""
        return await self._caller.read_key(
            post("absences", "end", body={"user_id": user_id}, is_safe=True), "back", bool
        )

    async def absences(self) -> list[Absence]:
        """List the absences of the tenant: persons, ends and deputies."""
        return (await self._caller.read(get("absences"), Page[Absence])).items

    async def notices(self, wait_id: Id) -> list[Notice]:
        """List the people informed about a question, by channel, and its viewers."""
        return (await self._caller.read(get("waits", wait_id, "notices"), Page[Notice])).items

    async def make_link(
        self,
        kind: LinkKind,
        about: Short = "",
        *,
        user_id: Name | None = None,
        roles: Roles | None = None,
        lasts: Lasting | None = None,
    ) -> NewLink:
        """Make a link for answers without signing in: to one question, to the questions of a plan's tree, or to all of
        a person's inbox. Its path, below the address of the server, is shown this once; it is empty for a server
        without links. In process, `Links(secret).path(...)` signs it. It replaces the earlier link of the same kind. It
        is this person's own, with the needed ones of their roles; the trusted root makes one for any `user_id`, with
        `roles`. A link to a question lasts as long as that, `lasts` at most; over HTTP, in `hours`. Raise
        LocalProtocolError, Forbidden."""
        return await self._caller.read(
            post(
                "links",
                body={
                    "kind": kind,
                    "about": about,
                    "user_id": user_id,
                    "roles": roles,
                    "hours": lasts and lasts / timedelta(hours=1),
                },
            ),
            NewLink,
        )

    async def links(self, about: Id = "") -> list[MadeLink]:
        """List the links to a question or to a plan's, the last made first; `about` nothing, those to whole inboxes.
        Raise Forbidden for others than auditors and operators."""
        return (await self._caller.read(get("links", about=about or None), Page[MadeLink])).items

    async def revoke_link(self, kind: LinkKind, about: Short = "", *, user_id: Name | None = None) -> bool:
        """End the links of a person about the same, those of agents too, made until now. Kind `session` ends sessions
        of the console: the one of this id, or all of the person; `user_id="*"` means everybody of the tenant. False for
        revoked ones. An operator does it for another. Raise NotFound."""
        return await self._caller.read_key(
            post("links", "revoke", body={"kind": kind, "about": about, "user_id": user_id}, is_safe=True),
            "revoked",
            bool,
        )


class BlockingInbox(Blocking[AsyncInbox]):
    """Calls about questions, beside `answer`."""

    claim = blocking(AsyncInbox.claim)
    release = blocking(AsyncInbox.release)
    hand_over = blocking(AsyncInbox.hand_over)
    snooze = blocking(AsyncInbox.snooze)
    colleagues = blocking(AsyncInbox.colleagues)
    away = blocking(AsyncInbox.away)
    back = blocking(AsyncInbox.back)
    absences = blocking(AsyncInbox.absences)
    notices = blocking(AsyncInbox.notices)
    make_link = blocking(AsyncInbox.make_link)
    links = blocking(AsyncInbox.links)
    revoke_link = blocking(AsyncInbox.revoke_link)
