"""Replies to requests from outside: waited for here, found in the store, from any process."""

from soorma_ai.errors import DeadlineExceeded, NotFound
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.runtime.client.plan_handle import POLL_SECONDS
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.process.signals import Signal, until
from soorma_ai.kernel.runtime.handling.requests import read_reply


async def reply_within(
    services: Services, expectation: Expectation, answered: Signal, at_most: float, *, is_new: bool = False
) -> JsonObject:
    """Return the reply on its arrival. Raise DeadlineExceeded after `at_most` seconds, and NotFound for a removed
    request. A new request (`is_new`) has no reply yet, and the store is not asked at first."""
    until_when = services.clock.monotonic() + at_most
    while True:
        services.signals.check()
        came, answered.reply = answered.reply, None
        if came is not None:
            return (await read_reply(services.store.registry, expectation, came)).data
        reply = None if is_new else await _reply_in_store(services.store, expectation.id)
        if reply is not None:
            return reply.data
        is_new = False
        left = min(POLL_SECONDS, until_when - services.clock.monotonic())
        if left <= 0:
            raise DeadlineExceeded(f"no reply to {expectation.subject!r} came within {at_most} s")
        await until(answered, services.clock, left)


async def _reply_in_store(store: Store, request_id: str) -> EventEnvelope | None:
    expectation = await store.plans.expectation(request_id)
    if expectation is None:
        raise NotFound(f"request {request_id} is gone: it was pruned, or its user was forgotten")
    if expectation.met_by is None or expectation.status is not ExpectationStatus.MET:
        return None
    event = await store.events.event(expectation.met_by)
    return event and await read_reply(store.registry, expectation, event)
