"""The gateway agent, with a mount for AG-UI."""

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from http import HTTPStatus

from ag_ui.core import BaseEvent
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions
from soorma_ai.agents.arguments import options_of
from soorma_ai.agents.mounts import Receive, Scope, Send, Visit
from soorma_ai.api.server.problems import problem, problem_of, report_error, response_of
from soorma_ai.api.server.streams import BEAT, STREAM_HEADERS
from soorma_ai.errors import NotFound, SoormaError, TransientError
from soorma_ai.gateways.ag_ui.events import run_error, run_start
from soorma_ai.gateways.ag_ui.inputs import read_input
from soorma_ai.gateways.ag_ui.runs import Run, begin, follow, resume
from soorma_ai.gateways.goals import known_events, offered_goals
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.values import clip, message_of
from soorma_ai.kernel.runtime.client.client import Client

PATH = "/v1/ag-ui/{goal}"
_LONGEST_PLACE = 18


class AgUiGateway(Agent):
    """Serves goals to user interfaces by AG-UI: a run is a plan, or its part between two questions.

    `goals` are the offered goals, by default all of the caller's tenant. A closed tab ends the stream and not the plan:
    the same input again tells the story from the beginning, or with `Last-Event-ID` from behind that step.
    """

    def __init__(
        self,
        name: str = "ag-ui",
        description: str = "Plans for user interfaces.",
        *,
        goals: Collection[str] | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        must_know(f"agent {name}", options, AgentOptions)
        super().__init__(name, description, **options_of(AgentOptions, options))
        self._goals = None if goals is None else frozenset(goals)

    @property
    def paths(self) -> Collection[str]:
        return (PATH,)

    @property
    def public_paths(self) -> Collection[str]:
        return ()

    async def serve(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        client = visit.client
        assert client is not None, "the path is for callers with a token"
        if scope["method"] != "POST":
            said = problem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "invalid",
                f"{scope['method']} has no meaning here: POST a RunAgentInput of AG-UI",
            )
            await response_of(said, {"allow": "POST"})(scope, receive, send)
            return
        came = await receive()
        try:
            run = await self._begin(client, str(scope["path_params"]["goal"]), came.get("body", b""))
        except SoormaError as error:
            await response_of(problem_of(error) or report_error(error, PATH))(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
        async with aclosing(_chunks(visit, client, run, _last_step(scope))) as chunks:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _begin(self, client: Client, goal: str, body: bytes) -> Run:
        known = await known_events(client.services, client.person.tenant_id)
        names = {one.definition.event_name for one in offered_goals(known, self._goals)}
        if goal not in names:
            raise NotFound(f"there is no goal {clip(goal, 80)} here; goals: {', '.join(sorted(names)) or 'none'}")
        given = read_input(body)
        return await (resume if given.resumed else begin)(client, goal, given)


async def _chunks(visit: Visit, client: Client, run: Run, after: int) -> AsyncGenerator[bytes]:
    """Yield a run as server-sent events. Each step's number is the id of its last event."""
    yield _chunk(run_start(run.thread_id, run.run_id, run.plan_id))
    try:
        async with aclosing(follow(visit, client, run, after)) as events:
            async for one in events:
                yield BEAT if one is None else _chunk(one[1], one[0])
    except TransientError as error:
        yield _chunk(run_error(f"{message_of(error)}; run it again later", error.code))
    except NotFound as error:
        yield _chunk(run_error(message_of(error), error.code))
    except Exception as error:
        told = report_error(error, PATH)
        yield _chunk(run_error(told.detail, told.code))


def _chunk(event: BaseEvent, number: int | None = None) -> bytes:
    place = "" if number is None else f"id: {number}\n"
    return f"{place}data: {event.model_dump_json(by_alias=True)}\n\n".encode()


def _last_step(scope: Scope) -> int:
    """Return the number of the last step that the caller has; -1 without a readable one."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    said = next((value for name, value in headers if name == b"last-event-id"), b"").decode("latin-1")
    return int(said) if said.isascii() and said.isdigit() and len(said) <= _LONGEST_PLACE else -1
