"""Client's view of a journey: messages go to its plan, and its events come back until it rests."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, cast

from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.api.clients.protocol import PlanCalls
from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.phases.records import CHECKPOINT_ANSWERED, MESSAGE_KEPT
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanDetails, PlanStatus
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from soorma_ai.kernel.domain.values import JsonObject, json_object

_DECISIONS = {"approve": AnswerDecision.APPROVE, "modify": AnswerDecision.RESPOND, "reject": AnswerDecision.REJECT}


class Journey:
    """The journey of one plan. `rows` is how it stood when it was last looked at; see `load`."""

    def __init__(self, client: KernelCalls, plan: PlanCalls, message_event: str) -> None:
        self.plan = plan
        self.rows: JsonObject = {}
        self._client = client
        self._message_event = message_event
        self._seen: set[str] = set()

    @property
    def plan_id(self) -> str:
        return self.plan.plan_id

    async def load(self) -> PlanDetails:
        details = await self._client.plan(self.plan_id)
        self.rows = details.phases
        return details

    async def process_message(
        self, message: str = "", context: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[EventEnvelope]:
        """Send a message to the plan, and yield its events until it rests with people, or has ended.

        `context` with a `decision` (approve, modify with `modifications`, reject with a `reason` and the condition to
        go `back` by) answers its checkpoint. A message answers its model's question; else it is shown in the present
        phase of the journey. Without either, past and further events are yielded.
        """
        is_new = await self._send(message, json_object("the context of a message", context or {}))
        if not is_new and await self._rests():
            async for event in self._past():
                yield event
            return
        async with aclosing(cast("AsyncGenerator[EventEnvelope]", self.plan.events())) as events:
            async for event in events:
                if event.id in self._seen:
                    continue
                self._seen.add(event.id)
                yield event
                if event.type in (HUMAN_INPUT, MESSAGE_KEPT) and await self._rests():
                    break
        await self.load()

    async def _send(self, message: str, context: JsonObject) -> bool:
        asked = await self._question()
        decision = context.get("decision")
        if decision is not None:
            if decision not in _DECISIONS:
                raise LocalProtocolError(f"decision={decision!r}: give one of {', '.join(_DECISIONS)}")
            if asked is None or asked.event_type != CHECKPOINT_ANSWERED:
                raise LocalProtocolError(f"plan {self.plan_id} waits at no checkpoint, so there is nothing to decide")
            said = {name: context[name] for name in ("modifications", "reason", "back") if name in context}
            payload: JsonObject = {**said, "action": decision}
            return await self._answer(asked, payload, _DECISIONS[str(decision)], message)
        if not message:
            return False
        is_asked_by_model = asked is not None and asked.kind is ExpectationKind.WAIT
        if asked is not None and is_asked_by_model and asked.event_type != CHECKPOINT_ANSWERED:
            return await self._answer(asked, {"text": message}, AnswerDecision.RESPOND, "")
        topic = EventTopic.NOTIFICATION_EVENTS
        await self._client.publish(topic, self._message_event, {"text": message}, plan_id=self.plan_id)
        return True

    async def _answer(self, asked: Expectation, payload: JsonObject, decision: AnswerDecision, note: str) -> bool:
        """Return whether the plan goes on with it; another person may have been first."""
        outcome = await self._client.answer(asked.id, payload, decision=decision, note=note)
        if outcome == "invalid":
            raise LocalProtocolError(f"the answer does not count: {outcome.detail}")
        return outcome == "accepted"

    async def _question(self) -> Expectation | None:
        """Return the question that the plan itself asks people."""
        opened = (await self.load()).expectations
        asked = [one for one in opened if one.ask is not None and one.status is ExpectationStatus.OPEN]
        return asked[0] if asked else None

    async def _rests(self) -> bool:
        details = await self.load()
        if details.status.is_final:
            return True
        asked = any(one.ask is not None and one.status is ExpectationStatus.OPEN for one in details.expectations)
        return asked and details.status is PlanStatus.PAUSED

    async def _past(self) -> AsyncGenerator[EventEnvelope]:
        """Yield past events not shown yet."""
        after = 0
        while True:
            page = await self._client.events(after=after, plan_id=self.plan_id)
            for row in page.events:
                if row.event.id not in self._seen:
                    self._seen.add(row.event.id)
                    yield row.event
            after = page.after
            if page.is_end:
                return
