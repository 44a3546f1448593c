"""Tools of an MCP server as requests here."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Unpack

from soorma_ai.agents.agent import AgentOptions, must_be_agent, span
from soorma_ai.agents.arguments import options_of
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.tool import InvocationContext, Tool
from soorma_ai.errors import ConfigError, OutcomeUnknown, Reject, Retry, TransientError
from soorma_ai.gateways.mcp.connection import Connection, target_of
from soorma_ai.gateways.mcp.tools import Offer, ServerTool, ToolList, sort_tools
from soorma_ai.gateways.mcp.trust import TRUST_FILE, read_trust
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.doubts import OutsideEffects
from soorma_ai.kernel.domain.values import JsonObject, clip, compact, is_storable, message_of
from soorma_ai.kernel.runtime.handling.logs import warn

if TYPE_CHECKING:
    from mcp_types import CallToolResult

TIMEOUT = timedelta(seconds=60)
MOST_BYTES = 2**20
# Errors of JSON-RPC for calls that the server has not begun.
_NOT_BEGUN = (-32700, -32600, -32601, -32602)
_TIMED_OUT = -32001


class McpOptions(AgentOptions, total=False):
    """Options of an `McpServer`, beside those of every agent."""

    prefix: str
    """First part of the names of its events; by default the name of the agent."""
    trust: str | Path
    """File with the confirmed tools; "mcp.trust.json" by default."""
    env: Mapping[str, str]
    """Environment of the command, beside a small safe one."""
    token: str | None
    """Bearer token for a URL."""
    timeout: timedelta
    """Longest wait for an answer of the server; 60 seconds by default."""


class McpServer(Tool):
    """Serves the tools of an MCP server as requests: `read` of `McpServer("files", "files-mcp /srv")` is the request
    `files.read`. The list is read when the agent is started.

    Until the confirmation of its list (`soorma mcp confirm`) each tool asks for approval, and runs at most once; a
    read-only one may be repeated. Afterwards its annotations are its effects and its gate. A tool with a changed
    description, schema or annotation is withheld until the next confirmation. For the options see `McpOptions`.

    Args:
        name: its name in the registry.
        where: the command of a server, as text or as words, or the URL of a streamable HTTP endpoint.
    """

    def __init__(self, name: str, where: str | Sequence[str], **options: Unpack[McpOptions]) -> None:
        must_be_agent(name)
        must_know(f"agent {name}", options, McpOptions)
        super().__init__(name, f"Tools of the MCP server {name}.", **options_of(AgentOptions, options))
        self.prefix = options.get("prefix", name)
        self.trust = Path(options.get("trust", TRUST_FILE))
        self._seconds = span("timeout", name, options.get("timeout", TIMEOUT)).total_seconds()
        self._target = target_of(where, options.get("env", {}), options.get("token"))
        self._connection = Connection(self._target, self._seconds)
        self.on_shutdown(self._connection.close)

    async def prepare(self) -> None:
        """Read the server's list. A server out of reach offers its confirmed tools, and harms no other agent."""
        confirmed = read_trust(self.trust).get(self.name, {})
        try:
            listed = await self._connection.tools()
        except ConfigError:
            raise
        except Exception as error:  # the library, and a server behind it
            await self._connection.close()
            warn("mcp_server_out_of_reach", server=self.name, reason=clip(message_of(error), 300))
            listed = list(confirmed.values())
        found = sort_tools(listed, confirmed)
        self._report(found)
        for offer in found.offered:
            self._offer(offer)

    def check(self) -> None:
        if self.events_consumed:
            super().check()

    async def list_tools(self) -> list[ServerTool]:
        """Return the server's list as it is now."""
        try:
            return await self._connection.tools()
        finally:
            await self._connection.close()

    def _report(self, found: ToolList) -> None:
        for tool in found.changed:
            warn("mcp_tool_withheld", server=self.name, tool=tool, reason="changed since its confirmation")
        for tool, fault in found.refused:
            warn("mcp_tool_refused", server=self.name, tool=clip(tool, 100), reason=fault)

    def _offer(self, offer: Offer) -> None:
        definition = offer.definition(self.prefix)

        async def call(request: InvocationContext[dict[str, Any]], context: PlatformContext) -> JsonObject:
            return await self._call(offer, request.data)

        self.on_invoke(
            definition.event_name,
            description=definition.description,
            payload_schema=definition.payload_schema,
            response_schema=definition.response_schema,
            effects=offer.effects,
            approval="always" if offer.needs_approval else None,
        )(call)

    async def _call(self, offer: Offer, data: JsonObject) -> JsonObject:
        await self._must_be_unchanged(offer)
        is_once = offer.effects is OutsideEffects.AT_MOST_ONCE
        try:
            client = await self._connection.client()
        except TransientError as error:
            raise Retry(str(error)) from error
        try:
            answer = await client.call_tool(offer.tool.name, data, read_timeout_seconds=self._seconds)
        except Exception as error:  # the library, and a server behind it
            if _code_of(error) in _NOT_BEGUN:
                raise Reject(clip(message_of(error), 1_000), code="refused") from error
            if _code_of(error) != _TIMED_OUT:  # other calls go on over a connection that stands
                await self._connection.close()
            told = f"the server did not answer: {clip(message_of(error), 300)}"
            raise (OutcomeUnknown(told) if is_once else TransientError(told)) from error
        return _result_of(answer)

    async def _must_be_unchanged(self, offer: Offer) -> None:
        """Raise Reject for a tool that the server has changed, Retry for a server out of reach: nothing was done."""
        try:
            listed = await self._connection.tools()
        except ConfigError as error:
            raise Reject(str(error), code="unavailable") from error
        except Exception as error:  # the library, and a server behind it
            await self._connection.close()
            raise Retry(f"the server is out of reach: {clip(message_of(error), 300)}") from error
        now = [one for one in listed if one.name == offer.tool.name]
        if len(now) != 1 or now[0].digest != offer.tool.digest:
            raise Reject(
                f"the server has changed {offer.tool.name!r}: look at it by `soorma mcp confirm`, and start again",
                code="tool_changed",
            )


def _code_of(error: Exception) -> int | None:
    from mcp import MCPError

    return error.code if isinstance(error, MCPError) else None


def _result_of(answer: "CallToolResult") -> JsonObject:
    """Return the result of a call. Raise Reject for a failure of the tool, and for a result without a form here."""
    told = cast(JsonObject, answer.model_dump(mode="json", by_alias=True, exclude_none=True))
    texts = [one.text for one in answer.content if one.type == "text"]
    if answer.is_error:
        raise Reject(clip("\n".join(texts), 1_000) or "the tool failed", code="tool_error")
    structured = told.get("structuredContent")
    if isinstance(structured, dict):
        result: JsonObject = structured
    elif len(texts) == len(answer.content):
        result = {"text": "\n".join(texts)}
    else:
        result = {"content": told["content"]}
    if not is_storable(result) or len(compact(result)) > MOST_BYTES:
        raise Reject(f"the tool was called, and its result is too large: at most {MOST_BYTES} bytes", code="too_large")
    return result
