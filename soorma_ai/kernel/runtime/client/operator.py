"""The calls of a person, and the audit log of their changes."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import AuditRow
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views.audit import AuditedChange, changing

CALLS = CallTable()


class OperatorCalls:
    """Operator's calls for one person of one tenant, by the `services` of a platform."""

    # Who came by a token; what they change is written down.
    caller: Caller | None = None

    def __init__(self, services: Services, person: Person) -> None:
        self._open_services: Services | None = replace(services, store=services.store.within(person.tenant_id))
        self.person = person

    @property
    def services(self) -> Services:
        if self._open_services is None:
            raise LocalProtocolError("the platform is not open; use `async with Platform(...)`")
        return self._open_services

    @CALLS.local(Act.OVERSEE)
    async def audit(self, *, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        """Return outside callers' changes and refused attempts, the newest first; the next page is the one `before` the
        last `seq`. Raise Forbidden without the role of an auditor or operator."""
        check(self.person, CALLS["audit"], Owner(self.person.tenant_id), "")
        return await self.services.store.audit.entries(self.person.tenant_id, limit, before=before)

    def _changing(self, call: str, what: str) -> AbstractAsyncContextManager[AuditedChange]:
        return changing(self.services, self.caller, call, what)

    def _now(self) -> datetime:
        return self.services.clock.now()
