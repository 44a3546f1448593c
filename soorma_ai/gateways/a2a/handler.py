"""Operations of the protocol. Each reads plans or steers them; there is no other store of tasks."""

from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from secrets import token_hex
from typing import NoReturn

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import HistoryLengthConfig, apply_history_length, validate_history_length, validate_page_size
from msgspec import Struct

from soorma_ai.agents.mounts import Visit
from soorma_ai.errors import Forbidden, Held, LocalProtocolError, NotFound, SoormaError, TransientError
from soorma_ai.gateways.a2a.cards import Front, by_name, card_of, goals_of, is_goal
from soorma_ai.gateways.a2a.listing import behind, is_asked_for, list_tasks, token_of
from soorma_ai.gateways.a2a.looking import find, follow, turn_of
from soorma_ai.gateways.a2a.parts import object_of, payload_of, read
from soorma_ai.gateways.a2a.tasks import FINAL, TURN_OVER, PlanTaskState, artifacts_of, history_of, status_of, task_of
from soorma_ai.gateways.goals import begin_goal, known_events, shown_events
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.people import ACCEPTED, INVALID, AnswerDecision
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject, clip, derived_id
from soorma_ai.kernel.rules.waits.answers import say_approved
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.logs import warn

VISIT = "soorma.visit"
FRONT = "soorma.front"
LONGEST_ID = 200
CANCEL_SECONDS = 5.0

# Names in a message's metadata by which its sender says what the parts cannot.
SKILL = "skill"
PLANNER = "planner"
WAIT_ID = "wait_id"
DECISION = "decision"
NOTE = "note"


class GoalOffer(Struct, frozen=True):
    """Offered goals: all of a tenant, or `only` these; and the goal of a message without a skill. `with_requests`:
    requests to tools and workers are offered as well."""

    only: tuple[str, ...] | None
    default: str | None
    patience: float
    with_requests: bool = False

    def goals_of(self, known: Iterable[RegisteredEvent]) -> list[RegisteredEvent]:
        return goals_of(known, self.only, with_requests=self.with_requests)


class PlanTasks(RequestHandler):
    """Request handler for authenticated callers; `context.state[VISIT]` holds the caller."""

    def __init__(self, offer: GoalOffer) -> None:
        self._offer = offer

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        _, client = caller_of(context.state[VISIT])
        with as_a2a():
            validate_proto_required_fields(params)
            validate_history_length(params)
            return await _whole(client, await find(client, params.id), params)

    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        _, client = caller_of(context.state[VISIT])
        with as_a2a():
            size = params.page_size if params.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
            validate_page_size(size)
            validate_history_length(params)
            listed = [one for one in await list_tasks(client, params) if is_asked_for(one, params)]
            found = behind(listed, params.page_token)
            page = found[:size]
            is_whole = params.HasField("history_length") and params.history_length > 0
            return ListTasksResponse(
                tasks=[await _whole(client, one, params) if is_whole else task_of(one) for one in page],
                next_page_token=token_of(page[-1]) if len(found) > size else "",
                page_size=size,
                total_size=len(listed),
            )

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        visit, client = caller_of(context.state[VISIT])
        with as_a2a():
            validate_proto_required_fields(params)
            standing = await find(client, params.id)
            if standing.is_final:
                raise TaskNotCancelableError(f"the task is over: {TaskState.Name(standing.state)}")
            try:
                was_going = await _cancel(client, standing)
            except NotFound as error:
                raise TaskNotCancelableError("people have not approved the goal yet") from error
            if not was_going:
                raise TaskNotCancelableError("the task is over")
            ended = await turn_of(visit, client, params.id, CANCEL_SECONDS, FINAL)
            return await _whole(client, ended, None)

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        visit, client = caller_of(context.state[VISIT])
        with as_a2a():
            validate_proto_required_fields(params)
            _check_configuration(params)
            task_id = await self.take(client, params.message)
            if params.configuration.return_immediately:
                standing = await find(client, task_id)
            else:
                standing = await turn_of(visit, client, task_id, self._offer.patience)
            return await _whole(client, standing, params.configuration)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        visit, client = caller_of(context.state[VISIT])
        with as_a2a():
            validate_proto_required_fields(params)
            _check_configuration(params)
            task_id = await self.take(client, params.message)
            async with aclosing(_follow(visit, client, task_id, params.configuration)) as events:
                async for standing, event in events:
                    yield event
                    if standing.state in TURN_OVER and not standing.is_final:
                        return  # it is the caller's turn

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        visit, client = caller_of(context.state[VISIT])
        with as_a2a():
            validate_proto_required_fields(params)
            standing = await find(client, params.id)
            if standing.is_final:
                raise UnsupportedOperationError(f"the task is over: {TaskState.Name(standing.state)}")
            async with aclosing(_follow(visit, client, params.id, None)) as events:
                async for _, event in events:
                    yield event

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        _refuse_push()

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        _refuse_push()

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        _refuse_push()

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        _refuse_push()

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        _, client = caller_of(context.state[VISIT])
        front: Front = context.state[FRONT]
        with as_a2a():
            shown = await shown_events(client.services, client.person.tenant_id)
            return card_of(front, self._offer.goals_of(shown))

    async def goals(self, client: Client) -> list[RegisteredEvent]:
        """Return the goals for a message, of gone agents as well."""
        return self._offer.goals_of(await known_events(client.services, client.person.tenant_id))

    async def take(self, client: Client, message: Message, *, names_gates: bool = False) -> str:
        """Take a message: a goal, or the answer to a question of a task. With `names_gates`, an approval must name its
        question. Return the task's id."""
        if message.role == Role.ROLE_AGENT:
            raise InvalidParamsError("a message to this agent is its user's: role ROLE_USER")
        words, data = read(message.parts)
        about = object_of(message.metadata)
        if message.task_id:
            await _answer(client, message, words, data, about, names_gates)
            return message.task_id
        return await self._begin(client, message, words, data, about)

    async def _begin(self, client: Client, message: Message, words: str, data: JsonObject, about: JsonObject) -> str:
        goal = self._find_goal(await self.goals(client), about)
        name, key = goal.definition.event_name, message.message_id
        context = message.context_id or derived_id("a2a", client.event_id(name, key))
        if len(context) > LONGEST_ID or not context.isprintable():
            raise InvalidParamsError(f"contextId: give up to {LONGEST_ID} printable characters")
        payload = payload_of(words, data, goal.definition.payload_schema)
        try:
            if not is_goal(goal):
                return await client.ask(name, payload, session_id=context, idempotency_key=key)
            begun = await begin_goal(client, name, payload, session_id=context, idempotency_key=key, planner=goal.agent)
        except Held as held:
            return held.request_id
        except NotFound as error:
            raise InvalidParamsError(str(error)) from error
        return begun.task_id

    def _find_goal(self, goals: Sequence[RegisteredEvent], about: JsonObject) -> RegisteredEvent:
        """Return the goal of a message. Raise InvalidParamsError for an ambiguous one."""
        named, planner = about.get(SKILL) or self._offer.default, about.get(PLANNER)
        fitting = [one for one in goals if named in (None, one.definition.event_name) and planner in (None, one.agent)]
        if len(fitting) == 1 or (len(by_name(fitting)) == 1 and not is_goal(fitting[0])):
            return fitting[0]
        names = ", ".join(by_name(goals)) or "none"
        if not fitting:
            raise InvalidParamsError(f"there is no skill {clip(repr(named), 80)}; skills: {names}")
        if len(by_name(fitting)) > 1:
            raise InvalidParamsError(f"say in the message's metadata which {SKILL!r} is meant: {names}")
        who = ", ".join(one.agent for one in fitting)
        raise InvalidParamsError(f"say in the message's metadata which {PLANNER!r} is meant: {who}")


async def _cancel(client: Client, standing: PlanTaskState) -> bool:
    if standing.is_request:
        return await client.cancel_request(standing.task_id)
    return await client.cancel(standing.plan.plan_id)


async def _answer(
    client: Client, message: Message, words: str, data: JsonObject, about: JsonObject, names_gates: bool
) -> None:
    """Answer a question of a task. The same message again is the same answer, even with another question open by
    then."""
    standing = await find(client, message.task_id)
    if message.context_id and message.context_id != standing.context_id:
        raise InvalidParamsError(f"contextId: the task belongs to {standing.context_id}")
    answer_id = derived_id("a2a answer", client.person.tenant_id, client.person.user_id, message.message_id)
    # After the questions were read: one that is opened by this answer is none of them.
    if await _was_said_before(client, standing, answer_id):
        return
    asked = _find_question(standing, about)
    if names_gates and asked.digest is not None and WAIT_ID not in about:
        raise InvalidParamsError(f"this approves something: say {WAIT_ID!r} in the metadata: {asked.wait_id}")
    payload, decision = answer_of(asked, words, data, about)
    note = about.get(NOTE)
    outcome = await client.answer(
        asked.wait_id, payload, decision=decision, note=note if isinstance(note, str) else "", answer_id=answer_id
    )
    if outcome == INVALID:
        raise InvalidParamsError(f"the answer does not count: {outcome.detail}")
    if outcome != ACCEPTED:
        raise UnsupportedOperationError(f"the answer came {outcome}: {outcome.detail}")


async def _was_said_before(client: Client, standing: PlanTaskState, answer_id: str) -> bool:
    """Tell whether an answer has counted: in the tree of the plan, for a question of a request's worker, or for the
    approval by people."""
    plan, plans = standing.plan, client.services.store.plans
    gate = await plans.expectation(gate_id(plan.goal_id))
    if gate is not None and gate.answer is not None and gate.answer.answer_id == answer_id:
        return True
    if standing.is_request:
        return await plans.task_was_answered(standing.task_id, answer_id)
    return await plans.was_answered(plan.root_plan_id, answer_id)


def _find_question(standing: PlanTaskState, about: JsonObject) -> Wait:
    """Return the question of a message. Raise for none, and for several."""
    named = about.get(WAIT_ID)
    asked = [wait for wait in standing.asked if named in (None, wait.wait_id)]
    if len(asked) == 1:
        return asked[0]
    if asked:
        ids = ", ".join(wait.wait_id for wait in standing.asked)
        raise InvalidParamsError(f"several questions are open: say in the message's metadata which {WAIT_ID!r}: {ids}")
    state = TaskState.Name(standing.state)
    raise UnsupportedOperationError(f"the task asks nothing that this could answer: it is {state}")


def answer_of(wait: Wait, words: str, data: JsonObject, about: JsonObject) -> tuple[JsonObject, str | None]:
    """Return payload and decision of an answer. The word approve or reject alone is that decision, where it is
    allowed."""
    given = about.get(DECISION)
    decision = given if isinstance(given, str) else None
    word = words.strip().lower()
    may_be_meant = {AnswerDecision.APPROVE, AnswerDecision.REJECT} & set(wait.allowed_decisions)
    if not data and decision is None and word in may_be_meant:
        return say_approved(word, {}, wait.response_schema), word
    return payload_of(words, data, wait.response_schema), decision


async def _whole(client: Client, standing: PlanTaskState, how: HistoryLengthConfig | None) -> Task:
    """Return a task with its history, as far as requested."""
    if how is not None and how.HasField("history_length") and how.history_length == 0:
        return task_of(standing)
    expectations = await client.services.store.plans.expectations(plan_id=standing.plan.plan_id, only_open=False)
    return apply_history_length(task_of(standing, history_of(standing, expectations)), how)


async def _follow(
    visit: Visit, client: Client, task_id: str, how: HistoryLengthConfig | None
) -> AsyncGenerator[tuple[PlanTaskState, Event], None]:
    """Yield a task, and its changes until its end."""
    is_first = True
    async with aclosing(follow(visit, client, task_id)) as changes:
        async for standing in changes:
            if is_first:
                is_first = False
                yield standing, await _whole(client, standing, how)
                continue
            for event in _updates(standing):
                yield standing, event


def _updates(standing: PlanTaskState) -> Iterator[Event]:
    for artifact in artifacts_of(standing):
        yield TaskArtifactUpdateEvent(
            task_id=standing.task_id, context_id=standing.context_id, artifact=artifact, last_chunk=True
        )
    yield TaskStatusUpdateEvent(task_id=standing.task_id, context_id=standing.context_id, status=status_of(standing))


def caller_of(visit: Visit) -> tuple[Visit, Client]:
    if visit.client is None:
        raise InternalError("the call has no caller")
    return visit, visit.client


@contextmanager
def as_a2a() -> Generator[None]:
    """Raise errors as the protocol's own. Data invisible to a caller count as missing."""
    try:
        yield
    except A2AError:
        raise
    except NotFound as error:
        raise TaskNotFoundError from error
    except Forbidden as error:
        raise UnsupportedOperationError(str(error)) from error
    except LocalProtocolError as error:
        raise InvalidParamsError(str(error)) from error
    except TransientError as error:
        raise InternalError(f"try again later: {error}") from error
    except Exception as error:
        error_id = token_hex(8)
        warn("a2a_call_broke", bug=error, error_id=error_id, known=isinstance(error, SoormaError))
        raise InternalError(f"error {error_id}; the log of the server says more") from error


def _check_configuration(params: SendMessageRequest) -> None:
    """Raise before anything of a message is done."""
    validate_history_length(params.configuration)
    if params.configuration.HasField("task_push_notification_config"):
        _refuse_push()


def _refuse_push() -> NoReturn:
    raise PushNotificationNotSupportedError
