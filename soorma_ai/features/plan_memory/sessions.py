"""Sessions: conversations that plans belong to."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition, NotFound, VersionConflict
from soorma_ai.features.plan_memory.ports import PLAN_MEMORY
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.memory import OpenSession, SessionSummary
from soorma_ai.kernel.domain.parameters import Id, Name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.authority import only_user
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.client.ownership import check_session
from soorma_ai.kernel.runtime.handling.handling import must_be_outside

CALLS = CallTable()


class SessionService(OperatorCalls):
    """Calls about sessions."""

    @CALLS("GET /memory/sessions", Act.SEE, "list_sessions", by=lambda one: one.session_id)
    async def sessions(self, *, limit: int = 50) -> list[SessionSummary]:
        """Return conversations, by their last event, newest first."""
        person = self.person
        return await self.services.store.memory.sessions(person.tenant_id, limit, user_id=only_user(person))

    @CALLS("POST /memory/sessions", Act.BEGIN, "create_session", status=201, raises=(NotFound, IllegalTransition))
    async def create_session(
        self, name: Name | None = None, metadata: Mapping[str, Any] | None = None, *, session_id: Id | None = None
    ) -> SessionSummary:
        """Make a session with a `name`, or return the existing one. A plan in a new session makes it too. Raise
        NotFound for the session of another user."""
        must_be_outside()
        about, now = json_object("the metadata of a session", metadata or {}), self._now()
        wanted = SessionSummary(
            session_id or self.services.clock.new_id(), 0, now, now, self.person.user_id, name, about
        )
        async with self._changing("create_session", wanted.session_id) as change:
            return await make_session(change.store, self.person, wanted)


async def make_session(store: Store, person: Person, wanted: SessionSummary) -> SessionSummary:
    """Make the session, or complete the existing one, and return the result. Raise as `check_session`, also after a
    race."""
    found = await check_session(store, person, wanted.session_id)
    made = wanted if found is None else replace(wanted, user_id=found.user_id)
    try:
        await store.part(PLAN_MEMORY).memorize([OpenSession(person.tenant_id, made)], wanted.created_at)
    except VersionConflict:
        if found is None and await check_session(store, person, wanted.session_id) is None:
            raise  # nobody was first
    return await check_session(store, person, wanted.session_id) or made


def sessions_of(client: OperatorCalls) -> SessionService:
    """Return the calls of a client's person."""
    made = SessionService(client.services, client.person)
    made.caller = client.caller
    return made
