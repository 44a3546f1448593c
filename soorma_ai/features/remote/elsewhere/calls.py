"""Calls of the server that has the store, and which delivery they are made for."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from soorma_ai.api.clients.messages import HttpRequest, get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.errors import (
    Forbidden,
    LocalProtocolError,
    NotFound,
    ServerUnavailable,
    StoreUnavailable,
    Unauthenticated,
)
from soorma_ai.features.remote.records import ANSWERS, Lease, LeasedDeliveries, Read, Reading, RegistrationResult
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.runtime.handling.handler_task import ShieldedTask
from soorma_ai.kernel.runtime.handling.handling import current_handling

LONGEST_WAIT = 30.0


class RemoteCalls:
    """Calls of remote agents. `tenant_id` is that of the agents, after their registration. After a lost answer every
    call may be sent again: it is the same call, by its lease or by its content. Raises StoreUnavailable while the
    server is out of reach, or admits this agent no more."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller
        self.tenant_id: str | None = None

    async def register(self, body: JsonObject) -> None:
        """Raise Forbidden, Unauthenticated and ConfigError as well."""
        with _as_a_store():
            request = post("agents", body=body, is_safe=True)
            self.tenant_id = (await self._caller.read(request, RegistrationResult)).tenant_id

    async def tell(self, agent: str, *place: str, body: JsonObject | None = None) -> None:
        with _as_a_store(), _let_in():
            await self._caller.ask(self._post(agent, place, body))

    async def has_come(self, agent: str) -> bool:
        """Wait for deliveries of an agent, for half a minute."""
        with _as_a_store():
            request = get("agents", plain_name(agent), "deliveries", wait=LONGEST_WAIT)
            return (await self._caller.ask(request, wait=LONGEST_WAIT)).read_key("has_come", bool)

    async def lease(self, agent: str, body: JsonObject) -> LeasedDeliveries:
        with _as_a_store(), _let_in():
            return await self._caller.read(self._post(agent, ("deliveries", "lease"), body), LeasedDeliveries)

    async def renew(self, agent: str, body: JsonObject) -> list[Lease]:
        with _as_a_store(), _let_in():
            return await self._caller.read_key(self._post(agent, ("deliveries", "renew"), body), "leases", list[Lease])

    async def read(self, what: Reading, **parts: Any) -> Any:
        """Return the result of a lookup for the present delivery."""
        delivery, asked = delivery_in_hand(), Read(what=what, **parts)
        body: JsonObject = {"read": asked.model_dump(mode="json", exclude_defaults=True)}
        with _as_a_store():
            request = self._post(delivery.agent, (*place_of(delivery), "read"), body)
            found = await self._caller.read_key(request, "value", object)
        return _adapter(what).validate_python(found)

    def _post(self, agent: str, place: tuple[str, ...], body: JsonObject | None) -> HttpRequest:
        return post("agents", plain_name(agent), *place, body=body or {}, is_safe=True)


def place_of(delivery: Delivery) -> tuple[str, ...]:
    return "deliveries", str(delivery.seq), str(delivery.fence)


def delivery_in_hand() -> Delivery:
    """Return the delivery that is handled here: by the context of its handler, or else by its own task."""
    handling = current_handling()
    if handling is not None:
        return handling.delivery
    task: Any = asyncio.current_task()
    if isinstance(task, ShieldedTask) and task.delivery is not None:
        return task.delivery
    raise LocalProtocolError("an agent elsewhere looks things up while it handles a delivery, and at no other time")


@contextmanager
def _as_a_store() -> Generator[None]:
    try:
        yield
    except ServerUnavailable as error:
        raise StoreUnavailable(str(error)) from error


@contextmanager
def _let_in() -> Generator[None]:
    """Wait after the loss of an admission: a key may be given back, an agent registered again."""
    try:
        yield
    except (Unauthenticated, Forbidden, NotFound) as error:
        raise StoreUnavailable(f"the server lets this agent in no more: {error}") from error


@cache
def _adapter(what: Reading) -> TypeAdapter[Any]:
    kind: Any = ANSWERS[what]
    return TypeAdapter(kind)
