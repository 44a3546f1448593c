"""The agent that brings questions to people, and their answers back."""

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
    """Somebody who is asked, and where: `address` is what the channel understands."""

    person: Person
    address: str = ""


class Question(Struct, frozen=True):
    """A question for one person, as it is brought `at` this moment, with the link by which they answer it, if links are
    made. `claim` is that by which it was put into their hands, where a colleague did that."""

    wait: Wait
    recipient: Recipient
    at: datetime
    link: str | None = None
    claim: Claim | None = None

    @property
    def subject(self) -> str:
        about = self.wait.proposed_event or self.wait.expected_event
        asks = f"{self.wait.agent} asks about {about}: {self.wait.reason}"
        return f"{self.claim.given_by} hands you this: {asks}" if self.claim else asks

    @property
    def message_id(self) -> str:
        """Return what names this message to its receiver, who may get it more than once."""
        named = f"{self.wait.wait_id}:{self.recipient.person.user_id}"
        return f"{named}:{self.claim.at.isoformat()}" if self.claim else named


class Channel(Protocol):
    async def __call__(self, question: Question) -> None:
        """Bring a question to its recipient. Whatever is raised is tried again later, over two days."""
        ...


class UserAgent(Agent):
    """Brings each question to people by one channel; start one for each channel that there is.

    `who` are those who are asked, by the question: a channel shows it as it is kept, not what an event says of it.
    A question that is closed by then is not brought any more. Each recipient is told once or more often: those whom an
    announcement has come to are left out when it is tried again for others. How it went stands beside the question.
    Somebody to whom a colleague hands a question is told of that, if they are among those of `who`.
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
        """Bring the question that this event announces to all who are asked."""
        if wait := await _find_open(event, context):
            await self._bring(event, context, wait, self._who(wait))

    async def bring_to_hand(self, event: EventEnvelope, context: PlatformContext) -> None:
        """Bring a question to whom it was handed, as long as they have it in hand."""
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
        """Bring a question to those of them to whom this event has not brought it."""
        reached = await _find_reached(context, self.name, wait.wait_id, event.id)
        faults: dict[str, Exception | None] = {}
        for recipient in recipients:
            name = recipient.person.user_id
            if name not in reached:
                faults[name] = await self._tell(context, wait, recipient, claim) or faults.get(name)
        await self._keep(context, event, wait, faults)
        if failed := {name: fault for name, fault in faults.items() if fault}:
            said = "; ".join(f"{name} was not told: {fault!r}" for name, fault in failed.items())
            raise Retry(said, after=PAUSES[min(context.attempt, len(PAUSES)) - 1])

    async def _tell(
        self, context: PlatformContext, wait: Wait, recipient: Recipient, claim: Claim | None
    ) -> Exception | None:
        """Bring the question to one of those who are asked, and return why that did not work."""
        now = context.handling.services.clock.now()
        try:
            await self._channel(Question(wait, recipient, now, self._link(wait, recipient.person, now), claim))
        except Exception as error:
            return error
        return None

    async def _keep(
        self, context: PlatformContext, event: EventEnvelope, wait: Wait, faults: Mapping[str, Exception | None]
    ) -> None:
        """Keep who was told, and who was not at one of their addresses."""
        services = context.handling.services
        for name, fault in faults.items():
            state = NoticeState.FAILED if fault else NoticeState.DELIVERED
            detail = clip(repr(fault), LONGEST_FAULT) if fault else ""
            await services.store.part(PEOPLE).tell(
                Notice(wait.wait_id, wait.tenant_id, name, state, services.clock.now(), self.name, event.id, detail)
            )

    def _link(self, wait: Wait, person: Person, now: datetime) -> str | None:
        """Return the link by which a person answers. Raise ConfigError for the root, who is asked for no role."""
        if self._links is None:
            return None
        if person.roles is None:
            raise ConfigError("a link is for a person with roles, of which there may be none; the root needs no link")
        until = min(wait.deadline or now + LINK_LASTS, now + LONGEST)
        return self._links.url(
            Link("question", wait.wait_id, person.tenant_id, person.user_id, person.roles, now, until)
        )

    @property
    def path(self) -> str:
        return "/v1/answers/{token}"

    async def take(self, post: Post) -> JsonObject:
        """Take the answer that was posted to a link, as {payload, decision, note}, and return {outcome, detail}."""
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
        """Answer as the person whom the link of this `token` is for. Raise Unauthenticated, and as `Client.answer`."""
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
    """Return the question that an event is about; None where it is not open any more, or none of this tenant's."""
    asked = await context.handling.services.store.plans.expectation(str(event.data.get("wait_id", "")))
    if asked is None or asked.tenant_id != event.tenant_id or asked.status is not ExpectationStatus.OPEN:
        return None
    return Wait.of(asked)


async def _find_reached(context: PlatformContext, via: str, wait_id: str, event_id: str) -> set[str]:
    """Return the names of those who were told by this channel of this very announcement."""
    notices = await context.handling.services.store.part(PEOPLE).notices(wait_id)
    about = (one for one in notices if one.via == via and one.event_id == event_id)
    return {one.user_id for one in about if one.state is NoticeState.DELIVERED}
