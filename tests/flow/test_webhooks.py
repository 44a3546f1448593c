"""Webhooks: a post out is signed, tried again and set aside; a post in is one event, within the rights of its hook."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from kit import is_idle, planner, until
from receiver import Receiver

from soorma_ai import Agent, EventDefinition, EventEnvelope, Platform, PlatformContext
from soorma_ai.errors import ConfigError, LocalProtocolError, RemoteProtocolError, Unauthenticated
from soorma_ai.gateways.webhooks import Came, GitHub, Hook, Post, StandardWebhooks, Webhook
from soorma_ai.gateways.webhooks.outgoing import PAUSES
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

SECRET = "whsec_" + base64.b64encode(b"a key of more than 16 bytes").decode()
SIGNER = StandardWebhooks(SECRET)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(200)
    yield made
    made.close()


def webhook(url: str, **options: Any) -> Webhook:
    options = {"allow_private": True, "secret": SECRET, "events": {"business-facts": ["order.*"]}, **options}
    return Webhook("crm", url, **options)


# Out


async def test_an_event_is_posted_signed_as_a_cloudevent_and_others_are_not(
    platform: Platform, clock: VirtualClock, receiver: Receiver
) -> None:
    await platform.start(webhook(receiver.url))
    event_id = await platform.publish("business-facts", "order.placed", {"n": 1})
    await platform.publish("business-facts", "invoice.placed", {"n": 2})
    await until(platform, lambda: receiver.posts and is_idle(platform))
    (post,) = receiver.posts
    told = json.loads(post.body)
    assert (told["id"], told["type"], told["data"]) == (event_id, "order.placed", {"n": 1})
    assert (post.headers["content-type"], post.headers["webhook-id"]) == ("application/cloudevents+json", event_id)
    assert SIGNER.verify(post, clock.now()) == event_id


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500])
async def test_a_post_not_taken_is_tried_again_after_a_pause_under_the_same_id(
    platform: Platform, clock: VirtualClock, receiver: Receiver, status: int
) -> None:
    receiver.statuses = [status, 200]
    await platform.start(webhook(receiver.url))
    event_id = await platform.publish("business-facts", "order.placed", {})
    queue = platform.services.store.queue
    rest = await until(platform, lambda: queue.find_rest("crm", event_id, clock.now()))
    assert (rest.until, rest.reason) == (clock.now() + PAUSES[0], f"{receiver.url}: it answered {status}")
    await clock.advance(PAUSES[0])
    await until(platform, lambda: is_idle(platform))
    assert [post.headers["webhook-id"] for post in receiver.posts] == [event_id, event_id]
    first, second = (int(post.headers["webhook-timestamp"]) for post in receiver.posts)
    assert second - first == PAUSES[0].total_seconds(), "signed anew, so that it is not too old"


async def test_a_post_never_taken_is_a_dead_letter_after_two_days(
    platform: Platform, clock: VirtualClock, receiver: Receiver
) -> None:
    receiver.statuses = [503]
    await platform.start(webhook(receiver.url))
    event_id, queue = await platform.publish("business-facts", "order.placed", {}), platform.services.store.queue

    async def sleeps() -> bool:
        rest = await queue.find_rest("crm", event_id, clock.now())
        return rest is not None and rest.until is not None

    for pause in PAUSES:
        await until(platform, sleeps)
        await clock.advance(pause)
    (letter,) = await until(platform, platform.dead_letters)
    assert (letter.event.id, letter.attempts, len(receiver.posts)) == (event_id, len(PAUSES) + 1, len(PAUSES) + 1)
    assert timedelta(days=2) < sum(PAUSES, timedelta()) < timedelta(days=3)


async def test_a_post_to_a_gone_address_is_a_dead_letter_at_once(platform: Platform, receiver: Receiver) -> None:
    receiver.statuses = [410]
    await platform.start(webhook(receiver.url))
    await platform.publish("business-facts", "order.placed", {})
    (letter,) = await until(platform, platform.dead_letters)
    assert "answered 410" in letter.reason and len(receiver.posts) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_private_address_gets_nothing(platform: Platform, receiver: Receiver, host: str) -> None:
    url = receiver.url.replace("http:", "https:").replace("127.0.0.1", host)
    await platform.start(webhook(url, allow_private=False))
    await platform.publish("business-facts", "order.placed", {})
    (letter,) = await until(platform, platform.dead_letters)
    assert "no public address" in letter.reason and receiver.posts == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"url": "ftp://example.com"}, "where to post to"),
        ({"url": "http://example.com"}, "https"),
        ({"url": "https://me:secret@example.com"}, "password"),
        ({"events": {}}, "no events"),
        ({"secret": "whsec_x"}, "base64"),
    ],
)
def test_an_unusable_or_leaking_webhook_is_refused_at_once(options: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"url": "https://example.com/in", "allow_private": False, **options}
    with pytest.raises(ConfigError, match=told):
        webhook(given.pop("url"), **given)


# In


def payment_event(told: JsonObject) -> Came | None:
    if told.get("kind") != "paid":
        return None
    return Came("payment.received", {"order_id": told["order"]})


def bank(**options: Any) -> Hook:
    options = {"events_produced": ["payment.received"], **options}
    return Hook("bank", SIGNER, options.pop("to_event", payment_event), **options)


def post_of(told: Any, clock: VirtualClock, message_id: str = "m-1") -> Post:
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    return Post(SIGNER.sign(message_id, body, clock.now()), body)


async def test_a_post_is_an_event_of_its_hook_and_wakes_the_waiting_plan(
    platform: Platform, clock: VirtualClock
) -> None:
    arrives = EventDefinition(
        event_name="payment.received", topic="business-facts", correlate={"/order_id": "goal_data.order_id"}
    )
    hook = bank(events_produced=(arrives,))
    patient = planner(
        [wait("payment.received", "Has it been paid?"), complete({"ok": True})], external_events=[arrives]
    )
    await platform.start(hook, patient)
    plan = await platform.submit("order.received", {"order_id": "A1"})
    await until(platform, lambda: plan_waits(platform, plan.plan_id))
    received = await hook.take(post_of({"kind": "paid", "order": "A1"}, clock))
    assert await plan.result(timeout=5) == {"ok": True}
    event = await platform.services.store.events.event(str(received["event_id"]))
    assert event is not None
    assert (event.source, event.tenant_id, event.user_id, event.type) == ("bank", "default", "", "payment.received")


async def plan_waits(platform: Platform, plan_id: str) -> bool:
    return any(one.status == "open" for one in (await platform.plan(plan_id)).expectations)


async def test_a_repeated_post_is_one_event_and_its_id_with_other_content_is_refused(
    platform: Platform, clock: VirtualClock
) -> None:
    hook = bank()
    await platform.start(hook)
    first = await hook.take(post_of({"kind": "paid", "order": "A1"}, clock))
    await clock.advance(timedelta(minutes=2))
    assert await hook.take(post_of({"kind": "paid", "order": "A1"}, clock)) == first
    with pytest.raises(LocalProtocolError, match="other content"):
        await hook.take(post_of({"kind": "paid", "order": "A2"}, clock))
    assert await hook.take(post_of({"kind": "paid", "order": "A2"}, clock, "m-2")) != first


async def test_a_hook_bound_to_an_agent_answers_its_requests_and_another_hook_does_not(
    platform: Platform, clock: VirtualClock
) -> None:
    """Verifying a payment: the agent asks the bank, and goes on to other things; the bank posts the outcome."""
    verifier = Agent("verifier")
    asked: list[str] = []

    @verifier.on_event("payment.verify.requested", "action-requests")
    async def ask_the_bank(request: EventEnvelope, context: PlatformContext) -> None:
        asked.append(str(request.correlation_id))

    def verdict(told: JsonObject) -> Came:
        data: JsonObject = {"request_id": told["ref"], "success": True, "result": {"verified": told["ok"]}}
        return Came("payment.verify.requested.completed", data, correlation_id=str(told["ref"]), topic="action-results")

    bound, stranger = (
        Hook(name, SIGNER, verdict, events_produced=(), for_agent=agent)
        for name, agent in (("bank", "verifier"), ("stranger", "another"))
    )
    minds = planner([publish("payment.verify.requested", amount=7), complete({"ok": True})])
    await platform.start(verifier, bound, stranger, minds)
    plan = await platform.submit("order.received", {})
    await until(platform, lambda: asked)
    await stranger.take(post_of({"ref": asked[0], "ok": False}, clock))
    await until(platform, lambda: is_idle(platform))
    assert (await platform.plan(plan.plan_id)).status == "running"
    await bound.take(post_of({"ref": asked[0], "ok": True}, clock))
    assert await plan.result(timeout=5) == {"ok": True}
    (step,) = [one for one in (await platform.plan(plan.plan_id)).steps if one.kind == "replied"]
    assert step.data == {"verified": True}


@pytest.mark.parametrize(
    ("told", "error", "words"),
    [
        (b"no json", RemoteProtocolError, "not JSON"),
        (b"[1]", RemoteProtocolError, "an object was expected"),
        (b"[" * 100_000, RemoteProtocolError, "not JSON"),
        ({"kind": "paid", "order": "A1", "type": "x"}, None, ""),
        ({"kind": "other"}, None, ""),
    ],
)
async def test_an_unreadable_post_is_refused_and_a_meaningless_one_is_no_event(
    platform: Platform, clock: VirtualClock, told: Any, error: type[Exception] | None, words: str
) -> None:
    hook = bank()
    await platform.start(hook)
    if error is None:
        received = await hook.take(post_of(told, clock))
        assert ("event_id" not in received) is (told["kind"] == "other")
        return
    with pytest.raises(error, match=words):
        await hook.take(post_of(told, clock))


async def test_a_form_is_read_and_the_url_check_of_slack_is_answered(platform: Platform, clock: VirtualClock) -> None:
    seen: list[JsonObject] = []
    hook = bank(to_event=seen.append)
    await platform.start(hook)
    form = post_of(b"command=%2Fpay&text=", clock)
    await hook.take(
        Post({**form.headers, "content-type": "application/x-www-form-urlencoded; charset=utf-8"}, form.body)
    )
    assert seen == [{"command": "/pay", "text": ""}]
    challenge = {"type": "url_verification", "challenge": "c"}
    assert await hook.take(post_of(challenge, clock)) == {"challenge": "c"}


@pytest.mark.parametrize(
    "came",
    [
        Came("payment.charge.requested", {}, topic="action-requests"),
        Came("other.fact", {}),
        Came("payment.received", {}, topic="billing-events"),
        Came("inventory.reserve.requested.completed", {}, topic="action-results"),
        Came("notification.human_input", {}, topic="notification-events"),
        Came("plan.cancel.requested", {}, topic="system-events"),
    ],
)
async def test_a_hook_publishes_its_own_events_only(platform: Platform, clock: VirtualClock, came: Came) -> None:
    hook = bank(to_event=lambda told: came)
    await platform.start(hook)
    with pytest.raises(LocalProtocolError):
        await hook.take(post_of({}, clock))


async def test_a_post_without_the_secret_is_refused(platform: Platform, clock: VirtualClock) -> None:
    hook = bank()
    await platform.start(hook)
    with pytest.raises(Unauthenticated):
        await hook.take(Post({}, b"{}"))


def test_a_hook_has_a_name_that_fits_into_a_url() -> None:
    with pytest.raises(ConfigError, match="in a URL"):
        Hook("my/bank", SIGNER, payment_event, events_produced=())


async def test_a_post_of_github_is_known_by_its_body_and_not_by_its_unsigned_id(platform: Platform) -> None:
    def to_event(told: JsonObject) -> Came:
        return Came("issue.opened", {"number": told["number"]})

    hook = Hook("github", GitHub("a secret of 16 letters"), to_event, events_produced=["issue.opened"])
    await platform.start(hook)

    async def post(delivery: str, number: int) -> object:
        body = json.dumps({"number": number}).encode()
        signed = hmac.new(b"a secret of 16 letters", body, hashlib.sha256).hexdigest()
        headers = {"x-hub-signature-256": f"sha256={signed}", "x-github-delivery": delivery}
        return (await hook.take(Post(headers, body)))["event_id"]

    first = await post("d-1", 1)
    assert await post("d-1", 1) == first, "a redelivery"
    assert await post("d-2", 1) == first, "sent again by a listener, under another id"
    assert await post("d-1", 2) != first, "another body is another event"
    events = [row.event for row in (await platform.events(limit=9)).events if row.event.type == "issue.opened"]
    assert [one.data["number"] for one in events] == [1, 2]
