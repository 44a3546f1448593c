"""Push notifications of A2A: each state of a task is posted once, signed and in order, also over kills and outages."""

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    StreamResponse,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, PushNotificationNotSupportedError, TaskNotFoundError
from a2a_kit import ASKS, COMPLETED, WORKING, connect_client, request_of, send_message, serve_gateway, state_in
from google.protobuf.json_format import ParseDict
from http_kit import Keys, caller
from kit import as_time_passes, kill_platform, open_platform, payments, planner, until
from receiver import Receiver

from soorma_ai import Agent, Approval, Platform
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.errors import ConfigError
from soorma_ai.features.push.ports import PUSHES
from soorma_ai.features.push.records import TaskPush
from soorma_ai.gateways.a2a import A2AGateway, push_sender
from soorma_ai.gateways.a2a.push_sender import LEASE, LOOK_SECONDS
from soorma_ai.gateways.webhooks import Post, StandardWebhooks
from soorma_ai.gateways.webhooks.outgoing import PAUSES
from soorma_ai.testing import VirtualClock
from soorma_ai.testing.scripted import complete, publish

CHARGE = publish("payment.charge.requested", amount=12)
DONE = complete({"paid": 12})
SECRET = "whsec_" + base64.b64encode(b"a key of more than 16 bytes").decode()
KEYS = Keys(maria=caller(), tom=caller("shop", "tom"), op=caller("shop", "op", "operator"), eve=caller("evil", "eve"))
WEEK = Approval(timeout=timedelta(days=7))
A1 = {"order_id": "A1"}
SHOWN: Any = {"push_secret": SECRET, "allow_private": True}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(200)
    yield made
    made.close()


def shop(*script: Any) -> tuple[Agent, Agent]:
    return planner(list(script) or [CHARGE, DONE]), payments(WEEK)


def config(url: str, **fields: Any) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(url=url, **fields)


def asked_with(push: TaskPushNotificationConfig) -> Any:
    asked = request_of(A1, at_once=True)
    asked.configuration.task_push_notification_config.CopyFrom(push)
    return asked


def told(posts: Sequence[Post]) -> list[tuple[str, TaskState | None]]:
    """Return the posts as their kinds and states; the same message is told once."""
    found = [ParseDict(json.loads(post.body), StreamResponse()) for post in once(posts)]
    return [(one.WhichOneof("payload") or "", state_in(one)) for one in found]


def once(posts: Sequence[Post]) -> list[Post]:
    return [*{post.headers["webhook-id"]: post for post in posts}.values()]


async def has_told(platform: Platform, receiver: Receiver, state: TaskState) -> None:
    await until(platform, lambda: (state in [one for _, one in told(receiver.posts)]) or None)


async def answer(platform: Platform) -> None:
    maria = platform.as_user(tenant_id="shop", user_id="maria")
    [wait] = await until(platform, maria.waits)
    assert await maria.answer(wait.wait_id, {"approved": True}) == "accepted"


async def test_each_state_is_posted_once_in_order_and_signed(
    platform: Platform, clock: VirtualClock, receiver: Receiver
) -> None:
    proof = AuthenticationInfo(scheme="Bearer", credentials="theirs")
    async with serve_gateway(platform, *shop(), auth=KEYS, **SHOWN) as url, connect_client(url, "maria") as client:
        asked = asked_with(config(receiver.url, token="t-1", authentication=proof))
        [begun] = [one async for one in client.send_message(asked)]
        await has_told(platform, receiver, ASKS)
        await answer(platform)
        await has_told(platform, receiver, COMPLETED)
    states = told(receiver.posts)
    assert (states[0][0], states[-2:]) == ("task", [("artifact_update", None), ("status_update", COMPLETED)])
    assert [state for _, state in states].count(ASKS) == 1
    for post in receiver.posts:
        assert StandardWebhooks(SECRET).verify(post, clock.now()) == post.headers["webhook-id"]
        assert (post.headers["x-a2a-notification-token"], post.headers["authorization"]) == ("t-1", "Bearer theirs")
        assert begun.task.id in post.body.decode()
    assert len(once(receiver.posts)) == len(receiver.posts)


async def test_a_receiver_away_for_a_day_gets_all_states_in_order(
    platform: Platform, clock: VirtualClock, receiver: Receiver
) -> None:
    receiver.statuses = [503]
    pushes = platform.services.store.part(PUSHES)
    async with serve_gateway(platform, *shop(), auth=KEYS, **SHOWN) as url, connect_client(url, "maria") as client:
        [begun] = [one async for one in client.send_message(asked_with(config(receiver.url)))]

        async def pending(number: int) -> bool:
            [push] = await pushes.pushes_of("shop", "maria", begun.task.id)
            return push.failures == number

        for number, pause in enumerate(PAUSES[:6], 1):
            await until(platform, lambda number=number: pending(number))
            await clock.advance(pause)
        await until(platform, lambda: pending(7))
        assert len(once(receiver.posts)) == 1, "the later ones wait for the first"
        await answer(platform)
        await until(platform, lambda: _is_noted(platform, begun.task.id))
        receiver.statuses = [200]
        before = len(receiver.posts)
        await clock.advance(PAUSES[6])
        await has_told(platform, receiver, COMPLETED)
    assert sum(PAUSES[:6], timedelta()) > timedelta(hours=17)
    states = told(receiver.posts)
    assert (states[0][0], states[-1]) == ("task", ("status_update", COMPLETED))
    assert ASKS in [state for _, state in states]
    after = receiver.posts[before:]
    assert len(once(after)) == len(after), "none is posted again behind its receipt"


async def _is_noted(platform: Platform, task_id: str) -> bool:
    [push] = await platform.services.store.part(PUSHES).pushes_of("shop", "maria", task_id)
    return push.is_over


async def test_more_pushes_than_a_process_follows_take_turns(
    platform: Platform, clock: VirtualClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_sender, "MOST_AT_ONCE", 1)
    async with serve_gateway(platform, *shop(CHARGE, CHARGE), auth=KEYS, **SHOWN) as url:
        async with connect_client(url, "maria") as client:
            for _ in range(2):
                [one async for one in client.send_message(asked_with(config(receiver.url)))]
        await as_time_passes(clock, lambda: _have_asked(receiver, 2), LOOK_SECONDS)


async def _have_asked(receiver: Receiver, number: int) -> bool:
    return [state for _, state in told(receiver.posts)].count(ASKS) == number


async def test_a_gone_receiver_ends_its_push(platform: Platform, receiver: Receiver) -> None:
    receiver.statuses = [410]
    pushes = platform.services.store.part(PUSHES)

    async def is_gone(task_id: str) -> bool:
        return not await pushes.pushes_of("shop", "maria", task_id)

    async with serve_gateway(platform, *shop(), auth=KEYS, **SHOWN) as url, connect_client(url, "maria") as client:
        [begun] = [one async for one in client.send_message(asked_with(config(receiver.url)))]
        await until(platform, lambda: is_gone(begun.task.id))
    assert len(receiver.posts) == 1


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_kill_loses_no_state_and_repeats_only_the_same_message(
    tmp_path: Path, clock: VirtualClock, receiver: Receiver, is_away: bool
) -> None:
    receiver.statuses = [503] if is_away else [200]
    if not is_away:
        receiver.is_open.clear()  # killed within the post
    first = open_platform(tmp_path / "push.db", clock)
    await first.__aenter__()
    await first.start(A2AGateway(**SHOWN), *shop())
    maria = first.as_user(tenant_id="shop", user_id="maria")
    task_id = (await maria.submit("order.received", A1)).plan_id
    await until(first, maria.waits)
    await first.services.store.part(PUSHES).keep_push(
        TaskPush("shop", "maria", task_id, "c", "a2a", receiver.url, clock.now())
    )
    await as_time_passes(clock, lambda: _has_come(receiver, ASKS), LOOK_SECONDS)
    await kill_platform(first)
    receiver.statuses = [200]
    receiver.is_open.set()
    async with open_platform(tmp_path / "push.db", clock) as second:
        await second.start(A2AGateway(**SHOWN), *shop(DONE))
        await answer(second)
        await as_time_passes(clock, lambda: _has_come(receiver, COMPLETED), LEASE.total_seconds())
    states = [one for one in told(receiver.posts) if one[1] != WORKING]
    assert states == [("task", ASKS), ("artifact_update", None), ("status_update", COMPLETED)]
    ids = [post.headers["webhook-id"] for post in receiver.posts]
    assert (ids[0], len({*ids})) == (ids[1], len(ids) - 1)


async def _has_come(receiver: Receiver, state: TaskState) -> bool:
    return state in [one for _, one in told(receiver.posts)]


WRONG = {
    "https://127.0.0.1/in": "no public address",
    "https://localhost/in": "no public address",
    "https://[::ffff:10.0.0.1]/in": "no public address",
    "https://169.254.169.254/latest": "no public address",
    "http://example.com/in": "events go out by https",
    "https://a:b@example.com/in": "holds no password",
    "ftp://example.com/in": "give where to post to",
    "https://example.com:x/in": "give where to post to",
    "https://exa\nmple.com/in": "printable ASCII",
    "https://exa mple.com/in": "give where to post to",
    f"https://{'a' * 70}.com/in": "is no name of a host",
    "https:///in": "give where to post to",
}


async def test_a_private_or_unreadable_url_is_refused_and_its_message_begins_nothing(platform: Platform) -> None:
    async with serve_gateway(platform, *shop(), auth=KEYS) as home, connect_client(home, "maria") as client:
        for url, fault in WRONG.items():
            with pytest.raises(InvalidParamsError, match=fault):
                [one async for one in client.send_message(asked_with(config(url)))]
        with pytest.raises(InvalidParamsError, match="token: give up to 2,000 printable ASCII characters"):
            [one async for one in client.send_message(asked_with(config("https://example.com/", token="a\r\nb: c")))]
    assert await platform.as_user(tenant_id="shop", user_id="maria").plans() == []


async def test_configs_are_kept_listed_and_deleted_by_their_user_alone(platform: Platform, receiver: Receiver) -> None:
    async with serve_gateway(platform, *shop(), auth=KEYS, **SHOWN) as url, connect_client(url, "maria") as client:
        assert (await client.get_extended_agent_card(GetExtendedAgentCardRequest())).capabilities.push_notifications
        task = await send_message(client, A1, at_once=True)
        wanted = config(receiver.url, task_id=task.id, id="c-1", token="t")
        assert await client.create_task_push_notification_config(wanted) == wanted
        unnamed = await client.create_task_push_notification_config(config(receiver.url, task_id=task.id))
        assert unnamed.id == task.id
        listing = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        assert {one.id for one in (await client.list_task_push_notification_configs(listing)).configs} == {
            "c-1",
            task.id,
        }
        named = GetTaskPushNotificationConfigRequest(task_id=task.id, id="c-1")
        assert await client.get_task_push_notification_config(named) == wanted
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="c-1")
        for token in ("tom", "op", "eve"):
            async with connect_client(url, token) as other:
                for call in (
                    other.create_task_push_notification_config(wanted),
                    other.get_task_push_notification_config(named),
                    other.list_task_push_notification_configs(listing),
                    other.delete_task_push_notification_config(gone),
                ):
                    with pytest.raises(TaskNotFoundError):
                        await call
        for _ in range(2):
            await client.delete_task_push_notification_config(gone)
        auditor = platform.as_user(tenant_id="shop", user_id="ann", roles=["auditor"])
        calls = [row.entry.call for row in await auditor.audit()]
        assert (calls.count("create_push"), calls.count("delete_push")) == (2, 2)
        with pytest.raises(TaskNotFoundError):
            await client.get_task_push_notification_config(named)


async def test_a_store_without_pushes_refuses_them_on_its_card_and_in_calls(tmp_path: Path) -> None:
    async with (
        Platform(store=SqliteStore(tmp_path / "bare.db")) as bare,
        serve_gateway(bare, *shop(), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
        assert not card.capabilities.push_notifications
        with pytest.raises(PushNotificationNotSupportedError):
            await client.create_task_push_notification_config(config("https://example.com/in", task_id="x"))
        with pytest.raises(PushNotificationNotSupportedError):
            [one async for one in client.send_message(asked_with(config("https://example.com/in")))]


def test_a_wrong_secret_is_refused_at_its_declaration() -> None:
    with pytest.raises(ConfigError, match="whsec_"):
        A2AGateway(push_secret="short")
