"""Ownership of sessions, plans and reply keys in calls from outside: the caller needs the right to steer them."""

from datetime import datetime

from soorma_ai.kernel.domain.memory import OpenSession, SessionSummary
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.authority import ENTER_SESSION, PUBLISH_TO_PLAN, OwnedRecord, Owner, check, steers_all
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views import plans as reading


async def check_session(store: Store, person: Person, session_id: str) -> SessionSummary | None:
    """Return the session; None for a new one, to become the person's. Raise NotFound for the session of another user,
    and Forbidden."""
    found = await store.memory.session(person.tenant_id, session_id)
    if found is not None:
        missing = f"no session {session_id!r} of {person.user_id} in tenant {person.tenant_id!r}"
        check(person, ENTER_SESSION, Owner(person.tenant_id, found.user_id), missing)
    return found


async def session_for(store: Store, person: Person, session_id: str | None, now: datetime) -> OpenSession | None:
    """Return the opening of a call's session; None for an open one. Raise as `check_session`."""
    if session_id is None or await check_session(store, person, session_id) is not None:
        return None
    return OpenSession(person.tenant_id, SessionSummary(session_id, 0, now, now, person.user_id, None, {}))


async def check_receiver(services: Services, person: Person, plan_id: str | None, key: str | None) -> None:
    """Raise NotFound and Forbidden for an event to another user's plan or reply key. An unknown reply key may get a
    wait later, and an early event is kept for it; in another tenant it is another key."""
    if steers_all(person):
        return
    if plan_id is not None:
        await reading.own_plan(services, person, plan_id, PUBLISH_TO_PLAN)
    owner = await _owner_of(services.store, person.tenant_id, key) if key is not None else None
    if owner is not None and owner.tenant_id == person.tenant_id:
        check(person, PUBLISH_TO_PLAN, owner, f"no plan or question {key} in tenant {person.tenant_id!r}")


async def _owner_of(store: Store, tenant_id: str, key: str) -> OwnedRecord | None:
    """Return the owner of a correlation id: a plan, its goal's reply, a question, or a request."""
    if plan := await store.plans.plan(key) or await store.plans.plan_answering(tenant_id, key):
        return plan.owner
    if submitted := await store.plans.goal_of(key):
        return submitted[1]
    return await store.plans.expectation(key)
