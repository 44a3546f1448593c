"""Client of the platform in this process: submit, request, publish, answer, read. Every call acts at once."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, cast

from msgspec.structs import replace
from typing_extensions import Unpack

from soorma_ai.errors import IllegalTransition, LocalProtocolError
from soorma_ai.kernel.domain.call_options import PublishOptions, SubmitOptions, must_know
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.events import CLIENT, EventEnvelope, EventTopic, Lineage, new_event, topic_of
from soorma_ai.kernel.domain.expectations import Expectation, Wait
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.parameters import BY_REQUEST, MOST_ITEMS, Id, Note
from soorma_ai.kernel.domain.people import ACCEPTED, Answer, AnswerOutcome, Person, roles_of
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord, Status, plan_id_of
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import (
    UNSTORABLE,
    Data,
    JsonObject,
    derived_id,
    is_storable,
    json_object,
    must_be_text,
)
from soorma_ai.kernel.ports import EventPage
from soorma_ai.kernel.rules.authority import (
    LIST_PLANS,
    LIST_WAITS,
    PUBLISH_TO_PLAN,
    RESUME,
    SEE_PLAN,
    Right,
    may,
    only_user,
    steers_all,
)
from soorma_ai.kernel.rules.plans.lifecycle import lineage_of_child
from soorma_ai.kernel.rules.waits.answers import decision_meant
from soorma_ai.kernel.rules.waits.opening import Waiter, expectation_of
from soorma_ai.kernel.rules.waits.replies import check_author
from soorma_ai.kernel.runtime.client import intake, open_requests
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.client.ownership import check_receiver, check_session
from soorma_ai.kernel.runtime.client.patience import TimeLimit
from soorma_ai.kernel.runtime.client.people import own_question, right_to_answer, take_answer, with_claims
from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle, seconds
from soorma_ai.kernel.runtime.client.questions import find_questions, question_page
from soorma_ai.kernel.runtime.client.replies import reply_within
from soorma_ai.kernel.runtime.client.resume import find_pause, resume_all, resume_held
from soorma_ai.kernel.runtime.handling.handling import must_be_outside
from soorma_ai.kernel.runtime.views import plans as reading
from soorma_ai.kernel.runtime.views.registry import Directory

DEFAULT_TIMEOUT = 60.0
REPLIES_KEPT = timedelta(hours=24)

PLANS, REQUESTS, EVENTS, QUESTIONS = CallTable(), CallTable(), CallTable(), CallTable()


class Client(OperatorCalls):
    """Calls of one person of one tenant. The person sees their own data, and the tenant's as far as their roles allow.

    What a person does not see is NotFound, just as what does not exist; what they see and may not do is Forbidden.
    `registry` finds agents.
    """

    def as_user(self, *, tenant_id: str, user_id: str, roles: Collection[str] = ()) -> "Client":
        """Return the same calls for a person with these `roles`; establish the person's identity beforehand."""
        must_be_text("tenant_id", tenant_id)
        must_be_text("user_id", user_id)
        return Client(self.services, Person(tenant_id, user_id, roles_of(roles)))

    def as_caller(self, caller: Caller) -> "Client":
        """Return the same calls for an authenticated `caller`. Changes by it are recorded; see `audit`."""
        client = Client(self.services, caller.person)
        client.caller = caller
        return client

    @PLANS.local(Act.BEGIN)
    async def submit(self, goal: str, data: Data, **options: Unpack[SubmitOptions]) -> PlanHandle:
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
        registry, planner = self.services.store.registry, options.get("planner")
        registered = await intake.goal_taken(registry, self.person.tenant_id, goal, planner)
        event_id = self.event_id(goal, options.get("idempotency_key"))
        given = await intake.check_data(self.person.tenant_id, registered.definition, data)
        lineage, now = await self._lineage_of_goal(options), self._now()
        event = intake.request_of(registered.definition, given, event_id, lineage, now, registered.agent)
        event = self._mark(intake.with_answer(event, options.get("response_event")))
        approve = options.get("approve", False)
        async with self._changing("submit", event.id) as change:
            await intake.take_request(change, self.person, event, registered.definition, approve=approve)
        return PlanHandle(plan_id_of(event.id, registered.agent), event.id, self)

    @REQUESTS.local(Act.BEGIN)
    async def request(
        self,
        event_type: str,
        data: Data,
        *,
        timeout: float | timedelta = DEFAULT_TIMEOUT,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        approve: bool = False,
    ) -> JsonObject:
        """Ask an agent, and wait for its reply: {request_id | task_id, success, status, result | error}.

        Raise DeadlineExceeded after `timeout`; the same `idempotency_key` later finds the reply. Raise Held for a
        request in need of a person's approval.

        Args:
            event_type: the name of the request.
            data: its payload.
            timeout: seconds or a span.
            idempotency_key: the same key asks once, and finds the same reply.
            session_id: the conversation of the request.
            approve: True approves a request held for approval; this needs the right to approve it.
        """
        at_most, services = seconds(timeout), self.services
        async with TimeLimit(services.clock, at_most, f"a request of {event_type!r}"):
            event, definition, expectation = await self._question(
                event_type, data, at_most, idempotency_key, session_id
            )
            with services.signals.notice_of(event.id) as answered:
                async with self._changing("request", event.id) as change:
                    await intake.take_request(change, self.person, event, definition, expectation, approve=approve)
                is_new = idempotency_key is None
                return await reply_within(services, expectation, answered, at_most, is_new=is_new)

    @REQUESTS.local(Act.BEGIN)
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
        at_most = seconds(timeout)
        event, definition, expectation = await self._question(event_type, data, at_most, idempotency_key, session_id)
        async with self._changing("ask", event.id) as change:
            await intake.take_request(change, self.person, event, definition, expectation, approve=approve)
        return event.id

    @REQUESTS.local(Act.SEE)
    async def reply(self, request_id: str, *, timeout: float | timedelta = DEFAULT_TIMEOUT) -> JsonObject:
        """Wait for the reply to an earlier request, as `request` does, for `timeout` seconds. Raise NotFound,
        DeadlineExceeded."""
        must_be_outside()
        at_most = seconds(timeout)
        async with TimeLimit(self.services.clock, at_most, f"the reply to {request_id}"):
            expectation = await open_requests.own_request(
                self.services.store, self.person, request_id, REQUESTS["reply"]
            )
            with self.services.signals.notice_of(request_id) as answered:
                return await reply_within(self.services, expectation, answered, at_most)

    @REQUESTS("POST /requests/{request_id}/cancel", Act.STEER, "cancel_request", key="cancelled")
    async def cancel_request(self, request_id: Id, reason: Note = BY_REQUEST) -> bool:
        """Cancel a request, for this `reason`: its reply is a failure with the code `cancelled`, and no agent begins it
        any more. A running handler goes on. False for a request with a reply. Raise NotFound, Forbidden."""
        must_be_outside()
        async with self._changing("cancel_request", request_id) as change:
            expected = await open_requests.own_request(
                change.store, self.person, request_id, REQUESTS["cancel_request"]
            )
            return await open_requests.cancel(change, self.person, expected, reason or BY_REQUEST)

    @EVENTS.local(Act.BEGIN)
    async def publish(
        self, topic: EventTopic | str, event_type: str, data: Data, **options: Unpack[PublishOptions]
    ) -> str:
        """Publish an event from outside, and return its id.

        A request is checked against its receiver's schema as `request` does it, and gets no reply here. Raise Held as
        `request` does.

        Args:
            topic: the topic of the event.
            event_type: the name of the event.
            data: its payload.
            idempotency_key: the same key publishes once.
            correlation_id: the reply key of a plan's wait; this person needs the right to steer the plan.
            plan_id: the waiting plan; this person needs the right to steer it.
            session_id: the conversation of the event.
            approve: as in `request`.
        """
        must_know("publish", options, PublishOptions)
        where, plan_id, correlation_id = topic_of(topic), options.get("plan_id"), options.get("correlation_id")
        check_author(event_type)
        definition = await self._definition_from_outside(where, event_type, plan_id)
        given = await intake.check_data(self.person.tenant_id, definition, data)
        event = new_event(
            await self._lineage(options.get("session_id"), plan_id),
            event_id=self.event_id(event_type, options.get("idempotency_key")),
            source=CLIENT,
            topic=where,
            type=event_type,
            data=given,
            time=self._now(),
            correlation_id=correlation_id,
        )
        event = self._mark(event)
        async with self._changing("publish", event.id) as change:
            await check_receiver(self.services, self.person, plan_id, correlation_id)
            if where is EventTopic.ACTION_REQUESTS:
                approve = options.get("approve", False)
                await intake.take_request(change, self.person, event, definition, approve=approve)
            else:
                await intake.take_from(change.services, self.person, event)
        return event.id

    async def _definition_from_outside(
        self, topic: EventTopic, event_type: str, plan_id: str | None
    ) -> EventDefinition:
        """Return the definition of a request by its receiver; of any other event one without a schema."""
        if topic is not EventTopic.ACTION_REQUESTS:
            return EventDefinition(event_name=event_type, topic=topic)
        if plan_id is not None:
            raise LocalProtocolError("a request from outside belongs to no plan; leave plan_id= out")
        return await intake.request_taken(self.services, self.person.tenant_id, event_type, self._now())

    @QUESTIONS("GET /waits", LIST_WAITS, "list_waits", by=lambda one: one.wait_id)
    async def waits(self, *, limit: int = 50, plan_id: Id | None = None) -> list[Wait]:
        """Return open questions for this person to see or to answer, the most urgent first; with a `plan_id` those of
        its tree."""
        return (await question_page(self.services, self.person, limit, plan_id)).waits

    @QUESTIONS("GET /waits/{wait_id}", Act.SEE, "show_wait")
    async def wait(self, wait_id: Id) -> Wait:
        """Return a question, open or closed. Raise NotFound without the right to see or answer it."""
        asked = await own_question(self.services.store, self.person, wait_id, self._now())
        [wait] = await with_claims(self.services.store, [cast("Wait", Wait.of(asked))], self._now())
        return wait

    @QUESTIONS("GET /lookup/waits", LIST_WAITS, "find_waits")
    async def find_waits(self, beginning: Id) -> list[Wait]:
        """Return the questions of this person with ids of this `beginning`: the open ones, or without any the closed
        ones."""
        return await find_questions(self.services, self.person, beginning)

    @QUESTIONS("GET /caller", Act.SEE, "show_caller")
    async def whoami(self) -> Person:
        """Return the person of these calls: tenant, name and roles. Roles are None for the trusted root."""
        return self.person

    @QUESTIONS.local(Act.SEE)
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
        must_be_outside()
        now = self._now()
        said = json_object("the answer", payload)
        if not is_storable(said):
            raise LocalProtocolError(f"the answer cannot be kept: {UNSTORABLE}")
        given = Answer(
            answer_id=answer_id or self.services.clock.new_id(),
            payload=said,
            decision=decision_meant(decision, said),
            user_id=self.person.user_id,
            answered_at=now,
            note=note,
        )
        async with self._changing("answer", wait_id) as change:
            right = await right_to_answer(change.store, self.person, wait_id, now)
            given = replace(given, for_user="" if right is self.person else right.user_id)
            change.expect(ACCEPTED, given.for_user)
            outcome = await take_answer(change.store, wait_id, given, right, now)
            change.expect(str(outcome), given.for_user)
        return outcome

    @PLANS("POST /plans/{plan_id}/cancel", Act.STEER, "cancel_plan", key="cancelled", raises=(IllegalTransition,))
    async def cancel(self, plan_id: Id, reason: Note = BY_REQUEST) -> bool:
        """Ask a plan to stop, for this `reason`. False for an ended plan. Raise NotFound, Forbidden."""
        must_be_outside()
        async with self._changing("cancel", plan_id) as change:
            await self._own_plan(plan_id, PLANS["cancel"])
            return await change.store.plans.cancel(plan_id, reason or BY_REQUEST, self._now())

    @PLANS.local(RESUME)
    async def resume(self, plan_id: str, data: Mapping[str, Any] | None = None, *, note: str = "") -> AnswerOutcome:
        """Resume a paused plan with this input; or a plan in need of an operator, together with all such plans of its
        tree, after the repair of its model's set-up. Raise NotFound, Forbidden, and LocalProtocolError for a plan
        without need of it."""
        must_be_outside()
        paused, is_held = await find_pause(self.services.store, plan_id), False
        plan = await self._own_plan(plan_id, SEE_PLAN if paused else RESUME)
        if may(self.person, RESUME, plan.owner):
            async with self._changing("resume", plan_id) as change:
                is_held = await resume_held(change.store, plan, self._now())
        if paused:
            return await self.answer(paused, data or {}, note=note)
        if not is_held:
            raise IllegalTransition(f"plan {plan_id} is {plan.status}, and nobody has to resume it")
        return AnswerOutcome(ACCEPTED)

    @PLANS("POST /resumptions", Act.BEGIN, "resume_plans", key="plan_ids", is_safe=True)
    async def resume_all(self, *, agent: str | None = None) -> list[str]:
        """Resume all plans in need of an operator: those of this person, for operators those of the tenant; with
        `agent`, those of one planner. Return their ids."""
        must_be_outside()
        async with self._changing("resume", agent or "all") as change:
            return await resume_all(change.store, self.person, self._now(), agent)

    @PLANS("GET /plans", LIST_PLANS, "list_plans", by=lambda one: one.plan_id)
    async def plans(
        self, *, status: Status | None = None, session_id: Id | None = None, limit: int = 50
    ) -> list[PlanRecord]:
        """Return plans, the newest first. `status` may be 'active', too: all running plans."""
        return await reading.plans(self.services, self.person, status, session_id, limit)

    @property
    def registry(self) -> Directory:
        return Directory(self.services, self.person, self.caller)

    @PLANS("GET /plans/{plan_id}", SEE_PLAN, "show_plan")
    async def plan(self, plan_id: Id) -> PlanDetails:
        """Return everything about a plan: its steps, decisions, usage and waits. Raise NotFound."""
        return await reading.plan_details(self.services, self.person, plan_id)

    @EVENTS.local(Act.SEE)
    async def events(
        self, *, after: int = 0, limit: int = 100, plan_id: str | None = None, newest: bool = False
    ) -> EventPage:
        """Return events in the order of their arrival, from behind the place `after` on: those of a plan's tree, or all
        visible to this person. Raise NotFound.

        Args:
            after: a place of the log.
            limit: the largest number of events. For a person with access to their own events only, a page may be short,
                or empty, before the end.
            plan_id: a plan of the tree.
            newest: the reverse order: events before `after`, or before the end if `after` is 0.
        """
        person = self.person
        root = None if plan_id is None else (await self._own_plan(plan_id, EVENTS["events"])).root_plan_id
        user_id = only_user(person) if root is None else None
        log = self.services.store.events
        return await log.page(person.tenant_id, after, limit, root_plan_id=root, user_id=user_id, newest=newest)

    @EVENTS("GET /lookup/events", Act.SEE, "find_events")
    async def find_events(self, beginning: Id) -> list[EventEnvelope]:
        """Return the events in sight of this person with ids of this `beginning`, by id, at most 500."""
        log = self.services.store.events
        found = await log.events_beginning(self.person.tenant_id, beginning, MOST_ITEMS)
        return [event for event in found if may(self.person, EVENTS["events"], event)]

    @PLANS.local(Act.SEE)
    async def follow(self, plan_id: str) -> PlanHandle:
        """Return the handle of an earlier plan. Raise NotFound."""
        plan = await self._own_plan(plan_id, PLANS["follow"])
        return PlanHandle(plan.plan_id, plan.goal_id, self)

    async def _own_plan(self, plan_id: str, right: Right) -> PlanRecord:
        return await reading.own_plan(self.services, self.person, plan_id, right)

    async def _question(
        self, event_type: str, data: Data, at_most: float, key: str | None, session: str | None
    ) -> tuple[EventEnvelope, EventDefinition, Expectation]:
        now = self._now()
        definition = await intake.request_taken(self.services, self.person.tenant_id, event_type, now)
        event_id, until_then = self.event_id(event_type, key), timedelta(seconds=at_most)
        given = await intake.check_data(self.person.tenant_id, definition, data)
        lineage = await self._lineage(session)
        event = self._mark(intake.request_of(definition, given, event_id, lineage, now, None))
        return event, definition, expectation_of(Waiter(CLIENT, lineage, now + until_then), intake.reply_of(event), now)

    def _mark(self, event: EventEnvelope) -> EventEnvelope:
        """Return the event with the mark of an author without the right to steer the tenant, where it applies."""
        return event if steers_all(self.person) else event.model_copy(update={"own": True})

    def event_id(self, event_type: str, idempotency_key: str | None) -> str:
        """Return the id of this person's event under this key; without a key, a new id."""
        if idempotency_key is None:
            return self.services.clock.new_id()
        return derived_id(CLIENT, self.person.tenant_id, self.person.user_id, event_type, idempotency_key)

    async def _lineage_of_goal(self, options: SubmitOptions) -> Lineage:
        session_id, parent_plan_id = options.get("session_id"), options.get("parent_plan_id")
        if parent_plan_id is None:
            return await self._lineage(session_id)
        return lineage_of_child(await self._own_plan(parent_plan_id, PUBLISH_TO_PLAN), session_id)

    async def _lineage(self, session_id: str | None, plan_id: str | None = None) -> Lineage:
        if session_id is not None:
            await check_session(self.services.store, self.person, session_id)
        return Lineage(self.person.tenant_id, self.person.user_id, session_id=session_id, plan_id=plan_id)
