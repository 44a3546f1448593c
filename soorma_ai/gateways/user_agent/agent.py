"""Agent for questions to people: it delivers them by a channel, and takes their answers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.mounts import Post
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound, RemoteProtocolError, Retry, Unauthenticated
from soorma_ai.features.human_tasks.claims import current_claim
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.links import LONGEST
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.human_tasks.records import Claim, Link, Notice, NoticeState
from soorma_ai.features.human_tasks.service import inbox_of
from soorma_ai.gateways.webhooks.outgoing import PAUSES
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationStatus, Wait
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import AnswerDecision, AnswerOutcome, Person
from soorma_ai.kernel.domain.states import HUMAN_INPUT, WAIT_HANDED_OVER
from soorma_ai.kernel.domain.values import JsonObject, clip
from soorma_ai.kernel.runtime.client.client import Client

NAME = "user-agent"
# A question without a deadline can be answered by its link for so long.
LINK_LASTS = timedelta(days=30)
LONGEST_FAULT = 300
# The key of the audit for who answered by a link.
BY_LINK = "link"


class _AnswerBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    payload: JsonObject
    decision: AnswerDecision | None = None
    note: str = Field("", max_length=2_000)


class Recipient(Struct, frozen=True):
    """Person to ask; `address` is in the channel's terms."""

    person: Person
    address: str = ""


class Question(Struct, frozen=True):
    """Question to one person, delivered `at` this moment, with a link for the answer, if links are made. `claim` is the
    assignment by a colleague, if there is one."""

    wait: Wait
    recipient: Recipient
    at: datetime
    link: str | None = None
    claim: Claim | None = None

    @property
    def subject(self) -> str:
        about = self.wait.proposed_event or self.wait.expected_event
        need = "Approval" if self.wait.proposed_event else "Answer"
        asks = f"{need} needed: {self.wait.message or about}"
        return f"Assigned to you by {self.claim.given_by}: {asks}" if self.claim else asks

    @property
    def message_id(self) -> str:
        """Return the id of this message for its receiver, to recognise a duplicate."""
        named = f"{self.wait.wait_id}:{self.recipient.person.user_id}"
        return f"{named}:{self.claim.at.isoformat()}" if self.claim else named


class Channel(Protocol):
    async def __call__(self, question: Question) -> None:
        """Deliver a question to its recipient. Any exception is tried again later, over two days."""
        ...


class UserAgent(Agent):
    """Delivers each question to people by one channel; start one for each channel.

    `who` returns the recipients of a question, shown as stored and not as an event tells it. A question closed by then
    is not delivered any more. Each recipient is told once or more often: a new try for the others leaves out those with
    a successful delivery of this announcement. The results stand beside the question. An assignee is told about an
    assignment by a colleague, if they are among the recipients of `who`.
    """

    def __init__(
        self,
        channel: Channel,
        who: Callable[[Wait], Sequence[Recipient]],
        *,
        name: str = NAME,
        links: Links | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(name, "Brings questions to people.", **options)
        self._channel = channel
        self._who = who
        self._links = links
        self.on_event(HUMAN_INPUT, EventTopic.NOTIFICATION_EVENTS, attempts=len(PAUSES) + 1)(self.bring)
        self.on_event(WAIT_HANDED_OVER, EventTopic.NOTIFICATION_EVENTS, attempts=len(PAUSES) + 1)(self.bring_to_hand)

    @property
    def links(self) -> Links | None:
        return self._links

    async def bring(self, event: EventEnvelope, context: PlatformContext) -> None:
        """Deliver the announced question to all recipients."""
        if wait := await _find_open(event, context):
            await self._bring(event, context, wait, self._who(wait))

    async def bring_to_hand(self, event: EventEnvelope, context: PlatformContext) -> None:
        """Deliver a question to its assignee, as long as the assignment lasts."""
        wait = await _find_open(event, context)
        if wait is None:
            return
        services = context.handling.services
        found = next(iter(await services.store.part(PEOPLE).claims([wait.wait_id])), None)
        claim = current_claim(found, services.clock.now())
        if claim is None or not claim.given_by or claim.user_id != event.data.get("to"):
            return
        recipients = [one for one in self._who(wait) if one.person.user_id == claim.user_id]
        if recipients:
            await self._bring(event, context, wait, recipients, claim)
        else:
            await self._keep(context, event, wait, {claim.user_id: NotFound("this channel has no address of theirs")})

    async def _bring(
        self,
        event: EventEnvelope,
        context: PlatformContext,
        wait: Wait,
        recipients: Sequence[Recipient],
        claim: Claim | None = None,
    ) -> None:
        """Deliver a question to those without a delivery of this event."""
        reached = await _find_reached(context, self.name, wait.wait_id, event.id)
        faults: dict[str, Exception | None] = {}
        for recipient in recipients:
            name = recipient.person.user_id
            if name not in reached:
                faults[name] = await self._tell(context, wait, recipient, claim) or faults.get(name)
        await self._keep(context, event, wait, faults)
        if failed := {name: fault for name, fault in faults.items() if fault}:
            said = "; ".join(f"{name} was not notified: {fault!r}" for name, fault in failed.items())
            raise Retry(said, after=PAUSES[min(context.attempt, len(PAUSES)) - 1])

    async def _tell(
        self, context: PlatformContext, wait: Wait, recipient: Recipient, claim: Claim | None
    ) -> Exception | None:
        """Deliver the question to one recipient; return the reason of a failure."""
        now = context.handling.services.clock.now()
        try:
            await self._channel(Question(wait, recipient, now, self._link(wait, recipient.person, now), claim))
        except Exception as error:
            return error
        return None

    async def _keep(
        self, context: PlatformContext, event: EventEnvelope, wait: Wait, faults: Mapping[str, Exception | None]
    ) -> None:
        """Record the reached recipients, and those without a delivery at one of their addresses."""
        services = context.handling.services
        for name, fault in faults.items():
            state = NoticeState.FAILED if fault else NoticeState.DELIVERED
            detail = clip(repr(fault), LONGEST_FAULT) if fault else ""
            await services.store.part(PEOPLE).tell(
                Notice(wait.wait_id, wait.tenant_id, name, state, services.clock.now(), self.name, event.id, detail)
            )

    def _link(self, wait: Wait, person: Person, now: datetime) -> str | None:
        """Return the link for a person's answer. Raise ConfigError for the root, a person without a role."""
        if self._links is None:
            return None
        if person.roles is None:
            raise ConfigError("a link is for a person with roles, maybe none; the root needs no link")
        until = min(wait.deadline or now + LINK_LASTS, now + LONGEST)
        return self._links.url(
            Link("question", wait.wait_id, person.tenant_id, person.user_id, person.roles, now, until)
        )

    @property
    def path(self) -> str:
        return "/v1/answers/{token}"

    async def take(self, post: Post) -> JsonObject:
        """Take the answer posted to a link, as {payload, decision, note}, and return {outcome, detail}."""
        try:
            given = _AnswerBody.model_validate_json(post.body)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise RemoteProtocolError(f"the answer, at {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error
        outcome = await self.answer(post.in_path["token"], given.payload, decision=given.decision, note=given.note)
        return {"outcome": str(outcome), "detail": outcome.detail}

    async def answer(
        self, token: str, payload: Mapping[str, Any], *, decision: str | None = None, note: str = ""
    ) -> AnswerOutcome:
        """Answer as the person of this link `token`. Raise Unauthenticated, and as `Client.answer`."""
        if self._links is None:
            raise ConfigError(f"{self.name!r} makes no links; give it links=Links(secret, base_url)")
        if self._services is None:
            raise LocalProtocolError(f"{self.name!r} is not started; start it beside the other agents")
        link = self._links.read(token, self._services.clock.now())
        if link.kind != "question":
            raise Unauthenticated("this link opens more than one question: answer on its page")
        person = Person(link.tenant_id, link.user_id, link.roles)
        client = Client(self._services, person).as_caller(Caller(person, key_id=BY_LINK))
        await inbox_of(client).check_link(link, is_listed=False)
        return await client.answer(link.about, payload, decision=decision, note=note)


async def _find_open(event: EventEnvelope, context: PlatformContext) -> Wait | None:
    """Return the question of an event; None for a closed one, and for one of another tenant."""
    asked = await context.handling.services.store.plans.expectation(str(event.data.get("wait_id", "")))
    if asked is None or asked.tenant_id != event.tenant_id or asked.status is not ExpectationStatus.OPEN:
        return None
    return Wait.of(asked)


async def _find_reached(context: PlatformContext, via: str, wait_id: str, event_id: str) -> set[str]:
    """Return the names of the people already told by this channel of this very announcement."""
    notices = await context.handling.services.store.part(PEOPLE).notices(wait_id)
    about = (one for one in notices if one.via == via and one.event_id == event_id)
    return {one.user_id for one in about if one.state is NoticeState.DELIVERED}
