"""Authorization: one table of (role, act, owner), and the act of each call.

Steering is not answering: who may answer a question is said by the question (`core.expecting.answers`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from soorma_ai.errors import Forbidden, NotFound
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import NO_USER, Person
from soorma_ai.kernel.domain.registry import TAKEN, AgentKind, EventDefinition, EventRole, RegisteredEvent, Registration
from soorma_ai.kernel.domain.states import RESUMED
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.answers import may_answer


class Owned(Protocol):
    """Anything that is a tenant's, and a user's or nobody's."""

    @property
    def tenant_id(self) -> str: ...

    @property
    def user_id(self) -> str: ...


class Owner(NamedTuple):
    """The tenant and the user of something that does not say it itself; nobody's, where no user is given."""

    tenant_id: str
    user_id: str = NO_USER


class Role(StrEnum):
    """The roles that this table knows. A USER is everybody; a ROOT is who is asked for no role. All others are known
    to the questions that name them."""

    USER = "user"
    AUDITOR = "auditor"
    OPERATOR = "operator"
    ROOT = "root"


class Whose(StrEnum):
    OWN = "own"
    OTHERS = "another user's"
    NOBODYS = "nobody's"
    ELSEWHERE = "another tenant's"


class Act(StrEnum):
    """Kinds of calls: BEGIN something of one's own, SEE and STEER what is somebody's; MEET whom all of the tenant
    share; OVERSEE and MANAGE what is the tenant's as a whole; GRANT rights to others."""

    BEGIN = "begin"
    SEE = "see"
    STEER = "steer"
    MEET = "meet"
    OVERSEE = "oversee"
    MANAGE = "manage"
    GRANT = "grant"


class Verdict(StrEnum):
    """HIDDEN is answered as if it did not exist. In the order in which the best of several roles counts."""

    MAY = "may"
    FORBIDDEN = "forbidden"
    HIDDEN = "hidden"


def _row(verdicts: str) -> Mapping[Whose, Verdict]:
    """Return a row as it is written: one word for each of `Whose`."""
    return dict(zip(Whose, map(Verdict, verdicts.split()), strict=True))


_NONE = _row("hidden    hidden    hidden    hidden")
_ONLY_OWN = _row("may       hidden    hidden    hidden")
_SHOWN = _row("may       forbidden forbidden hidden")
_TENANT = _row("may       may       may       hidden")
_REFUSED = _row("forbidden forbidden forbidden hidden")

# What is BEGUN is one's own, whoever begins it; what is the tenant's as a whole is nobody's.
TABLE: Mapping[Role, Mapping[Act, Mapping[Whose, Verdict]]] = {
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

# Every call from outside; in words, what some of them do to something else beside their own subject.
CALLS: Mapping[str, Act] = {
    "submit": Act.BEGIN,
    "ask": Act.BEGIN,
    "request": Act.BEGIN,
    "publish": Act.BEGIN,
    "create_session": Act.BEGIN,
    "go into a session": Act.STEER,
    "publish to a plan": Act.STEER,
    "resume": Act.STEER,
    "resume_all": Act.BEGIN,
    "reply": Act.SEE,
    "plan": Act.SEE,
    "plans": Act.SEE,
    "trace": Act.SEE,
    "prompt": Act.STEER,
    "follow": Act.SEE,
    "events": Act.SEE,
    "sessions": Act.SEE,
    "waits": Act.SEE,
    "wait": Act.SEE,
    "answer": Act.SEE,
    "dead_letters": Act.SEE,
    "dead_letter": Act.SEE,
    "cancel": Act.STEER,
    "redrive": Act.STEER,
    "discard": Act.STEER,
    "prune": Act.MANAGE,
    "forget": Act.MANAGE,
    "audit": Act.OVERSEE,
    "metrics": Act.OVERSEE,
    "inbox.claim": Act.SEE,
    "inbox.release": Act.SEE,
    "inbox.hand_over": Act.STEER,
    "inbox.colleagues": Act.SEE,
    "inbox.notices": Act.SEE,
    "inbox.look": Act.SEE,
    "inbox.away": Act.BEGIN,
    "inbox.back": Act.STEER,
    "inbox.absences": Act.MEET,
    "inbox.stands_in_for": Act.BEGIN,
    "inbox.make_link": Act.BEGIN,
    "inbox.links": Act.OVERSEE,
    "inbox.revoke_link": Act.STEER,
    "inbox.check_link": Act.BEGIN,
    "handle.status": Act.SEE,
    "handle.describe": Act.SEE,
    "handle.cancel": Act.STEER,
    "handle.result": Act.SEE,
    "handle.events": Act.SEE,
    "handle.next_wait": Act.SEE,
    "handle.untaken": Act.SEE,
    "memory.retrieve": Act.SEE,
    "memory.keys": Act.SEE,
    "memory.everything": Act.SEE,
    "memory.get_plan_context": Act.SEE,
    "memory.get_plan_by_correlation": Act.SEE,
    "memory.get_task_context": Act.SEE,
    "memory.get_task_by_subtask": Act.SEE,
    "memory.store_plan_context": Act.STEER,
    "memory.store": Act.STEER,
    "memory.increment": Act.STEER,
    "memory.append": Act.STEER,
    "memory.delete": Act.STEER,
    "memory.cleanup": Act.STEER,
    "memory.store_knowledge": Act.STEER,
    "memory.get_knowledge": Act.SEE,
    "memory.search_knowledge": Act.SEE,
    "memory.delete_knowledge": Act.STEER,
    "memory.log_interaction": Act.STEER,
    "memory.get_recent_history": Act.SEE,
    "memory.search_interactions": Act.SEE,
    "memory.store_skill": Act.STEER,
    "memory.get_relevant_skills": Act.SEE,
    "memory.delete_skill": Act.STEER,
    "memory.share": Act.MANAGE,
    "tracker.plan_progress": Act.SEE,
    "tracker.actions": Act.SEE,
    "tracker.timeline": Act.SEE,
    "tracker.plan_tree": Act.SEE,
    "tracker.plans": Act.SEE,
    "tracker.session_plans": Act.SEE,
    "tracker.delegation_group": Act.SEE,
    "tracker.untaken": Act.SEE,
    "registry.find": Act.MEET,
    "registry.discover": Act.MEET,
    "registry.query": Act.MEET,
    "registry.events": Act.MEET,
    "registry.live_events": Act.MEET,
    "registry.get_event": Act.MEET,
    "registry.get_event_schema": Act.MEET,
    "registry.backlogs": Act.OVERSEE,
    "registry.deregister": Act.MANAGE,
    "agents.register": Act.MANAGE,
    "remove a shared agent": Act.GRANT,
    "keys.add": Act.GRANT,
    "keys.ls": Act.GRANT,
    "keys.revoke": Act.GRANT,
}


def verdict(person: Person, call: str, thing: Owned) -> Verdict:
    """Return what the best of a person's roles lets them do."""
    act, whose = CALLS[call], whose_is(thing, person)
    found = {TABLE[role][act][whose] for role in _roles(person)}
    return next(one for one in Verdict if one in found)


def may(person: Person, call: str, thing: Owned) -> bool:
    """Tell whether a person may do this."""
    return verdict(person, call, thing) is Verdict.MAY


def check(person: Person, call: str, thing: Owned, missing: str) -> None:
    """Raise Forbidden for what a person sees and may not do this with, and NotFound for what they do not see: `missing`
    are the words for what does not exist."""
    match verdict(person, call, thing):
        case Verdict.HIDDEN:
            raise NotFound(missing)
        case Verdict.FORBIDDEN:
            raise _forbidden(person, call)
        case Verdict.MAY:
            return


def only_user(person: Person) -> str | None:
    """Return the one user of the tenant whose things a person's lists show; None: everybody's."""
    someone = Owner(person.tenant_id)
    return None if may(person, "plans", someone) else person.user_id


def steers_all(person: Person) -> bool:
    """Tell whether whatever is in the tenant is a person's to steer."""
    return may(person, "publish to a plan", Owner(person.tenant_id))


def check_answer(person: Person, asked: Expectation, missing: str) -> None:
    """Raise Forbidden for who sees a question and is not asked it, and NotFound. Letting a paused plan go on is
    steering it; and who sees every question of the tenant, by a role that steers nothing, was given no id."""
    if _names_somebody(asked) or asked.user_id == person.user_id:
        return
    if asked.event_type == RESUMED or Role.AUDITOR in _roles(person):
        check(person, "resume", asked, missing)


def can_answer(person: Person, asked: Expectation, now: datetime) -> bool:
    """Tell whether what a person says to a question they see would be heard."""
    try:
        check_answer(person, asked, "")
    except (Forbidden, NotFound):
        return False
    return may_answer(asked, person, now)


def is_open_to(person: Person, asked: Expectation, now: datetime) -> bool:
    """Tell whether a question is a person's to see or to answer. Where no approvers are named, whoever of the tenant
    was given its id may answer."""
    is_here = asked.tenant_id == person.tenant_id
    return _sees(person, asked) or (is_here and may_answer(asked, person, now))


def is_listed(person: Person, asked: Expectation, now: datetime) -> bool:
    """Tell whether a person's list of questions shows this one: it is theirs to see, or names them as who answers."""
    return _sees(person, asked) or (_names_somebody(asked) and is_open_to(person, asked, now))


def _names_somebody(asked: Expectation) -> bool:
    return bool(asked.ask and asked.ask.approvers)


def registration_fault(caller: Caller, one: Registration, known: Sequence[RegisteredEvent]) -> str:
    """Return why an agent that comes by a token may not register this; empty where it may. `known` is what is
    registered in its tenant, of agents that are gone too."""
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
    """Return why who comes by this token may not act as this agent; empty where they may. A token that names no agent
    is for none, but an operator's is for any."""
    rights = caller.agent
    if rights is None and verdict(caller.person, "agents.register", Owner(caller.person.tenant_id)) is Verdict.MAY:
        return ""
    if rights is not None and rights.name == agent:
        return ""
    allowed = f"agent {rights.name!r}" if rights else "no agent"
    return f"this token is for {allowed}, and not for {agent!r}: make a key with --agent"


def _weakening_of(one: Registration, given: EventDefinition, known: Iterable[RegisteredEvent]) -> str:
    """Return what of others' words about an event this one would weaken. An approval it can only add to."""
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


def whose_is(thing: Owned, person: Person) -> Whose:
    if thing.tenant_id != person.tenant_id:
        return Whose.ELSEWHERE
    if thing.user_id == NO_USER:
        return Whose.NOBODYS
    return Whose.OWN if thing.user_id == person.user_id else Whose.OTHERS


def _sees(person: Person, asked: Expectation) -> bool:
    return may(person, "waits", asked)


def _roles(person: Person) -> tuple[Role, ...]:
    if person.roles is None:
        return (Role.USER, Role.ROOT)
    return (Role.USER, *(role for role in (Role.AUDITOR, Role.OPERATOR) if role in person.roles))


def _forbidden(person: Person, call: str) -> Forbidden:
    has = ", ".join(sorted(person.roles or ())) or "no role"
    match CALLS[call]:
        case Act.GRANT:
            wanted = "the trusted root, on the machine of the store"
        case Act.OVERSEE:
            wanted = f"the role {Role.AUDITOR} or {Role.OPERATOR}"
        case _:
            wanted = f"the role {Role.OPERATOR}"
    return Forbidden(f"{person.user_id} has {has} and may not {call} here: that needs {wanted}")
