"""The rules for registering and deregistering: a version keeps its content, an event its owner, a need its agent."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import (
    AGENT_GONE_AFTER,
    TAKEN,
    EventDefinition,
    EventRole,
    RegisteredEvent,
    Registration,
)
from soorma_ai.kernel.domain.stores import store_of_mailbox
from soorma_ai.kernel.domain.values import clip, compact

# Tenant (empty: all), topic, name, version.
DefinitionKey = tuple[str, str, str, str]
# Agent, topic, name.
Taking = tuple[str, str, str]
_WORDS = ("description", "when_to_use", "not_for", "synonyms")


class Needs(Struct, frozen=True):
    """Needs that others still have of an agent. `awaited`: a plan, and the event of this agent alone it waits for."""

    deliveries: bool = False
    tasks: bool = False
    plan_id: str | None = None
    awaited: tuple[str, str] | None = None


def is_live(heartbeat: datetime, now: datetime, *, has_left: bool) -> bool:
    return not has_left and now < gone_at(heartbeat)


def gone_at(heartbeat: datetime) -> datetime:
    """Return the end of an agent's life without a further heart-beat."""
    return heartbeat + AGENT_GONE_AFTER


def comes_back(heartbeat: datetime, now: datetime, *, has_left: bool) -> bool:
    """Tell whether a heart-beat ends a silence. One that left comes back by registering."""
    return not has_left and not is_live(heartbeat, now, has_left=False)


def events_of(
    registrations: Iterable[tuple[Registration, bool]], takings: Iterable[Taking], *, only_live: bool
) -> list[RegisteredEvent]:
    """Return events of registrations, each with whether its agent lives; in an order independent of that of the
    registrations.

    `takings` are in the order of the agents' first takings of each event. It belongs to the first of them, living or
    not: its words and its approval apply to each taker.
    """
    known = list(registrations)
    terms = _terms(known, takings, only_live=only_live)
    events = (
        RegisteredEvent(one.agent, one.kind, role, _on_terms(role, definition, terms))
        for one, lives in known
        if lives or not only_live
        for role, definition in one.events
    )
    return sorted(events, key=_place)


def _terms(
    known: Iterable[tuple[Registration, bool]], takings: Iterable[Taking], *, only_live: bool
) -> dict[tuple[str, str], EventDefinition]:
    """The terms of each event: its owner's words and approval, and the condition of every taker."""
    taken = {
        (one.agent, str(definition.topic), definition.event_name): (definition, lives or not only_live)
        for one, lives in known
        for role, definition in one.events
        if role in TAKEN
    }
    found: dict[tuple[str, str], EventDefinition] = {}
    for agent, topic, name in takings:
        definition, counts = taken.get((agent, topic, name), (None, False))
        if definition is None:
            continue
        owners = found.setdefault((topic, name), definition)
        if counts and owners is not definition and definition.approval is not None:
            asked = owners.approval.add_condition(definition.approval) if owners.approval else definition.approval
            found[topic, name] = owners.model_copy(update={"approval": asked})
    return found


def _on_terms(
    role: EventRole, definition: EventDefinition, terms: Mapping[tuple[str, str], EventDefinition]
) -> EventDefinition:
    """Return a definition on the terms of its event. Without words of the owner, a taker adds none; a producer does,
    since a listener owns it without a word."""
    owners = terms.get((str(definition.topic), definition.event_name), definition)
    is_worded = any(getattr(owners, name) for name in _WORDS)
    fields = (*_WORDS, "approval") if role in TAKEN else _WORDS if is_worded else ()
    changed = {name: getattr(owners, name) for name in fields if getattr(owners, name) != getattr(definition, name)}
    return definition.model_copy(update=changed) if changed else definition


def check_name(one: Registration) -> None:
    """Raise ConfigError for the name of a mailbox."""
    if store_of_mailbox(one.agent) is not None:
        raise ConfigError(f"an agent cannot be called {one.name!r}: what begins so is for another store; rename it")


def definitions_of(one: Registration) -> Iterator[EventDefinition]:
    for _, definition in one.events:
        yield definition
    for capability in one.capabilities:
        if not isinstance(capability, str):
            yield capability.consumed_event
            yield from capability.produced_events


def key_of(one: Registration, definition: EventDefinition) -> DefinitionKey:
    return one.tenant_id or "", str(definition.topic), definition.event_name, definition.version


def content_of(definition: EventDefinition) -> str:
    """Content that a version stands for; description and approval may change."""
    return compact({"payload": definition.payload_schema, "response": definition.response_schema})


def check_content(one: Registration, definition: EventDefinition, kept: str, keeper: str) -> None:
    """Raise ConfigError where the version was registered with another content, by the keeper, an agent of the same
    tenant or both shared."""
    content = content_of(definition)
    if kept != content:
        raise ConfigError(
            f"{one.name} registers {definition.event_name!r} on {definition.topic}, version {definition.version!r}, "
            f"with another content than {plain_name(keeper)} did: {clip(content, 300)} against {clip(kept, 300)}; "
            "a version stands for one content: give the new one a new version"
        )


def with_made(one: Registration, definition: EventDefinition) -> Registration | None:
    """The registration of an agent that makes this event as well; None: it says so already."""
    made = (EventRole.MAKES, definition)
    if made in one.events:
        return None
    name = (EventRole.MAKES, definition.topic, definition.event_name)
    others = (event for event in one.events if (event[0], event[1].topic, event[1].event_name) != name)
    return replace(one, events=(*others, made))


def names_of_its_own(one: Registration, others: Iterable[Registration]) -> list[str]:
    """Return events without any other agent."""
    shared = {definition.event_name for other in others for _, definition in other.events}
    return sorted({definition.event_name for _, definition in one.events} - shared)


def heirs(others: Iterable[Registration]) -> dict[DefinitionKey, str]:
    """Return the heirs of a definition after its agent's end."""
    return {key_of(other, definition): other.agent for other in others for definition in definitions_of(other)}


def check_deregistering(agent: str, needs: Needs, *, lives: bool) -> None:
    """Raise LocalProtocolError for an agent that lives, has work that is not done, or that a plan depends on."""
    if lives:
        reason = "it lives: stop it first"
    elif needs.deliveries:
        reason = "deliveries wait for it: start it, or cancel what they belong to"
    elif needs.tasks:
        reason = "it has tasks that have not ended: start it, or cancel what they belong to"
    elif needs.plan_id is not None:
        reason = f"plan {needs.plan_id} is pursued by it: start it, or cancel the plan"
    elif needs.awaited is not None:
        reason = f"plan {needs.awaited[0]} waits for {needs.awaited[1]!r}, which nobody else registers: cancel the plan"
    else:
        return
    raise LocalProtocolError(f"{plain_name(agent)} cannot be deregistered: {reason}")


def _place(event: RegisteredEvent) -> tuple[str, str, str, str, str]:
    definition = event.definition
    return definition.topic, definition.event_name, event.agent, event.role, definition.version
