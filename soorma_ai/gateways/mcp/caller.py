"""Caller of an MCP request, and errors in the form of the protocol."""

from collections.abc import Generator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from starlette.requests import Request

from soorma_ai.agents.mounts import Visit
from soorma_ai.errors import SoormaError, TransientError
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.logs import warn

VISIT = "soorma.visit"

Context = ServerRequestContext[dict[str, Any]]


def call_request_of(context: Context) -> Request:
    request: Request | None = context.request
    if request is None:
        raise MCPError(INTERNAL_ERROR, "the call has no request")
    return request


def caller_of(context: Context) -> tuple[Visit, Client]:
    visit: Visit = call_request_of(context).scope[VISIT]
    if visit.client is None:
        raise MCPError(INTERNAL_ERROR, "the call has no caller")
    return visit, visit.client


@contextmanager
def as_mcp() -> Generator[None]:
    """Raise errors as the protocol's own."""
    try:
        yield
    except MCPError:
        raise
    except TransientError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from error
    except SoormaError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    except Exception as error:
        error_id = token_hex(8)
        warn("mcp_call_broke", bug=error, error_id=error_id)
        raise MCPError(INTERNAL_ERROR, f"error {error_id}; the log of the server says more") from error
