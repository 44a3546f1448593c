"""Async client of a platform, over HTTP."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self, TypedDict, cast

from typing_extensions import Unpack

from soorma_ai.api.answers import OpenRequest, Outcome, PlacedEvent, Published, Submitted
from soorma_ai.api.clients.address import address_of
from soorma_ai.api.clients.messages import MOST_ITEMS, HttpRequest, Page, get, post
from soorma_ai.api.clients.plan import AsyncPlan, cancel_plan, seconds
from soorma_ai.api.clients.problems import error_of, problem_in
from soorma_ai.api.clients.rows import ClientRows
from soorma_ai.api.clients.sender import GRACE, CallBounds, Sender
from soorma_ai.api.clients.streams import place_of, stream_events
from soorma_ai.api.clients.transport import AsyncTransport, HttpTransport
from soorma_ai.api.clients.views import AsyncRegistry, unless_held
from soorma_ai.errors import ConfigError, DeadlineExceeded, Held, LocalProtocolError, ServerUnavailable
from soorma_ai.kernel.domain.call_options import PublishOptions, SendOptions, SubmitOptions, must_know
from soorma_ai.kernel.domain.events import EventTopic, topic_of
from soorma_ai.kernel.domain.people import ACCEPTED, DUPLICATE, INVALID, LATE, SUPERSEDED, AnswerOutcome
from soorma_ai.kernel.domain.values import Data, Json, JsonObject, json_object
from soorma_ai.kernel.ports import EventPage, StoredEvent

if TYPE_CHECKING:
    import httpx

REQUEST_SECONDS = 60.0
REPLIES_KEPT = timedelta(hours=24)
_NOT_COUNTED = {
    HTTPStatus.CONFLICT: (DUPLICATE, SUPERSEDED),
    HTTPStatus.GONE: (LATE,),
    HTTPStatus.UNPROCESSABLE_ENTITY: (INVALID,),
}


class ClientOptions(TypedDict, total=False):
    """Options of a client."""

    timeout: float | timedelta
    """Seconds for the tries of a call, beside the seconds of its own wait."""
    tries: int
    """Most sends of one call."""
    most_bytes: int
    """Largest answer."""


class AsyncKernelClient(ClientRows):
    """Client of a platform at a URL, as the holder of a token: the calls of the kernel.

    After a lost answer, only safe calls are sent again: those without changes, and those with a key of their own.
    `submit`, `request`, `ask`, `publish` and `answer` make a key if none is given. Close it by `async with`, or
    `aclose`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Read the address. Raise ConfigError.

        Args:
            url: URL of the server.
            token: bearer token; None for an open server on this machine.
            transport: another way than TCP, such as `httpx.AsyncHTTPTransport(uds=...)`.
            options: see `ClientOptions`.
        """
        address = address_of(url, token)
        self._begin(AsyncTransport(address, transport), address.url, bounds_of(options))

    @classmethod
    def over(cls, line: HttpTransport, url: str, bounds: CallBounds) -> Self:
        """Return a client over a `line` of another kind to this `url`, within these `bounds`."""
        made = cls.__new__(cls)
        made._begin(line, url, bounds)
        return made

    def _begin(self, line: HttpTransport, url: str, bounds: CallBounds) -> None:
        self._line, self._url = line, url
        self._caller = Sender(line, url, bounds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Give up its connections."""
        await self._line.close()

    async def submit(self, goal: str, data: Data, **options: Unpack[SubmitOptions]) -> AsyncPlan:
        """Give a goal to its planner, and return the plan's handle.

        Raise NotFound for a goal without any planner, LocalProtocolError for data off its schema or a key used for
        other data, Overloaded when too much is waiting or held, Held as `request` does.

        Args:
            goal: the name of the goal.
            data: its payload.
            session_id: the conversation of the plan.
            idempotency_key: the same key submits the goal once, and returns the same plan.
            planner: one planner, where several take the goal.
            approve: True approves a goal held for approval; this needs the right to approve it.
            response_event: the name of the answer.
            parent_plan_id: the plan with the limits, the deadline and the cancellation of the new one.
        """
        must_know("submit", options, SubmitOptions)
        body: JsonObject = {"goal": goal, "data": json_object(f"the data of {goal!r}", data), **_fields_of(options)}
        response = await self._caller.ask(post("plans", body=body, key=self._key(options.get("idempotency_key"))))
        made = unless_held(response, goal).read(Submitted)
        return AsyncPlan(made.plan_id, made.goal_id, self._caller)

    async def request(
        self,
        event_type: str,
        data: Data,
        *,
        timeout: float | timedelta = REQUEST_SECONDS,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        approve: bool = False,
    ) -> JsonObject:
        """Ask an agent, and wait for its reply: {request_id | task_id, success, status, result | error}.

        Raise DeadlineExceeded after `timeout` seconds; the same `idempotency_key` later finds the reply. Raise Held for
        a request in need of a person's approval; `approve` gives it, with the right to.
        """
        begun, at_most = self._line.monotonic(), seconds(timeout)
        end, otherwise = begun + at_most, f"no reply to {event_type!r} came within {at_most} s"
        body = _question(event_type, data, max(at_most, 0.001), session_id, approve=approve)
        try:
            request_id = await self._ask(event_type, body, idempotency_key, until=end + GRACE)
        except ServerUnavailable as error:
            if self._line.monotonic() < end:
                raise
            raise DeadlineExceeded(f"{otherwise}; {error}") from error
        return await self._reply(request_id, max(0.0, end - self._line.monotonic()), otherwise)

    async def ask(
        self,
        event_type: str,
        data: Data,
        *,
        timeout: float | timedelta = REPLIES_KEPT,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        approve: bool = False,
    ) -> str:
        """Ask an agent as `request` does, without waiting; return the request's id. `reply` waits for its reply, for as
        long as `timeout` from now. Raise Held as `request` does."""
        body = _question(event_type, data, seconds(timeout), session_id, approve=approve)
        return await self._ask(event_type, body, idempotency_key)

    async def _ask(self, event_type: str, body: JsonObject, key: str | None, *, until: float | None = None) -> str:
        request = post("requests", body=body, key=self._key(key))
        asked = (await self._caller.ask(request, until=until)).read(OpenRequest)
        if asked.wait_id is not None:
            raise Held(event_type, asked.wait_id, asked.request_id)
        return asked.request_id

    async def reply(self, request_id: str, *, timeout: float | timedelta = REQUEST_SECONDS) -> JsonObject:
        """Wait for the reply to an earlier request, as `request` does, for `timeout` seconds. Raise NotFound,
        DeadlineExceeded."""
        at_most = seconds(timeout)
        return await self._reply(request_id, at_most, f"no reply to request {request_id} came within {at_most} s")

    async def publish(
        self, topic: EventTopic | str, event_type: str, data: Data, **options: Unpack[PublishOptions]
    ) -> str:
        """Publish an event from outside, and return its id. `plan_id` or `correlation_id` say which plan waits for it.
        Raise Held as `request` does."""
        must_know("publish", options, PublishOptions)
        body: JsonObject = {
            "topic": str(topic_of(topic)),
            "event_type": event_type,
            "data": json_object(f"the data of {event_type!r}", data),
            **_fields_of(options),
        }
        response = await self._caller.ask(post("events", body=body, key=self._key(options.get("idempotency_key"))))
        return unless_held(response, event_type).read(Published).event_id

    async def answer(
        self,
        wait_id: str,
        payload: Mapping[str, Any],
        *,
        decision: str | None = None,
        note: str = "",
        answer_id: str | None = None,
    ) -> AnswerOutcome:
        """Answer a question: accepted | duplicate | late | superseded | invalid, with the reason in `detail`. Raise
        NotFound.

        Args:
            wait_id: the id of the question.
            payload: the answer; without a `decision`, `approved` in it decides.
            decision: "approve", "edit", "reject" or "respond".
            note: the reason, for the requester.
            answer_id: the same id makes a repeated call the same answer.
        """
        body: JsonObject = {
            "payload": json_object("the answer", payload),
            "decision": decision,
            "note": note,
            "answer_id": answer_id or self._line.new_key(),
        }
        return await self._outcome(post("waits", wait_id, "answer", body=body, is_safe=True))

    async def _outcome(self, request: HttpRequest) -> AnswerOutcome:
        response = await self._caller.ask(request, also=_NOT_COUNTED)
        if response.status == HTTPStatus.OK:
            return AnswerOutcome(ACCEPTED, response.read(Outcome).detail)
        problem = problem_in(response) or {}
        word = str(problem.get("code"))
        # What does not parse has the same code, and says where it does not.
        if word in _NOT_COUNTED[HTTPStatus(response.status)] and problem.get("faults") is None:
            return AnswerOutcome(word, str(problem["detail"]))
        raise error_of(response, request, self._url)

    async def cancel(self, plan_id: str, reason: str = "") -> bool:
        """Ask a plan to stop, for this `reason`. False for an ended plan. Raise NotFound."""
        return await cancel_plan(self._caller, plan_id, reason)

    async def resume(self, plan_id: str, data: Mapping[str, Any] | None = None, *, note: str = "") -> AnswerOutcome:
        """Resume a paused plan with this input; or a plan in need of an operator, together with all such plans of its
        tree, after the repair of its model's set-up. Raise NotFound, Forbidden, and LocalProtocolError for a plan
        without need of it."""
        body: JsonObject = {"data": json_object("the input", data or {}), "note": note}
        return await self._outcome(post("plans", plan_id, "resume", body=body))

    async def follow(self, plan_id: str) -> AsyncPlan:
        """Return the handle of an earlier plan. Raise NotFound."""
        plan = await self._caller.read(get("plans", plan_id, "result"), Submitted)
        return AsyncPlan(plan.plan_id, plan.goal_id, self._caller)

    async def events(
        self, *, after: int = 0, limit: int = 100, plan_id: str | None = None, newest: bool = False
    ) -> EventPage:
        """Return events in order of arrival behind the place `after` of the log: of a plan's tree, or all visible to
        this person. With `newest` those before it, in the reverse order, and from the end if it is 0. A page may be
        short before the end. Raise NotFound."""
        order = "newest" if newest else None
        asked = get("events", after=after, limit=min(limit, MOST_ITEMS), plan_id=plan_id, order=order)
        page = await self._caller.read(asked, Page[PlacedEvent])
        rows = tuple(StoredEvent(row.seq, row.event) for row in page.items)
        if page.next is None:
            return EventPage(rows, rows[-1].seq if rows else after, is_end=True)
        return EventPage(rows, place_of(page.next), is_end=False)

    async def events_stream(self, *, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Yield the events visible to this person as they arrive, from behind the place `after` of the log on, by
        default from its present end; without end. A lost connection is made again, without a gap and without
        duplicates."""
        async with aclosing(stream_events(self._caller, "events", "stream", after=after)) as rows:
            async for row in rows:
                yield row

    @property
    def registry(self) -> AsyncRegistry:
        """Calls about agents and events."""
        return AsyncRegistry(self._caller)

    async def _reply(self, request_id: str, at_most: float, otherwise: str) -> JsonObject:
        response = await self._caller.poll(
            lambda wait: get("requests", request_id, wait=wait),
            at_most,
            lambda response: response.status == HTTPStatus.ACCEPTED,
        )
        if response is None:
            raise DeadlineExceeded(otherwise)
        return response.read(JsonObject)

    def _key(self, given: str | None) -> str:
        return self._line.new_key() if given is None else given


def _question(event_type: str, data: Data, timeout: float, session_id: str | None, *, approve: bool) -> JsonObject:
    return {
        "event_type": event_type,
        "data": json_object(f"the data of {event_type!r}", data),
        "timeout": timeout,
        "session_id": session_id,
        "approve": approve,
    }


def _fields_of(options: SendOptions) -> JsonObject:
    """Return the options that stand in a body."""
    return {name: cast("Json", value) for name, value in options.items() if name != "idempotency_key"}


def bounds_of(options: ClientOptions) -> CallBounds:
    """Return the bounds of calls. Raise ConfigError for nonsense."""
    usual = CallBounds()
    try:
        timeout = seconds(options.get("timeout", usual.timeout))
    except LocalProtocolError as error:
        raise ConfigError(str(error)) from error
    bounds = CallBounds(timeout, options.get("tries", usual.tries), options.get("most_bytes", usual.most_bytes))
    if timeout <= 0 or bounds.tries < 1 or bounds.most_bytes < 1:
        raise ConfigError(f"{bounds}: give numbers above zero")
    return bounds
