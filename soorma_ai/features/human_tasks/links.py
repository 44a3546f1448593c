"""Links for answers without signing in: the right to make one, and its validity."""

from datetime import datetime, timedelta
from typing import get_args

from soorma_ai.features.human_tasks.claims import not_open_fault
from soorma_ai.features.human_tasks.records import EVERYBODY, Link, LinkKind, MadeLink
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.rules.waits.answers import role_fault

LONGEST = timedelta(days=30)
# Roles that see or steer more than one is asked go into no link, unless a question names them.
_WIDER = frozenset({"operator", "auditor"})


def maker_fault(link: Link, maker: Person) -> str:
    """Return the reason against the making of a link; empty for none. Only the trusted root makes one for another: it
    is a right to answer as them. One's own gives no more than its maker's rights."""
    if maker.roles is None:
        return ""
    if link.user_id != maker.user_id:
        return f"{maker.user_id} may make links for themselves only: the trusted root makes those of {link.user_id}"
    more = link.roles - maker.roles
    return f"{maker.user_id} has no role {', '.join(sorted(more))}, so no link of theirs has" if more else ""


def subject_fault(kind: str, about: str, user_id: str) -> str:
    """Return why there can be no link of this kind about this, for that person; empty where there can."""
    if kind not in get_args(LinkKind):
        return f"{kind!r} is nothing that a link opens: there are {', '.join(get_args(LinkKind))}"
    if user_id == EVERYBODY and (kind != "session" or about):
        return f"{EVERYBODY!r} is everybody, and only all sessions end for everybody at once: name a user"
    if kind == "inbox" and about:
        return f"a link to an inbox is about all that is in it, and not about {about!r}: leave that out"
    return "" if user_id and user_id.isprintable() else f"{user_id!r} is not a name: give the person of the link"


def link_fault(link: Link, asked: Expectation | None, now: datetime) -> str:
    """Return why a link would be no good; empty where it is. `asked` is the question that it is about, None where it
    is about more."""
    if link.kind == "session":
        return "a session begins by signing in to the console, and not by a link"
    if link.until <= now or link.until > now + LONGEST:
        return f"a link lasts on from now, {LONGEST.days} days at most"
    if asked is None:
        return ""
    if fault := not_open_fault(asked, now):
        return fault
    return role_fault(asked, Person(link.tenant_id, link.user_id, link.roles), now)


def narrow(roles: frozenset[str], asked: Expectation | None) -> frozenset[str]:
    """Return the roles of a person for a link: those of its question, or those with sight of the person's own questions
    only."""
    if asked is None or asked.ask is None:
        return roles - _WIDER
    return roles & {*asked.ask.approvers, *asked.ask.escalate_to}


def begin_at(found: MadeLink | None, now: datetime) -> datetime:
    """Return the beginning of a link's validity, in milliseconds as a token has it: now, and behind all revoked ones;
    these stay so. `found` is the listed link of this person about the same."""
    revoked_at = found.revoked_at if found else None
    begun = _cut(now)
    return begun if revoked_at is None or begun > revoked_at else _cut(revoked_at) + timedelta(milliseconds=1)


def _cut(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def revocation(link: Link, found: MadeLink | None, *, is_listed: bool) -> str:
    """Return the reason against a signed link; empty for a valid one. `found` is the listed link of this person about
    the same; a link that has to be listed is revoked with its row."""
    if found is None:
        return "this link was revoked; ask for another, or answer in another way" if is_listed else ""
    is_revoked = found.revoked_at is not None and link.made_at <= found.revoked_at
    is_replaced = is_listed and link.made_at < found.link.made_at
    if link.kind == "session":
        return "the session was ended: sign in" if is_revoked else ""
    return "this link was revoked; ask for another, or answer in another way" if is_revoked or is_replaced else ""
