"""Another's agent, as a worker here."""

from asyncio import Event
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, create_client
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from a2a.types import (
    AgentCard,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import A2AError, InternalError, InvalidParamsError
from typing_extensions import Unpack

from soorma_ai.agents.agent import AgentOptions, EventLike, span
from soorma_ai.agents.agent import definitions_of as events_of
from soorma_ai.agents.arguments import options_of
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.contexts.task import ResultContext, TaskContext
from soorma_ai.agents.worker import Worker
from soorma_ai.errors import ConfigError, Reject, TransientError
from soorma_ai.gateways.a2a.bounded import open_bounded
from soorma_ai.gateways.a2a.handler import SKILL
from soorma_ai.gateways.a2a.parts import part_of
from soorma_ai.gateways.a2a.skills import content_of, definitions_of, must_be_its_own, result_of, words_of
from soorma_ai.gateways.a2a.tasks import FINAL, struct_of
from soorma_ai.gateways.goals import WORDS
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from soorma_ai.kernel.domain.values import JsonObject, clip, derived_id, message_of
from soorma_ai.kernel.runtime.handling.process.signals import until

TIMEOUT = timedelta(seconds=30)
ANSWER_TIMEOUT = timedelta(days=7)
MOST_BYTES = 2**20
MOST_QUESTIONS = 20
_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.25, 15.0, 1.5
_ASKS = (TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED)
# Names in the state of a task here.
_THERE, _CONTEXT, _ASKED = "task_there", "context", "asked"


class RemoteOptions(AgentOptions, total=False):
    """Options of an `A2AAgent`, beside those of every agent."""

    token: str | None
    allow_private: bool
    timeout: timedelta
    answer_timeout: timedelta


class A2AAgent(Worker):
    """Serves the skills of a foreign agent as requests here, by A2A: `book` of the agent `flights` is the request
    `flights.book`.

    `skills` are the offered ones, by their names or as definitions of events; `A2AAgent.connect` reads them from the
    other's card. A request goes out under one message id, in every try; a later try looks for the task first. A
    question of the other is a question to people here, for `answer_timeout`. `timeout` is that of one call; a task may
    take as long as `handler_timeout`. Only public addresses are called, by https and without redirections, unless
    `allow_private`; `token` goes to `url` and to no other place.
    """

    def __init__(self, name: str, url: str, *, skills: Iterable[EventLike], **options: Unpack[RemoteOptions]) -> None:
        must_know(f"agent {name}", options, RemoteOptions)
        super().__init__(name, f"Asks the agent at {urlsplit(url).hostname}.", **options_of(AgentOptions, options))
        self.url = _check(url, options)
        self._http: httpx.AsyncClient | None = None
        self._client: Client | None = None
        self._open = partial(_open, name, options)
        self._answer_timeout = span("answer_timeout", name, options.get("answer_timeout", ANSWER_TIMEOUT))
        self._answered = f"{name}.answered"
        definitions = events_of("skills", skills, EventTopic.ACTION_REQUESTS)
        if not definitions:
            raise ConfigError(f"{name} asks for nothing: give skills=['name'], or use A2AAgent.connect")
        for definition in definitions:
            self._offer(definition)
        self.on_result(self._answered)(self._pass_on)
        self.on_shutdown(self._close)

    @classmethod
    async def connect(cls, name: str, url: str, **options: Unpack[RemoteOptions]) -> Self:
        """Return an agent with all the skills of a foreign card. Raise ConfigError for an unusable card, TransientError
        for one out of reach now."""
        home = _check(url, options)
        async with _open(name, options) as http:
            try:
                card = await _card(http, home)
            except Reject as error:
                raise ConfigError(f"{url} has no card that can be read: {error}") from error
        return cls(name, url, skills=definitions_of(name, card), **options)

    def _offer(self, given: EventDefinition) -> None:
        """Take the request of a skill. A name without our prefix gets it."""
        event_name = given.event_name
        event_name = event_name if event_name.startswith(f"{self.name}.") else f"{self.name}.{event_name}"
        self.on_task(
            event_name,
            description=given.description,
            payload_schema=given.payload_schema,
            response_schema=given.response_schema,
            approval=given.given_approval,
            irreversible=given.irreversible,
        )(self._pass_over)

    async def _pass_over(self, task: TaskContext[dict[str, Any]], context: PlatformContext) -> None:
        """Ask for a skill there, and continue with its outcome."""
        context_id = derived_id("a2a", self.name, task.task_id)
        task.state[_CONTEXT], task.state[_ASKED] = context_id, 0
        found = await self._find(context_id) if task.attempt > 1 else None
        asked = Message(
            message_id=derived_id("a2a message", self.name, task.task_id),
            context_id=context_id,
            role=Role.ROLE_USER,
            parts=[part_of(task.data)],
            metadata=struct_of({SKILL: task.event_type.removeprefix(f"{self.name}.")}),
        )
        with _as_ours():
            await self._go_on(task, context, found or await self._say(asked))

    async def _pass_on(self, result: ResultContext, context: PlatformContext) -> None:
        """Give an answer of people to the foreign agent. If it does not fit there, ask again."""
        task = await result.restore_task()
        said: JsonObject = result.data
        words = said.get(WORDS) if set(said) == {WORDS} else None
        answer = Message(
            message_id=derived_id("a2a answer", self.name, result.sub_task_id),
            task_id=str(task.state[_THERE]),
            context_id=str(task.state[_CONTEXT]),
            role=Role.ROLE_USER,
            parts=[part_of(words if isinstance(words, str) else said)],
        )
        with _as_ours():
            try:
                there = await self._say(answer)
            except InvalidParamsError as error:
                await self._ask(task, context, f"That answer was not taken: {clip(str(error), 500)}")
                return
            await self._go_on(task, context, there)

    async def _go_on(self, task: TaskContext[dict[str, Any]], context: PlatformContext, there: Task | Message) -> None:
        if isinstance(there, Message):
            await task.complete(content_of(there.parts))
            return
        there = await self._until_turn(there, context)
        state, words = there.status.state, words_of(there.status.message)
        task.state[_THERE], task.state[_CONTEXT] = there.id, there.context_id
        if state == TaskState.TASK_STATE_COMPLETED:
            await task.complete(result_of(there))
        elif state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await self._ask(task, context, words or "It asks for more.")
        else:
            code = TaskState.Name(state).removeprefix("TASK_STATE_").lower()
            await task.fail(clip(words, 1_000) or f"the task there ended as {code}", code=code)

    async def _ask(self, task: TaskContext[dict[str, Any]], context: PlatformContext, question: str) -> None:
        """Put the other's question to people here."""
        asked = int(task.state[_ASKED]) + 1
        if asked > MOST_QUESTIONS:
            await task.fail(f"it asked more than {MOST_QUESTIONS} questions", code="too_many_questions")
            return
        task.state[_ASKED] = asked
        await context.bus.publish(
            EventTopic.NOTIFICATION_EVENTS,
            HUMAN_INPUT,
            {
                "question": clip(question, 2_000),
                "response_event": self._answered,
                "timeout_seconds": self._answer_timeout.total_seconds(),
            },
        )

    async def _until_turn(self, there: Task, context: PlatformContext) -> Task:
        """Return the task there when it is over, or when it asks; looked at after growing pauses."""
        clock, pause, task_id = context.handling.services.clock, _FIRST_PAUSE, there.id
        while there.status.state not in FINAL and there.status.state not in _ASKS:
            await until(Event(), clock, pause)
            pause = min(_LONGEST_PAUSE, pause * _GROWTH)
            there = await (await self._there()).get_task(GetTaskRequest(id=task_id))
        return there

    async def _say(self, said: Message) -> Task | Message:
        request = SendMessageRequest(message=said, configuration=SendMessageConfiguration(return_immediately=True))
        client = await self._there()
        async for response in client.send_message(request):
            return response.task if response.HasField("task") else response.message
        raise A2AClientError("it answered nothing")

    async def _find(self, context_id: str) -> Task | None:
        """Return the task begun there by an earlier try, if the other can tell."""
        try:
            listed = await (await self._there()).list_tasks(ListTasksRequest(context_id=context_id, page_size=1))
        except A2AError:
            return None
        return listed.tasks[0] if listed.tasks and listed.tasks[0].context_id == context_id else None

    async def _there(self) -> Client:
        if self._client is None:
            http = self._http = self._http or self._open()
            card = await _card(http, self.url)
            bindings = [TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value]
            config = ClientConfig(streaming=False, httpx_client=http, supported_protocol_bindings=bindings)
            self._client = await create_client(card, config)
        return self._client

    async def _close(self) -> None:
        http, self._http, self._client = self._http, None, None
        if http is not None:
            await http.aclose()


def _open(name: str, options: RemoteOptions) -> httpx.AsyncClient:
    return open_bounded(
        allow_private=options.get("allow_private", False),
        seconds=span("timeout", name, options.get("timeout", TIMEOUT)).total_seconds(),
        token=options.get("token"),
        most_bytes=MOST_BYTES,
    )


async def _card(http: httpx.AsyncClient, url: str) -> AgentCard:
    with _as_ours():
        card = await A2ACardResolver(http, url).get_agent_card()
    must_be_its_own(card, url)
    return card


@contextmanager
def _as_ours() -> Generator[None]:
    """Raise errors of the other by their meaning for a try: again later, or never."""
    try:
        yield
    except A2AClientTimeoutError as error:
        raise TransientError(f"it did not answer in time: {error}") from error
    except A2AClientError as error:
        status = _status_of(error)
        if status is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            raise TransientError(message_of(error)) from error
        raise Reject(message_of(error), code="refused") from error
    except InternalError as error:
        raise TransientError(message_of(error)) from error
    except A2AError as error:
        raise Reject(message_of(error), code="refused") from error


def _status_of(error: BaseException) -> int | None:
    cause = error.__cause__
    return cause.response.status_code if isinstance(cause, httpx.HTTPStatusError) else None


def _check(url: str, options: RemoteOptions) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.password:
        raise ConfigError(f"url={url!r}: give where the other agent is, as in https://agents.example")
    if parts.scheme == "http" and not options.get("allow_private", False):
        raise ConfigError(f"url={url!r}: others are asked by https; allow_private=True allows http, as for tests")
    return url.rstrip("/")
