import asyncio
import json

import pytest
from http_kit import Keys, OpenStream, caller, client_as, local
from kit import planner, stock

from soorma_ai import Platform
from soorma_ai.api.server.streams import CHECKED_EVERY, HEARTBEAT_SECONDS, STALLED_SECONDS
from soorma_ai.api.server.tail import Tail, tenant_key
from soorma_ai.server import app, stop
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

RESERVE, DONE = publish("inventory.reserve.requested", order_id="A1"), complete({"reserved": True})
ORDER = {"goal": "order.received", "data": {"order_id": "A1"}}


async def tell(platform: Platform, number: int) -> None:
    await platform.publish("business-facts", "shop.opened", {"number": number})


def numbers(stream: OpenStream) -> list[int]:
    return [json.loads(one["data"])["data"]["number"] for one in stream.events]


async def test_a_stream_has_the_events_published_after_its_beginning(platform: Platform) -> None:
    await tell(platform, 0)
    async with OpenStream(app(platform), "/v1/events/stream") as stream:
        await stream.until(lambda: "retry" in stream.text)
        for number in (1, 2):
            await tell(platform, number)
        await stream.until(lambda: len(stream.events) == 2)
    assert stream.status == 200 and numbers(stream) == [1, 2]


@pytest.mark.parametrize("path", ["/v1/events/stream?after=0&named=true", "/v1/plans/{plan}/events?named=true"])
async def test_a_named_stream_has_the_type_of_each_event_as_its_name(platform: Platform, path: str) -> None:
    await platform.start(planner([DONE]), stock())
    plan = await platform.submit("order.received", {"order_id": "A1"})
    await plan.result()
    async with OpenStream(app(platform), path.format(plan=plan.plan_id)) as stream:
        await stream.until(lambda: "order.received" in stream.text)
    first = stream.events[0]
    assert first["event"] == json.loads(first["data"])["type"] == "order.received"


async def test_a_stream_begins_with_its_position_so_an_early_reconnection_misses_no_event(platform: Platform) -> None:
    for _ in range(2):
        await platform.publish("business-facts", "order.lost", {})
    async with OpenStream(app(platform), "/v1/events/stream") as stream:
        await stream.until(lambda: "\n\n" in stream.text)
    assert stream.text == "retry: 2000\nid: 2\n\n"


async def test_a_reconnected_stream_misses_no_event_and_repeats_none(platform: Platform) -> None:
    served = app(platform)
    for number in range(40):
        await tell(platform, number)
    async with OpenStream(served, "/v1/events/stream?after=0") as first:
        await first.until(lambda: len(first.events) >= 40)
    await tell(platform, 40)
    last = first.events[-1]["id"]
    async with OpenStream(served, "/v1/events/stream?after=0", last_event_id=last) as again:
        await again.until(lambda: again.events)
        await tell(platform, 41)
        await again.until(lambda: len(again.events) == 2)
    assert numbers(first) + numbers(again) == list(range(42))


async def test_a_stream_without_events_has_heartbeats(platform: Platform, clock: VirtualClock) -> None:
    async with OpenStream(app(platform), "/v1/events/stream") as stream:
        await stream.until(lambda: "retry" in stream.text)
        for _ in range(2):
            before = stream.text
            await clock.advance(HEARTBEAT_SECONDS)
            await stream.until(lambda text=before: stream.text == f"{text}:\n\n")


async def test_a_stream_ends_with_the_server(platform: Platform) -> None:
    served = app(platform)
    async with OpenStream(served, "/v1/events/stream") as stream:
        await stream.until(lambda: "retry" in stream.text)
        stop(served)
        await stream.ended()


async def test_a_stream_ends_with_the_revocation_of_its_token(platform: Platform, clock: VirtualClock) -> None:
    keys = Keys(ours=caller("default", "maria", "auditor"))
    served = app(platform, auth=keys)
    async with OpenStream(served, "/v1/events/stream", authorization="Bearer ours") as stream:
        await stream.until(lambda: "retry" in stream.text)
        del keys.callers["ours"]
        await clock.advance(CHECKED_EVERY)
        await tell(platform, 1)
        await stream.ended()
    assert numbers(stream) == []


@pytest.mark.parametrize("after", ["", "?after=0"])
async def test_a_stream_shows_a_users_own_events_and_none_of_another_tenant(platform: Platform, after: str) -> None:
    keys = Keys(
        maria=caller("shop", "maria"), jo=caller("shop", "jo"), eye=caller("shop", "eye", "auditor"), spy=caller("spy")
    )
    served = app(platform, auth=keys)
    streams = {
        name: OpenStream(served, f"/v1/events/stream{after}", authorization=f"Bearer {name}") for name in keys.callers
    }
    async with streams["maria"], streams["jo"], streams["eye"], streams["spy"]:
        for stream in streams.values():
            await stream.until(lambda one=stream: "retry" in one.text)
        for name, number in (("maria", 7), ("jo", 8)):
            user = platform.as_user(tenant_id="shop", user_id=name)
            await user.publish("business-facts", "shop.opened", {"number": number})
            await streams[name].until(lambda one=streams[name]: one.events)
        await streams["eye"].until(lambda: len(streams["eye"].events) == 2)
        seen = {name: numbers(stream) for name, stream in streams.items()}
    assert seen == {"maria": [7], "jo": [8], "eye": [7, 8], "spy": []}


async def test_a_plans_stream_has_its_events_from_goal_to_end_and_then_closes(platform: Platform) -> None:
    served = app(platform)
    await platform.start(planner([RESERVE, DONE]), stock())
    async with local(platform) as http:
        plan_id = (await http.post("/v1/plans", json=ORDER)).json()["plan_id"]
        async with OpenStream(served, f"/v1/plans/{plan_id}/events") as stream:
            await stream.ended()
        types = [json.loads(one["data"]).get("type") for one in stream.events]
        assert types[0] == "order.received" and "inventory.reserve.requested" in types
        assert stream.events[-1] == {"event": "end", "data": json.dumps({"plan_id": plan_id, "status": "completed"})}
        last = stream.events[-2]["id"]
        over = await http.get(f"/v1/plans/{plan_id}/events", headers={"last-event-id": last})
        assert over.status_code == 204


async def test_a_stalled_reader_is_disconnected_after_one_buffered_event(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soorma_ai.api.server.streams.STALLED_SECONDS", 0.05)
    served = app(platform)
    async with OpenStream(served, "/v1/events/stream?after=0", reads=False) as stream:
        for number in range(5):
            await tell(platform, number)
        await stream.ended()
    assert served.state.surroundings.tail.followers == 0
    assert STALLED_SECONDS > HEARTBEAT_SECONDS


async def test_open_streams_are_bounded(platform: Platform) -> None:
    served = app(platform, most_streams=1)
    async with OpenStream(served, "/v1/events/stream") as first:
        await first.until(lambda: "retry" in first.text)
        async with OpenStream(served, "/v1/events/stream") as second:
            await second.ended()
        assert second.status == 503


async def test_each_caller_has_a_bound_of_streams_of_their_own(platform: Platform) -> None:
    keys = Keys(maria=caller("shop", "maria"), again=caller("shop", "maria"), jo=caller("shop", "jo"))
    served = app(platform, auth=keys, most_streams_each=2)

    def stream(token: str) -> OpenStream:
        return OpenStream(served, "/v1/events/stream", authorization=f"Bearer {token}")

    async with stream("maria") as first, stream("again") as second:
        for one in (first, second):
            await one.until(lambda one=one: "retry" in one.text)
        async with client_as(served, "maria") as http:
            refused = await http.get("/v1/events/stream")
            assert (refused.status_code, refused.json()["code"]) == (429, "overloaded")
            assert refused.headers["retry-after"] == "10"
            assert (await http.get("/v1/plans")).status_code == 200
        async with stream("jo") as other:
            await other.until(lambda: "retry" in other.text)
    async with stream("maria") as anew:
        await anew.until(lambda: "retry" in anew.text)


async def test_an_unstarted_stream_holds_no_place(platform: Platform) -> None:
    served = app(platform, most_streams_each=1)
    async with client_as(served) as http:
        for _ in range(3):
            assert (await http.get("/v1/plans/unknown/events")).status_code == 404
            assert (await http.get("/v1/events/stream?after=x")).status_code == 422
    async with OpenStream(served, "/v1/events/stream") as stream:
        await stream.until(lambda: "retry" in stream.text)


async def test_a_slow_reader_holds_a_few_events_and_gets_them_all(platform: Platform) -> None:
    served = app(platform)
    async with (
        OpenStream(served, "/v1/events/stream?after=0", reads=False) as slow,
        OpenStream(served, "/v1/events/stream?after=0") as quick,
    ):
        for number in range(30):
            await tell(platform, number)
        await quick.until(lambda: len(quick.events) == 30)
        slow.read()
        await slow.until(lambda: len(slow.events) == 30)
    assert numbers(slow) == numbers(quick) == list(range(30))


async def test_the_tail_keeps_a_bounded_number_of_bytes_and_reports_dropped_events(platform: Platform) -> None:
    tail = Tail(most_bytes=2_000)
    with tail.follow(tenant_key("default"), platform.services) as woken:
        await tell(platform, 0)
        for number in range(1, 30):
            await tell(platform, number)
        async with asyncio.timeout(5):
            while tail.end < 30:
                woken.clear()
                await woken.wait()
        kept = tail.behind(29, 4)
        assert kept is not None and [row.seq for row in kept] == [30]
        assert not tail.behind(30, 4)
        assert tail.behind(1, 4) is None
        assert [row.seq for row in tail.behind(27, 2) or ()] == [28, 29]
    assert tail.followers == 0


@pytest.mark.parametrize("said", ["now", "-1", "1" * 19, "null,null"])
async def test_an_invalid_last_event_id_is_refused(platform: Platform, said: str) -> None:
    async with local(platform) as http:
        refused = await http.get("/v1/events/stream", headers={"last-event-id": said})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
