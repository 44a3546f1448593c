"""Changed contracts: the events of a registration beside those of its agent's former one.

Data that was valid stays valid, and a promised result stays promised. A narrower version is refused where open work
would break, unless its author declares the former version in `replaces`.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.contracts import BrokenWork
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.identity import AuditEntry
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, EventRole, Registration
from soorma_ai.kernel.domain.schema_cost import MOST_IN_A_TRANSACTION
from soorma_ai.kernel.domain.schemas import describe, violations
from soorma_ai.kernel.domain.values import JsonObject, clip
from soorma_ai.kernel.rules.schemas.narrowing import Gap, find_gaps

MOST_NAMED = 8
# Call of the audit entry of a changed event.
REGISTERED = "register"
_WORDS = ("description", "when_to_use", "not_for", "synonyms")


class ContractChange(Struct, frozen=True):
    """Change of one event from the definition `before`. `refused` are the gaps for data that was valid. `withdrawn` are
    those of the promised result, or of the data of a made event."""

    role: EventRole
    before: EventDefinition
    now: EventDefinition
    refused: tuple[Gap, ...] = ()
    withdrawn: tuple[Gap, ...] = ()

    @property
    def is_narrower(self) -> bool:
        return bool(self.refused or self.withdrawn)

    @property
    def is_declared(self) -> bool:
        return self.before.version in self.now.replaces

    @property
    def is_new_version(self) -> bool:
        return self.before.version != self.now.version

    @property
    def is_reworded(self) -> bool:
        return any(getattr(self.before, name) != getattr(self.now, name) for name in _WORDS)

    @property
    def kind(self) -> str:
        """Return the change in one word; empty for none."""
        if self.is_narrower:
            return "narrower"
        return "changed" if self.is_new_version else "reworded" if self.is_reworded else ""


class OpenWork(Struct, frozen=True):
    """Open work with one event. `held` are its open approvals, `waiting` its requests without a taker or in line.
    `replies` are the open replies to it, `waits` the open waits for it. `states` are the states of open plans with it,
    each with its plan."""

    held: Sequence[Expectation] = ()
    waiting: Sequence[EventEnvelope] = ()
    replies: Sequence[Expectation] = ()
    waits: Sequence[Expectation] = ()
    states: Sequence[tuple[str, str]] = ()


def find_changes(before: Registration, now: Registration) -> list[ContractChange]:
    """Return the changed events of an agent. An event without a former definition is no change."""
    former = {_place(role, definition): definition for role, definition in before.events}
    pairs = ((role, former.get(_place(role, definition)), definition) for role, definition in now.events)
    changes = (compare(role, earlier, definition) for role, earlier, definition in pairs if earlier is not None)
    return [change for change in changes if change.kind]


def compare(role: EventRole, before: EventDefinition, now: EventDefinition) -> ContractChange:
    """Compare two definitions of an event in this role. A version stands for one content."""
    if before.version == now.version:
        return ContractChange(role, before, now)
    if role is EventRole.MAKES:
        data = find_gaps(_as_object(now.payload_schema), _as_object(before.payload_schema), promises=True)
        return ContractChange(role, before, now, withdrawn=tuple(data))
    if role is EventRole.AWAITS:
        return ContractChange(role, before, now)  # an open wait keeps its own schema
    refused = find_gaps(_as_object(before.payload_schema), _as_object(now.payload_schema))
    return ContractChange(role, before, now, tuple(refused), tuple(_withdrawn(before, now)))


def find_broken(change: ContractChange, work: OpenWork) -> list[BrokenWork]:
    """Return the open work that the change would break. Data that still fits breaks nothing."""
    name, found = change.now.event_name, list[BrokenWork]()
    reason = clip(str(change.withdrawn[0]), 200) if change.withdrawn else ""
    if change.role is EventRole.MAKES:
        return [BrokenWork("wait", one.id, name, one.plan_id, reason) for one in work.waits if reason]
    if change.refused:
        for gate in work.held:
            held = gate.ask.proposal if gate.ask else None
            if held is not None and (fault := _fault(change.now, held.data)):
                found.append(BrokenWork("approval", gate.id, name, gate.plan_id, fault))
        for request in work.waiting:
            if fault := _fault(change.now, request.data):
                found.append(BrokenWork("request", request.id, name, request.plan_id, fault))
    if change.withdrawn:
        found += [BrokenWork("approval", one.id, name, one.plan_id, reason) for one in work.held]
        found += [BrokenWork("reply", one.id, name, one.plan_id, reason) for one in work.replies]
    found += [BrokenWork("state", state, name, plan_id, "its machine has the event") for plan_id, state in work.states]
    return found


def check_change(agent: str, change: ContractChange, broken: Sequence[BrokenWork]) -> None:
    """Raise ConfigError for a narrower version that would break open work, and is not declared."""
    if not broken or not change.is_narrower or change.is_declared:
        return
    now, before = change.now, change.before
    reasons = "; ".join(map(str, (*change.refused, *change.withdrawn)))
    more = f" and {len(broken) - MOST_NAMED:,} more" if len(broken) > MOST_NAMED else ""
    raise ConfigError(
        f"{agent} registers {now.event_name!r} on {now.topic}, version {now.version!r}, which is narrower than version "
        f"{before.version!r}: {reasons}. Open work would break: {_listed(broken)}{more}. Keep the former data valid "
        "and the former result promised, or give the event another name, or end this work first, or declare the break: "
        f"replaces={before.version!r}"
    )


def audit_entry(one: Registration, change: ContractChange, now: datetime) -> AuditEntry:
    """Return the entry of a changed event. Its user is the agent, and its outcome the kind of the change."""
    versions = f"{change.before.version} to {change.now.version}" if change.is_new_version else change.now.version
    what = f"{change.now.event_name} {versions}"
    return AuditEntry(one.tenant_id or "default", f"agent {one.name}", None, REGISTERED, what, now, change.kind)


def _listed(broken: Iterable[BrokenWork]) -> str:
    return "; ".join(str(one) for _, one in zip(range(MOST_NAMED), broken, strict=False))


def _place(role: EventRole, definition: EventDefinition) -> tuple[bool | EventRole, str, str]:
    return role in TAKEN or role, str(definition.topic), definition.event_name


def _as_object(schema: JsonObject) -> JsonObject:
    """Return the schema of an event's data, an object always."""
    return schema if "type" in schema else {**schema, "type": "object"}


def _withdrawn(before: EventDefinition, now: EventDefinition) -> list[Gap]:
    if before.response_schema is None:
        return []
    if now.response_schema is None:
        return [Gap("$", "no result is promised any more")]
    return find_gaps(now.response_schema, before.response_schema, promises=True)


def _fault(definition: EventDefinition, data: JsonObject) -> str:
    faults = violations(definition.payload_schema, data, most=MOST_IN_A_TRANSACTION)
    return clip(describe(faults[:1]), 200) if faults else ""
