"""The user agent: questions are brought to people, and answered by their links."""

import io
import json
from datetime import timedelta
from email import message_from_bytes
from typing import Any

import httpx
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope
from kit import is_idle, payments, planner, until
from test_webhooks import SECRET, SIGNER, Receiver

from soorma_ai import Approval, Platform, Wait
from soorma_ai.adapters.tokens import new_key
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound, Unauthenticated
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.gateways.user_agent import Console, HttpPost, Links, Mail, Question, Recipient, UserAgent
from soorma_ai.kernel.domain.people import Person
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

LINKS = Links("a secret of at least 32 characters", "https://soorma.example.com")
ANN = Recipient(Person("default", "ann", frozenset({"manager"})), "ann@example.com")
BOB = Recipient(Person("default", "bob", frozenset()), "bob@example.com")
CHARGE = publish("payment.charge.requested", amount=12000)


def ask_ann(wait: Wait) -> list[Recipient]:
    return [ANN]


class RecordingChannel:
    """A channel: fails so many times, and then records its questions."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("the mail server is away")
        self.questions.append(question)


async def hold_payment(platform: Platform, *agents: Any) -> Any:
    """Return a plan with a payment that waits for a manager."""
    minds = planner([CHARGE, complete({"paid": 1}), complete({"paid": 0})])
    await platform.start(*agents, minds, payments(Approval(approvers=("manager",), timeout=timedelta(days=2))))
    return await platform.submit("order.received", {"order_id": "A1"})


def token_of(question: Question) -> str:
    return str(question.link).rpartition("/")[2]


async def test_a_stored_gate_is_brought_to_a_person_and_opened_by_the_link(platform: Platform) -> None:
    channel = RecordingChannel()
    agent = UserAgent(channel, ask_ann, links=LINKS)
    plan = await hold_payment(platform, agent)
    await until(platform, lambda: channel.questions)
    (question,) = channel.questions
    assert question.wait.proposed_data == {"amount": 12000}
    assert await agent.answer(token_of(question), {"approved": True}) == "accepted"
    assert await plan.result(timeout=5) == {"paid": 1}
    (given,) = [one.answer for one in (await platform.plan(plan.plan_id)).expectations if one.answer]
    assert given.user_id == "ann"
    assert await agent.answer(token_of(question), {"approved": False}) == "duplicate"
    rows = [row.entry for row in await platform.audit()]
    assert [(row.user_id, row.key_id, row.call, row.what, row.outcome) for row in rows] == [
        ("ann", "link", "answer", question.wait.wait_id, "duplicate"),
        ("ann", "link", "answer", question.wait.wait_id, "accepted"),
    ]


async def test_a_link_gives_its_person_no_further_role(platform: Platform, clock: VirtualClock) -> None:
    channel = RecordingChannel()
    agent = UserAgent(channel, lambda wait: [BOB], links=LINKS)
    await hold_payment(platform, agent)
    await until(platform, lambda: channel.questions)
    with pytest.raises(NotFound):
        await agent.answer(token_of(channel.questions[0]), {"approved": True})
    with pytest.raises(Unauthenticated):
        await agent.answer("made.up", {"approved": True})
    await clock.advance(timedelta(days=2))
    with pytest.raises(Unauthenticated, match="ended"):
        await agent.answer(token_of(channel.questions[0]), {"approved": True})


async def test_a_question_not_brought_is_brought_later_unless_it_is_answered_meanwhile(
    platform: Platform, clock: VirtualClock
) -> None:
    slow, never = RecordingChannel(failures=1), RecordingChannel(failures=99)
    await hold_payment(platform, UserAgent(slow, ask_ann), UserAgent(never, ask_ann, name="mail"))
    await until(platform, lambda: not slow.failures and never.failures == 98)
    (wait,) = await platform.waits()
    queue, announced = platform.services.store.queue, await announcement(platform)
    await until(platform, lambda: queue.find_rest("user-agent", announced, clock.now()))
    await until(platform, lambda: queue.find_rest("mail", announced, clock.now()))
    await clock.advance(6)
    await until(platform, lambda: slow.questions)
    assert slow.questions[0].link is None
    await platform.answer(wait.wait_id, {"approved": True})
    await clock.advance(timedelta(days=1))
    await until(platform, lambda: is_idle(platform))
    assert never.failures >= 96 and never.questions == []


async def announcement(platform: Platform) -> str:
    events = await platform.services.store.events.events(limit=99)
    return next(row.event.id for row in events if row.event.type == "notification.human_input")


async def test_a_question_is_posted_signed(platform: Platform, clock: VirtualClock) -> None:
    receiver = Receiver(200)
    try:
        await hold_payment(
            platform, UserAgent(HttpPost(receiver.url, SECRET, allow_private=True), ask_ann, links=LINKS)
        )
        await until(platform, lambda: receiver.posts)
        (post,) = receiver.posts
        told = json.loads(post.body)
        assert SIGNER.verify(post, clock.now()) == f"{told['wait_id']}:ann"
        assert (told["proposed_data"], told["to"]["address"]) == ({"amount": 12000}, "ann@example.com")
        with pytest.raises(ConfigError, match="no public address"):
            await HttpPost(receiver.url, SECRET)(question())
        receiver.statuses = [500]
        with pytest.raises(httpx.HTTPStatusError):
            await HttpPost(receiver.url, SECRET, allow_private=True)(question())
    finally:
        receiver.close()


def question(message: str = "May this be paid?", reason: str = "confirmation") -> Question:
    wait = Wait(
        wait_id="w-1",
        plan_id=None,
        agent="orders",
        tenant_id="default",
        reason=reason,
        message=message,
        expected_event="x.said",
        response_schema={},
        allowed_decisions=(),
        approvers=(),
        opened_at=VirtualClock().now(),
        deadline=None,
        on_expiry="reject",  # type: ignore[arg-type]
        proposed_event=None,
        proposed_data=None,
        digest=None,
    )
    return Question(wait, ANN, VirtualClock().now(), "https://x/y")


class Mailbox:
    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def handle_DATA(self, server: object, session: object, envelope: Envelope) -> str:
        self.messages.append(message_from_bytes(envelope.content or b""))  # type: ignore[arg-type]
        return "250 taken"


async def test_a_question_is_sent_by_mail_and_brings_no_header_of_its_own(unused_tcp_port: int) -> None:
    mailbox = Mailbox()
    server = Controller(mailbox, hostname="127.0.0.1", port=unused_tcp_port)
    server.start()
    try:
        mail = Mail("127.0.0.1", "soorma@example.com", unused_tcp_port, plain=True)
        await mail(question("May this be paid? äöü", "now\r\nBcc: everybody@example.com"))
    finally:
        server.stop()
    (message,) = mailbox.messages
    assert (message["To"], message["From"], message["Bcc"]) == ("ann@example.com", "soorma@example.com", None)
    body = message.get_payload(decode=True).decode()
    assert "May this be paid? äöü" in body and "https://x/y" in body


async def test_a_terminal_gets_no_control_sequences() -> None:
    to = io.StringIO()
    await Console(to)(question("Pay\x1b[2J now?"))
    assert "\x1b" not in to.getvalue() and "now?" in to.getvalue()


async def test_an_answer_by_link_is_refused_without_links_or_before_the_start(platform: Platform) -> None:
    with pytest.raises(ConfigError, match="makes no links"):
        await UserAgent(RecordingChannel(), ask_ann).answer("x", {})
    with pytest.raises(LocalProtocolError, match="not started"):
        await UserAgent(RecordingChannel(), ask_ann, links=LINKS).answer("x", {})


async def test_a_failed_notice_to_one_person_keeps_no_other_from_a_notice(platform: Platform) -> None:
    told: list[str] = []

    async def channel(question: Question) -> None:
        told.append(question.recipient.address)
        if question.recipient is BOB:
            raise OSError("no such mailbox")

    await hold_payment(platform, UserAgent(channel, lambda wait: [BOB, ANN]))
    await until(platform, lambda: len(told) == 2)
    assert told == [BOB.address, ANN.address]


async def test_each_notice_is_recorded_and_a_delivered_one_is_not_repeated(
    platform: Platform, clock: VirtualClock
) -> None:
    told: list[str] = []

    async def channel(question: Question) -> None:
        told.append(question.recipient.person.user_id)
        if told.count("bob") == 1 and told[-1] == "bob":
            raise OSError("no such mailbox")

    await hold_payment(platform, UserAgent(channel, lambda wait: [BOB, ANN], name="mail"))
    await until(platform, lambda: len(told) == 2)
    announced = await announcement(platform)
    queue, people = platform.services.store.queue, platform.services.store.part(PEOPLE)
    await until(platform, lambda: queue.find_rest("mail", announced, clock.now()))
    (wait,) = await platform.waits()
    first = {(one.user_id, one.state, one.via, one.event_id) for one in await people.notices(wait.wait_id)}
    assert first == {("bob", "failed", "mail", announced), ("ann", "delivered", "mail", announced)}
    assert [one.detail for one in await people.notices(wait.wait_id) if one.detail] == ["OSError('no such mailbox')"]
    await clock.advance(6)
    await until(platform, lambda: len(told) == 3)
    await until(platform, lambda: is_idle(platform))
    assert told == ["bob", "ann", "bob"]
    again = {(one.user_id, one.state, one.detail) for one in await people.notices(wait.wait_id)}
    assert again == {("bob", "delivered", ""), ("ann", "delivered", "")}


async def test_the_new_assignee_of_a_question_gets_one_notice_and_no_other_person_does(platform: Platform) -> None:
    channel, elsewhere = RecordingChannel(), RecordingChannel()
    bob = Recipient(Person("default", "bob", frozenset({"manager"})))
    await hold_payment(
        platform, UserAgent(channel, lambda wait: [ANN, bob]), UserAgent(elsewhere, lambda wait: [ANN], name="mail")
    )
    await until(platform, lambda: len(channel.questions) == 2 and elsewhere.questions)
    (wait,) = await platform.waits()
    key, _ = new_key("default", "bob", platform.services.clock.now(), roles=["manager"])
    await platform.keys.add(key)
    ann = platform.as_user(tenant_id="default", user_id="ann", roles=["manager"])
    for _ in range(2):
        await ann.inbox.hand_over(wait.wait_id, "bob")
        await until(platform, lambda: len(channel.questions) == 3)
        await until(platform, lambda: is_idle(platform))
    last = channel.questions[-1]
    assert [one.recipient.person.user_id for one in channel.questions] == ["ann", "bob", "bob"]
    assert (
        last.subject.startswith("Assigned to you by ann: Approval needed: ")
        and last.message_id != channel.questions[1].message_id
    )
    assert len(elsewhere.questions) == 1
    notices = {(one.user_id, one.via, one.state) for one in await platform.inbox.notices(wait.wait_id)}
    assert notices == {
        ("ann", "user-agent", "delivered"),
        ("bob", "user-agent", "delivered"),
        ("ann", "mail", "delivered"),
        ("bob", "mail", "failed"),
    }
