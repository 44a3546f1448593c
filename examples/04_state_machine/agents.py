"""A library that can be searched, and a reader. The library answers one request with different events."""

from typing import Any

from pydantic import BaseModel

from soorma_ai import Agent, EventContext, InvocationContext, PlatformContext, Reject, Tool

SHELVES = {
    "owls": ["Owls of the north", "How owls hear"],
    "jaguar animal": ["The jaguar and its river"],
    "jaguar car": ["Fast and loud: a car and its makers"],
    "storms": ["A year of storms"],
}


class Pages(BaseModel):
    titles: list[str]


class Summary(BaseModel):
    text: str


def library() -> Agent:
    agent = Agent("library")

    @agent.on_event("web.search.requested", topic="action-requests")
    async def search(event: EventContext, context: PlatformContext) -> None:
        query, broad = str(event.data["query"]).lower(), event.data.get("broad", False)
        if query == "storms" and not broad:
            # Whoever asked is answered with a failure; the planner sees it as `web.search.failed`.
            raise Reject("the exact index is closed for the day", code="index_closed")
        found = SHELVES.get(query, [])
        answer: tuple[str, dict[str, Any]] = ("web.search.no_results", {"query": query})
        if found:
            answer = (str(event.response_event), {"success": True, "result": {"titles": found}})
        await context.bus.respond(*answer, correlation_id=str(event.correlation_id))

    return agent


def reader() -> Tool:
    tool = Tool("reader")

    @tool.on_invoke("content.analyze.requested", description="Say in a sentence what some books are about.")
    async def analyze(request: InvocationContext[Pages], context: PlatformContext) -> Summary:
        titles = request.data.titles
        return Summary(text=f"{len(titles)} book(s), first of all {titles[0]!r}")

    return tool
