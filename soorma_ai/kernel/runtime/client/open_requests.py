"""Requests of clients: access, and cancellation."""

from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Person
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.authority import Right, check
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.rules.waits.replies import cancel_request
from soorma_ai.kernel.runtime.views.audit import AuditedChange


async def own_request(store: Store, person: Person, request_id: str, right: Right) -> Expectation:
    """Return the expectation of a request's reply. Raise NotFound, Forbidden."""
    missing = f"no request {request_id} of tenant {person.tenant_id!r}; Held carries its id"
    expected = await store.plans.expectation(request_id)
    if expected is None or expected.kind is not ExpectationKind.CLIENT:
        raise NotFound(missing)
    check(person, right, expected, missing)
    return expected


async def find_gate(store: Store, request_id: str) -> Expectation | None:
    """Return the open question about a held request."""
    gate = await store.plans.expectation(gate_id(request_id))
    return gate if gate is not None and gate.status is ExpectationStatus.OPEN else None


async def find_request(store: Store, request_id: str) -> EventEnvelope | None:
    """Return the event of a request, published or held; None for a removed one."""
    event = await store.events.event(request_id)
    if event is not None:
        return event
    gate = await store.plans.expectation(gate_id(request_id))
    held = gate.ask.proposal if gate and gate.ask else None
    return held.request if held else None


async def cancel(change: AuditedChange, person: Person, expected: Expectation, reason: str) -> bool:
    """Cancel a request, and reject it if it is held. False for a request with a reply. Raise NotFound.

    The row of its reply keeps the cancellation, so an agent does not begin the request. A crash between the two writes
    leaves a rejected request, and its reply is the same.
    """
    store, now = change.store, change.services.clock.now()
    if expected.status is not ExpectationStatus.OPEN:
        return False
    event = await find_request(store, expected.id)
    if event is None:
        raise NotFound(f"request {expected.id} is gone: it was pruned, or its user was forgotten")
    reply = cancel_request(event, reason, now)
    gate = await find_gate(store, expected.id)
    open_now = [gate, expected] if gate is not None else [expected]
    closed = [await store.plans.answer(one.id, _rejection(one, person, reason, reply), reply, now) for one in open_now]
    return any(closed)


def _rejection(asked: Expectation, person: Person, reason: str, reply: EventEnvelope) -> Answer:
    answer_id = derived_id("cancel", asked.id)
    return Answer(answer_id, {"approved": False}, AnswerDecision.REJECT, person.user_id, reply.time, note=reason)
