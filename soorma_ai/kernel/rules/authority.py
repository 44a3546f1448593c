"""Authorization: one table of (role, act, owner). The act of a call is in its row.

Steering is not answering: the right to answer is part of the question (`rules.waits.answers`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Protocol

from soorma_ai.errors import Forbidden, NotFound
from soorma_ai.kernel.domain.calls import Act as Act
from soorma_ai.kernel.domain.calls import Right as Right
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import NO_USER, Person
from soorma_ai.kernel.domain.people import Role as Role
from soorma_ai.kernel.domain.registry import TAKEN, AgentKind, EventDefinition, EventRole, RegisteredEvent, Registration
from soorma_ai.kernel.domain.states import RESUMED
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.answers import may_answer


class OwnedRecord(Protocol):
    """Record of a tenant, and of a user or none."""

    @property
    def tenant_id(self) -> str: ...

    @property
    def user_id(self) -> str: ...


class Owner(NamedTuple):
    """Tenant and user, for a record without these fields; without a user, it belongs to the tenant alone."""

    tenant_id: str
    user_id: str = NO_USER


class Ownership(StrEnum):
    OWN = "own"
    OTHERS = "another user's"
    NOBODYS = "nobody's"
    ELSEWHERE = "another tenant's"


class Permission(StrEnum):
    """Result of a check. HIDDEN counts as missing. The order is that of the best role."""

    MAY = "may"
    FORBIDDEN = "forbidden"
    HIDDEN = "hidden"


def _row(verdicts: str) -> Mapping[Ownership, Permission]:
    """Return a row as it is written: one word for each of `Ownership`."""
    return dict(zip(Ownership, map(Permission, verdicts.split()), strict=True))


_NONE = _row("hidden    hidden    hidden    hidden")
_ONLY_OWN = _row("may       hidden    hidden    hidden")
_SHOWN = _row("may       forbidden forbidden hidden")
_TENANT = _row("may       may       may       hidden")
_REFUSED = _row("forbidden forbidden forbidden hidden")

# What is BEGUN is one's own, whoever begins it; what is the tenant's as a whole is nobody's.
TABLE: Mapping[Role, Mapping[Act, Mapping[Ownership, Permission]]] = {
    Role.USER: {
        Act.BEGIN: _ONLY_OWN,
        Act.SEE: _ONLY_OWN,
        Act.STEER: _ONLY_OWN,
        Act.MEET: _TENANT,
        Act.OVERSEE: _REFUSED,
        Act.MANAGE: _REFUSED,
        Act.GRANT: _REFUSED,
    },
    Role.AUDITOR: {
        Act.BEGIN: _NONE,
        Act.SEE: _TENANT,
        Act.STEER: _SHOWN,
        Act.MEET: _TENANT,
        Act.OVERSEE: _TENANT,
        Act.MANAGE: _REFUSED,
        Act.GRANT: _REFUSED,
    },
    Role.OPERATOR: {
        Act.BEGIN: _NONE,
        Act.SEE: _TENANT,
        Act.STEER: _TENANT,
        Act.MEET: _TENANT,
        Act.OVERSEE: _TENANT,
        Act.MANAGE: _TENANT,
        Act.GRANT: _REFUSED,
    },
    Role.ROOT: {
        Act.BEGIN: _NONE,
        Act.SEE: _TENANT,
        Act.STEER: _TENANT,
        Act.MEET: _TENANT,
        Act.OVERSEE: _TENANT,
        Act.MANAGE: _TENANT,
        Act.GRANT: _TENANT,
    },
}

# Rights that several rooms ask for. Those of other calls stand in their rows.
SEE_PLAN = Right("plan", Act.SEE)
LIST_PLANS = Right("plans", Act.SEE)
SEE_PROMPT = Right("prompt", Act.STEER)
LIST_WAITS = Right("waits", Act.SEE)
RESUME = Right("resume", Act.STEER)
ENTER_SESSION = Right("go into a session", Act.STEER)
PUBLISH_TO_PLAN = Right("publish to a plan", Act.STEER)
REGISTER_AGENT = Right("agents.register", Act.MANAGE)
REMOVE_SHARED_AGENT = Right("remove a shared agent", Act.GRANT)
SHARE_MEMORY = Right("memory.share", Act.MANAGE)
SEE_METRICS = Right("metrics", Act.OVERSEE)


def verdict(person: Person, right: Right, thing: OwnedRecord) -> Permission:
    """Return the permission by the best of a person's roles."""
    whose = whose_is(thing, person)
    found = {TABLE[role][right.act][whose] for role in _roles(person)}
    return next(one for one in Permission if one in found)


def may(person: Person, right: Right, thing: OwnedRecord) -> bool:
    """Tell whether a person may do this."""
    return verdict(person, right, thing) is Permission.MAY


def check(person: Person, right: Right, thing: OwnedRecord, missing: str) -> None:
    """Raise Forbidden for a visible record without this right, and NotFound for an invisible one, with the words
    `missing` for a missing record."""
    match verdict(person, right, thing):
        case Permission.HIDDEN:
            raise NotFound(missing)
        case Permission.FORBIDDEN:
            raise _forbidden(person, right)
        case Permission.MAY:
            return


def only_user(person: Person) -> str | None:
    """Return the one user of the tenant in a person's lists; None: all users."""
    someone = Owner(person.tenant_id)
    return None if may(person, LIST_PLANS, someone) else person.user_id


@lru_cache(maxsize=1024)
def steers_all(person: Person) -> bool:
    """Tell whether a person has the right to steer everything in the tenant."""
    return may(person, PUBLISH_TO_PLAN, Owner(person.tenant_id))


def check_answer(person: Person, asked: Expectation, missing: str) -> None:
    """Raise Forbidden for a visible question to others, and NotFound. The resumption of a paused plan is steering; a
    role with sight of every question of the tenant, and no right to steer, is not an invitation to answer."""
    if _names_somebody(asked) or asked.user_id == person.user_id:
        return
    if asked.event_type == RESUMED or Role.AUDITOR in _roles(person):
        check(person, RESUME, asked, missing)


def can_answer(person: Person, asked: Expectation, now: datetime) -> bool:
    """Tell whether a person's answer to a visible question would count."""
    try:
        check_answer(person, asked, "")
    except (Forbidden, NotFound):
        return False
    return may_answer(asked, person, now)


def is_open_to(person: Person, asked: Expectation, now: datetime) -> bool:
    """Tell whether a question is a person's to see or to answer. Without named approvers, anybody of the tenant with
    its id may answer."""
    is_here = asked.tenant_id == person.tenant_id
    return _sees(person, asked) or (is_here and may_answer(asked, person, now))


def is_listed(person: Person, asked: Expectation, now: datetime) -> bool:
    """Tell whether a person's list of questions contains this one: it is theirs to see, or addressed to them."""
    return _sees(person, asked) or (_names_somebody(asked) and is_open_to(person, asked, now))


def _names_somebody(asked: Expectation) -> bool:
    return bool(asked.ask and asked.ask.approvers)


def registration_fault(caller: Caller, one: Registration, known: Sequence[RegisteredEvent]) -> str:
    """Return the reason against a registration by a token; empty for none. `known` are the registrations of its tenant,
    of gone agents too."""
    if fault := agent_fault(caller, one.name):
        return fault
    if one.name in (CLIENT, SYSTEM) or not (one.name and one.name.isprintable()):
        return f"an agent cannot be called {one.name!r}: that is the source of others' events, or no name"
    if one.tenant_id != caller.person.tenant_id:
        return f"{one.name} comes for tenant {caller.person.tenant_id!r}: it cannot be one of {one.tenant_id!r}"
    roles = {role for role, _ in one.events}
    if one.kind is AgentKind.PLANNER or not roles.isdisjoint((EventRole.TAKES_AS_GOAL, EventRole.AWAITS)):
        return f"{one.name} takes goals or waits for events: planners run beside the store, in its process"
    if any(event.agent == one.agent and event.kind is AgentKind.PLANNER for event in known):
        return f"{one.name} is a planner, and what comes under its name is for that: give this agent another name"
    rights = caller.agent
    if rights and (unnamed := _names_taken(one) - rights.takes):
        return f"{one.name} takes {', '.join(sorted(unnamed))}, which its key does not name: make one with --takes"
    if rights and (unnamed := _names_made(one) - rights.makes):
        return f"{one.name} makes {', '.join(sorted(unnamed))}, which its key does not name: make one with --makes"
    others = [event for event in known if event.agent != one.agent]
    return next(filter(None, (_weakening_of(one, definition, others) for definition in _definitions(one))), "")


def agent_fault(caller: Caller, agent: str) -> str:
    """Return the reason against this agent's token; empty for none. A token without an agent is for none, but an
    operator's is for any."""
    rights = caller.agent
    if rights is None and verdict(caller.person, REGISTER_AGENT, Owner(caller.person.tenant_id)) is Permission.MAY:
        return ""
    if rights is not None and rights.name == agent:
        return ""
    allowed = f"agent {rights.name!r}" if rights else "no agent"
    return f"this token is for {allowed}, and not for {agent!r}: make a key with --agent"


def _weakening_of(one: Registration, given: EventDefinition, known: Iterable[RegisteredEvent]) -> str:
    """Return the part of others' words about an event weakened by this one. An approval can only be added to."""
    others = [e for e in known if (e.definition.topic, e.definition.event_name) == (given.topic, given.event_name)]
    taken = [event.definition for event in others if event.role in TAKEN]
    what = f"{one.name} registers {given.event_name!r}"
    if taken and (given.payload_schema, given.response_schema) not in [_shapes(other) for other in taken]:
        return f"{what} with other schemas than {plain_name(others[0].agent)}, whose event it is: give the same"
    if any(other.irreversible for other in taken) and not given.irreversible:
        return f"{what} as what can be undone, and its owner says that it cannot: give irreversible=True"
    correlated = [event.definition.correlate for event in others]
    if correlated and given.correlate is not None and given.correlate not in correlated:
        return f"{what} for other plans than {plain_name(others[0].agent)} says: leave correlate= out"
    return ""


def _shapes(definition: EventDefinition) -> tuple[JsonObject, JsonObject | None]:
    return definition.payload_schema, definition.response_schema


def _names_taken(one: Registration) -> set[str]:
    described = {c.consumed_event.event_name for c in one.capabilities if not isinstance(c, str)}
    heard = {subscription.event_type for subscription in one.subscriptions}
    return described | heard | {definition.event_name for role, definition in one.events if role in TAKEN}


def _names_made(one: Registration) -> set[str]:
    described = {e.event_name for c in one.capabilities if not isinstance(c, str) for e in c.produced_events}
    return described | {definition.event_name for role, definition in one.events if role is EventRole.MAKES}


def _definitions(one: Registration) -> Iterator[EventDefinition]:
    yield from (definition for _, definition in one.events)
    for capability in one.capabilities:
        if not isinstance(capability, str):
            yield from (capability.consumed_event, *capability.produced_events)


def whose_is(thing: OwnedRecord, person: Person) -> Ownership:
    if thing.tenant_id != person.tenant_id:
        return Ownership.ELSEWHERE
    if thing.user_id == NO_USER:
        return Ownership.NOBODYS
    return Ownership.OWN if thing.user_id == person.user_id else Ownership.OTHERS


def _sees(person: Person, asked: Expectation) -> bool:
    return may(person, LIST_WAITS, asked)


def _roles(person: Person) -> tuple[Role, ...]:
    if person.roles is None:
        return (Role.USER, Role.ROOT)
    return (Role.USER, *(role for role in (Role.AUDITOR, Role.OPERATOR) if role in person.roles))


def _forbidden(person: Person, right: Right) -> Forbidden:
    has = ", ".join(sorted(person.roles or ())) or "no role"
    match right.act:
        case Act.GRANT:
            wanted = "the trusted root, on the machine of the store"
        case Act.OVERSEE:
            wanted = f"the role {Role.AUDITOR} or {Role.OPERATOR}"
        case _:
            wanted = f"the role {Role.OPERATOR}"
    return Forbidden(f"{person.user_id} has {has} and may not {right.name} here: that needs {wanted}")
