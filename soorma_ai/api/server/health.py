"""Health and metrics for operators: liveness, readiness for calls, and the present state."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from soorma_ai.api.server.app_state import AppState
from soorma_ai.api.server.auth import AccessControl
from soorma_ai.api.server.metrics import MEDIA_TYPE, metrics, write
from soorma_ai.api.server.problems import problem, problem_of, report_error, response_of
from soorma_ai.errors import SoormaError
from soorma_ai.kernel.runtime.handling.process.counters import CounterName, Counters

_JSON: Final = {"content-type": "application/json"}


class HealthRoutes:
    """Routes of health. `calls` are those of operations, by the caller's tenant; None: they were refused."""

    def __init__(self, entrance: AccessControl, surroundings: AppState) -> None:
        self._entrance = entrance
        self._surroundings = surroundings
        self.calls = Counters()

    def routes(self) -> list[Route]:
        return [
            Route("/healthz", self._is_alive),
            Route("/readyz", self._is_ready),
            Route("/metrics", self._show_metrics),
        ]

    def count(self, request: Request, operation: str, answer: ASGIApp) -> None:
        """Count a call that was answered. A stream that goes on was let in."""
        status = answer.status_code if isinstance(answer, Response) else HTTPStatus.OK
        tenant_id: str | None = getattr(request.state, "tenant_id", None)
        self.calls.add(tenant_id, CounterName.HTTP, operation if tenant_id is not None else "", f"{status // 100}xx")

    async def _is_alive(self, request: Request) -> Response:
        return Response(b'{"status":"alive"}', headers=_JSON)

    async def _is_ready(self, request: Request) -> Response:
        """Tell whether calls can be taken: the store answers, and the server is not ending."""
        try:
            if not self._surroundings.is_ending:
                await self._surroundings.services.store.queue.backlog(1)
                return Response(b'{"status":"ready"}', headers=_JSON)
            said = "the server is ending"
        except SoormaError as error:
            said = str(error)
        return response_of(problem(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", said))

    async def _show_metrics(self, request: Request) -> Response:
        """Tell a tenant's auditor how it stands."""
        try:
            return Response(await self._metrics(request), headers={"content-type": MEDIA_TYPE})
        except SoormaError as error:
            return response_of(problem_of(error) or report_error(error, "metrics"))
        except Exception as error:
            return response_of(report_error(error, "metrics"))

    async def _metrics(self, request: Request) -> str:
        services = self._surroundings.services
        caller = await self._entrance.admit(request, services.clock)
        person = self._surroundings.client_of(caller).person
        standing, age = await self._surroundings.counts.of(services, person)
        counted: Mapping[tuple[str, tuple[str, ...]], float] = {
            **services.signals.tallies.of(person.tenant_id),
            **self.calls.of(person.tenant_id),
            **self.calls.of(None),
        }
        return write(metrics(standing, counted, services.clock.now(), age))
