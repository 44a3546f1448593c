"""The gateway agent, with a mount for A2A."""

from collections.abc import Collection, MutableMapping
from datetime import timedelta
from typing import Any, cast

from a2a.server.context import ServerCallContext
from a2a.server.routes import ServerCallContextBuilder, create_jsonrpc_routes, create_rest_routes
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, span
from soorma_ai.agents.arguments import options_of
from soorma_ai.agents.mounts import Receive, Scope, Send, Visit
from soorma_ai.gateways.a2a.cards import Front, card_of, early_card_of
from soorma_ai.gateways.a2a.early import earlier_goal_of, message_of, parse, response_of, says_again
from soorma_ai.gateways.a2a.handler import FRONT, VISIT, GoalOffer, PlanTasks, as_a2a, caller_of
from soorma_ai.gateways.a2a.large import with_data_as_text
from soorma_ai.gateways.a2a.looking import turn_of
from soorma_ai.gateways.goals import shown_events
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import digest, json_object

RPC = "/a2a"
REST = "/a2a/v1"
EARLY_CARD = "/.well-known/agent.json"
EARLY_TASKS = "/tasks/send"
PATIENCE = timedelta(minutes=5)
_CARD_AGE = "max-age=60"


class GatewayOptions(AgentOptions, total=False):
    """Options of an `A2AGateway`, beside those of every agent."""

    requests: bool
    """True: requests to tools and workers are skills, too."""
    url: str | None
    """Public address of the server, if it differs from the called one."""
    patience: timedelta
    """Longest wait of a caller for its answer; 5 minutes by default."""


class A2AGateway(Agent):
    """Serves goals to foreign agents by A2A: goals are skills, plans are tasks, questions are INPUT_REQUIRED.

    `skills` are the offered goals, by default all of the caller's tenant; the public card lists those of `tenant_id`
    (else of tenant default). With `requests`, the requests to tools and workers are skills, too. A message without a
    skill means `default`, or the only one. `url` is the server's public address, if it differs from the called one. A
    waiting caller gets its answer after `patience` at the latest, with the task in its state by then.
    """

    def __init__(
        self,
        name: str = "a2a",
        description: str = "Plans that agents carry out.",
        *,
        skills: Collection[str] | None = None,
        default: str | None = None,
        **options: Unpack[GatewayOptions],
    ) -> None:
        must_know(f"agent {name}", options, GatewayOptions)
        super().__init__(name, description, **options_of(AgentOptions, options))
        self._url = (options.get("url") or "").rstrip("/")
        self._patience = span("patience", name, options.get("patience", PATIENCE)).total_seconds()
        only = tuple(skills) if skills is not None else None
        self._offer = GoalOffer(only, default, self._patience, with_requests=options.get("requests", False))
        self._tasks = PlanTasks(self._offer)
        contexts = _Contexts(self)
        self._application = Starlette(
            routes=[
                Route(EARLY_TASKS, self._send, methods=["POST"]),
                Route(AGENT_CARD_WELL_KNOWN_PATH, self._show_card),
                Route(EARLY_CARD, self._show_early_card),
                *create_jsonrpc_routes(self._tasks, RPC, contexts),
                *create_rest_routes(self._tasks, contexts, path_prefix=REST),  # the last, since it takes any path
            ]
        )
        self._application.router.redirect_slashes = False

    @property
    def paths(self) -> Collection[str]:
        return (RPC, f"{REST}/{{rest:path}}", EARLY_TASKS)

    @property
    def public_paths(self) -> Collection[str]:
        return (AGENT_CARD_WELL_KNOWN_PATH, EARLY_CARD)

    async def serve(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        scope[VISIT] = visit
        came = await receive()
        try:
            body = with_data_as_text(came.get("body", b""))
        except A2AError as error:
            await _refusal(scope["path"], came["body"], error)(scope, receive, send)
            return
        given = iter([{**came, "body": body}])

        async def receive_again() -> MutableMapping[str, Any]:
            return next(given, None) or await receive()

        await self._application(scope, receive_again, send)

    def front(self, request: Request) -> Front:
        base = self._url or str(request.base_url).rstrip("/")
        return Front(
            name=self.name,
            description=self.description,
            version=self.version,
            rpc_url=base + RPC,
            rest_url=base + REST,
            tokens=visit_of(request).tokens,
        )

    async def _show_card(self, request: Request) -> Response:
        card = card_of(self.front(request), await self._public_goals(request))
        return _card_response(request, MessageToDict(card))

    async def _show_early_card(self, request: Request) -> Response:
        card = early_card_of(self.front(request), await self._public_goals(request))
        return _card_response(request, card.model_dump(mode="json", exclude_none=True))

    async def _public_goals(self, request: Request) -> list[RegisteredEvent]:
        tenant_id = self.tenant_id or Lineage().tenant_id
        return self._offer.goals_of(await shown_events(visit_of(request).services, tenant_id))

    async def _send(self, request: Request) -> Response:
        """Take a task of the early form, and answer with its state at the end of its turn."""
        visit, client = caller_of(request.scope[VISIT])
        try:
            with as_a2a():
                task = parse(await request.body())
                found = await earlier_goal_of(client, await self._tasks.goals(client), task)
                message = message_of(task, found[1] if found else None)
                if found and await says_again(client, message, *found):
                    task_id = found[1].task_id
                else:
                    task_id = await self._tasks.take(client, message, names_gates=True)
                standing = await turn_of(visit, client, task_id, self._patience)
                told = response_of(task, standing)
        except A2AError as error:
            payload = build_rest_error_payload(error)
            return JSONResponse(payload, payload["error"]["code"])
        return JSONResponse(told.model_dump(mode="json", exclude_none=True))


class _Contexts(ServerCallContextBuilder):
    """Context of the operations: the caller and its path."""

    def __init__(self, gateway: A2AGateway) -> None:
        self._gateway = gateway

    def build(self, request: Request) -> ServerCallContext:
        state: dict[str, Any] = {
            "headers": dict(request.headers),
            VISIT: visit_of(request),
            FRONT: self._gateway.front(request),
        }
        return ServerCallContext(state=state)


def _refusal(path: str, body: bytes, error: A2AError) -> Response:
    """Return the answer to a refused call, in the form of its binding."""
    told = build_rest_error_payload(error)
    if path != RPC:
        return JSONResponse(told, told["error"]["code"])
    call = cast("dict[str, object]", from_json(body))
    return JSONResponse({"jsonrpc": "2.0", "id": call.get("id"), "error": {"code": -32602, "message": str(error)}})


def visit_of(request: Request) -> Visit:
    return request.scope[VISIT]


def _card_response(request: Request, card: dict[str, Any]) -> Response:
    etag = f'"{digest(json_object("a card", card))}"'
    headers = {"etag": etag, "cache-control": _CARD_AGE}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return JSONResponse(card, headers=headers)
