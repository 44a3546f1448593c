"""Records about a question before its answer: claims, substitutes, notices."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Struct
from pydantic import Field

from soorma_ai.kernel.domain.parameters import Name, WireForm
from soorma_ai.kernel.domain.people import Absence as Absence
from soorma_ai.kernel.domain.people import Claim as Claim
from soorma_ai.kernel.domain.records import Record


class Snooze(Record, frozen=True):
    """Question with its reminders and escalation postponed by `user_id` `until` then. `at` is the first snooze of
    it."""

    wait_id: str
    tenant_id: str
    user_id: str
    at: datetime
    until: datetime


class Colleague(Struct, frozen=True):
    """Person with the roles of their last look at a question."""

    tenant_id: str
    user_id: str
    roles: frozenset[str]
    seen_at: datetime


class NoticeState(StrEnum):
    DELIVERED = "delivered"
    FAILED = "failed"
    OPENED = "opened"


# Who looked at a question themselves is told of it by no channel.
IN_PERSON = ""


class Notice(Record, frozen=True):
    """How far the telling of a person about a question is: by a channel, `via` its name, or as they looked at it
    themselves. `event_id` is the announcement that was brought, `detail` why it failed."""

    wait_id: str
    tenant_id: str
    user_id: str
    state: NoticeState
    at: datetime
    via: str = IN_PERSON
    event_id: str = ""
    detail: str = ""


# A session of the console is a right of the same sort, though no link opens it: `about` is its id, or empty for all of
# the person.
LinkKind = Literal["question", "plan", "inbox", "session"]
# In the place of a user: everybody of the tenant, whose sessions all end at once.
EVERYBODY = "*"
SESSION_LASTS = timedelta(hours=12)
# Parameters of a link.
Roles = Annotated[Collection[Name], Field(max_length=50)]
Lasting = Annotated[timedelta, WireForm(name="hours", unit=timedelta(hours=1)), Field(gt=0, le=24 * 30)]


class Link(Record, frozen=True):
    """Right to answer as a person without any other proof of identity, `until` then: one question, those of the tree of
    a plan, or all of that person's (then `about` is empty)."""

    kind: LinkKind
    about: str
    tenant_id: str
    user_id: str
    roles: frozenset[str]
    made_at: datetime
    until: datetime


class MadeLink(Record, frozen=True):
    """Listed link, without its signed content. `made_by` is its maker. At `revoked_at` all links made by then were
    revoked; a later one is valid."""

    link: Link
    made_by: str
    revoked_at: datetime | None = None

    @property
    def is_revoked(self) -> bool:
        return self.revoked_at is not None and self.link.made_at <= self.revoked_at


@dataclass(frozen=True)
class NewLink:
    """Link with its path, below the address of a server; it is shown this once, and empty if its maker's server opens
    none."""

    made: MadeLink
    path: str = field(default="", repr=False)
