"""A registry after an upgrade, and the parked requests that it breaks."""

from collections.abc import Iterable, Sequence

from soorma_ai.features.trials.upgrade.ports import Taking
from soorma_ai.features.trials.upgrade.records import EventChange
from soorma_ai.kernel.domain.contracts import BrokenWork
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, RegisteredEvent, Registration
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.rules.arrival.contracts import ContractChange, OpenWork
from soorma_ai.kernel.rules.arrival.registration import events_of
from soorma_ai.kernel.rules.choices.offer import held_definition
from soorma_ai.kernel.rules.waits.answers import held_fault

NOBODY = "no agent takes it any more"
REASON_CHARS = 300


def upgraded_events(
    former: Iterable[Registration], takings: Iterable[Taking], new: Sequence[Registration]
) -> list[RegisteredEvent]:
    """Return the events of a registry with these new registrations in the place of their agents' former ones."""
    agents = {one.agent for one in new}
    known = [*(one for one in former if one.agent not in agents), *new]
    taken = [(one.agent, str(made.topic), made.event_name) for one in new for role, made in one.events if role in TAKEN]
    return events_of(((one, True) for one in known), dict.fromkeys((*takings, *taken)), only_live=False)


def pairs_of(former: Iterable[Registration], new: Iterable[Registration]) -> list[tuple[Registration, Registration]]:
    """Return the new registrations of known agents, each behind its former one."""
    known = {one.agent: one for one in former}
    return [(known[one.agent], one) for one in new if one.agent in known]


def find_misfits(held: Iterable[Expectation], events: Sequence[RegisteredEvent]) -> list[BrokenWork]:
    """Return the open approvals with data off their definition among these events, or without a definition."""
    found = list[BrokenWork]()
    for gate in held:
        proposal = gate.ask.proposal if gate.ask else None
        if proposal is None:
            continue
        definition = held_definition(events, proposal)
        if fault := held_fault(proposal.data, definition) if definition else NOBODY:
            found.append(BrokenWork("approval", gate.id, proposal.event_type, gate.plan_id, clip(fault, REASON_CHARS)))
    return found


def find_removed(before: Registration, events: Iterable[RegisteredEvent]) -> list[EventDefinition]:
    """Return the events that the agent took before, and that no agent takes among these events."""
    taken = {(one.definition.topic, one.definition.event_name) for one in events if one.role in TAKEN}
    earlier = (definition for role, definition in before.events if role in TAKEN)
    return [one for one in earlier if (one.topic, one.event_name) not in taken]


def find_abandoned(definition: EventDefinition, work: OpenWork) -> list[BrokenWork]:
    """Return the requests and the states of open plans with an event that no agent takes."""
    name = definition.event_name
    return [
        *(BrokenWork("request", one.id, name, one.plan_id, NOBODY) for one in work.waiting),
        *(BrokenWork("state", state, name, plan_id, NOBODY) for plan_id, state in work.states),
    ]


def describe_change(one: Registration, change: ContractChange) -> EventChange:
    return EventChange(
        one.name,
        change.now.event_name,
        change.before.version,
        change.now.version,
        change.kind,
        tuple(map(str, (*change.refused, *change.withdrawn))),
        change.is_declared,
    )
