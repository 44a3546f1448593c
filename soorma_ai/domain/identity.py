"""Who calls from outside, as a token says it and nothing else."""

from dataclasses import dataclass

from soorma_ai.domain.people import Person


@dataclass(frozen=True)
class AgentRights:
    """The agent that a token may act as, and the events that this agent may take and make."""

    name: str
    takes: frozenset[str] = frozenset()
    makes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Caller:
    """A person of a tenant with roles; `key_id` names the key, for limits and the audit."""

    person: Person
    agent: AgentRights | None = None
    key_id: str | None = None
