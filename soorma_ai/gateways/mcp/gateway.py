"""The gateway agent, with a mount for MCP."""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING

from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, span
from soorma_ai.agents.arguments import options_of
from soorma_ai.agents.mounts import Receive, Scope, Send, Visit
from soorma_ai.gateways.mcp.caller import VISIT
from soorma_ai.gateways.mcp.events.handlers import EventRequests
from soorma_ai.gateways.mcp.events.receivers import Reach, Receivers, WebhookId
from soorma_ai.gateways.mcp.events.sender import EventSender
from soorma_ai.gateways.mcp.events.subscriptions import SubscriptionRequests
from soorma_ai.gateways.mcp.handler import GoalTools
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.runtime.handling.handling import Services

if TYPE_CHECKING:
    from typing import Any

PATH = "/mcp"
PATIENCE = timedelta(seconds=30)


class McpGatewayOptions(AgentOptions, total=False):
    """Options of an `McpGateway`, beside those of every agent."""

    url: str | None
    """Public address of the server, for links to its inbox, if it differs from the called one."""
    patience: timedelta
    """Longest wait of a call for its answer; 30 seconds by default."""
    webhook_id: WebhookId
    """Id of a post to a subscriber: "event" (by default), or "message" for one of its own."""
    allow_private: bool
    """True: subscribed events go to addresses that are not public, and by http."""


class McpGateway(Agent):
    """Serves goals to MCP clients at `/mcp`: goals are tools, plans are resources, and events are MCP Events.

    A call returns the result of its plan. A question of the plan is asked of the client: as a form, or for a question
    with roles as a link to the inbox. A call without its result after `patience`, or with an unanswered question,
    returns the id of the plan; the tool `soorma.plan` asks again. `goals` are the offered goals, by default all of the
    caller's tenant.
    """

    def __init__(
        self,
        name: str = "mcp",
        description: str = "Plans that agents carry out.",
        *,
        goals: Collection[str] | None = None,
        **options: Unpack[McpGatewayOptions],
    ) -> None:
        must_know(f"agent {name}", options, McpGatewayOptions)
        super().__init__(name, description, **options_of(AgentOptions, options))
        patience = span("patience", name, options.get("patience", PATIENCE)).total_seconds()
        only = tuple(goals) if goals is not None else None
        tools = GoalTools(only, patience, (options.get("url") or "").rstrip("/"))
        self._server: Server[dict[str, Any]] = Server(
            name,
            version=self.version,
            description=description,
            on_list_tools=tools.list_tools,
            on_call_tool=tools.call_tool,
            on_list_resources=tools.list_resources,
            on_list_resource_templates=tools.list_templates,
            on_read_resource=tools.read_resource,
            on_subscriptions_listen=tools.listen,
            get_tool_input_schema=lambda _: None,
        )
        allow_private = options.get("allow_private", False)
        receivers = Receivers(Reach(options.get("webhook_id", "event"), allow_private))
        self._sender = EventSender(self.agent_id, receivers)
        self._sending: asyncio.Task[None] | None = None
        EventRequests().serve(self._server)
        wake = self._sender.wake
        SubscriptionRequests(self.agent_id, receivers, wake, allow_private=allow_private).serve(self._server)

    async def started(self, services: Services) -> None:
        await super().started(services)
        self._sending = asyncio.create_task(self._sender.run(services), name=f"subscriptions:{self.agent_id}")

    async def stopped(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.cancel()
            await asyncio.wait([sending])
        await super().stopped()

    @property
    def paths(self) -> Collection[str]:
        return (PATH,)

    @property
    def public_paths(self) -> Collection[str]:
        return ()

    async def serve(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # a call needs no session, and streams are answers to posts
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
            return
        scope[VISIT] = visit
        manager = StreamableHTTPSessionManager(self._server, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)
