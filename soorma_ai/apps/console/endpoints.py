"""Endpoints of the console, by path and method; and the files of its pages."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from soorma_ai.apps.console.rendering import STATIC, static_file
from soorma_ai.surfaces.page_context import HEADERS

Answering = Callable[[Request], Awaitable[ASGIApp]]


class Endpoint:
    """Endpoints of one path, by method."""

    def __init__(self, **answering: Answering) -> None:
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, method = Request(scope, receive), str(scope["method"])
        answering = self._answering.get("GET" if method == "HEAD" else method)
        if answering is None:
            allowed = {**HEADERS, "allow": ", ".join(self._answering)}
            answer: ASGIApp = Response(None, HTTPStatus.METHOD_NOT_ALLOWED, allowed)
        else:
            answer = await answering(request)
        await answer(scope, receive, send)


async def serve_static(request: Request) -> ASGIApp:
    name = str(request.path_params["name"])
    if name not in STATIC:
        return Response("there is nothing at this path", HTTPStatus.NOT_FOUND, HEADERS, "text/plain")
    kept = {**HEADERS, "cache-control": "public, max-age=86400"}  # its path changes with its content
    return Response(static_file(name)[0], HTTPStatus.OK, kept, STATIC[name])
