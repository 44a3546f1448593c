"""Calls of the inbox. Written by `make clients`; do not edit."""

from datetime import datetime
from typing import Protocol

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


class InboxCalls(Protocol):
    """Calls about questions, beside `answer`."""

    async def claim(self, wait_id: Id, *, insist: bool = False) -> Claim: ...

    async def release(self, wait_id: Id) -> bool: ...

    async def hand_over(self, wait_id: Id, to: Name) -> Claim: ...

    async def snooze(self, wait_id: Id, until: datetime) -> Snooze: ...

    async def colleagues(self, wait_id: Id) -> list[str]: ...

    async def away(self, until: datetime, deputy: Name) -> Absence: ...

    async def back(self, user_id: Name | None = None) -> bool: ...

    async def absences(self) -> list[Absence]: ...

    async def notices(self, wait_id: Id) -> list[Notice]: ...

    async def make_link(
        self,
        kind: LinkKind,
        about: Short = "",
        *,
        user_id: Name | None = None,
        roles: Roles | None = None,
        lasts: Lasting | None = None,
    ) -> NewLink: ...

    async def links(self, about: Id = "") -> list[MadeLink]: ...

    async def revoke_link(self, kind: LinkKind, about: Short = "", *, user_id: Name | None = None) -> bool: ...
