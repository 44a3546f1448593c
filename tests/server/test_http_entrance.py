import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_kit import Keys, caller, client_as, local
from kit import open_platform, planner, stock

from soorma_ai import ConfigError, Platform
from soorma_ai.api.server.rates import Buckets
from soorma_ai.api.server.serve import listen
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.server import Rate, app, stop
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

ORDER = {"goal": "order.received", "data": {"order_id": "A1"}}


async def test_without_auth_only_this_machine_is_served(platform: Platform) -> None:
    served = app(platform)
    async with client_as(served) as here, client_as(served, address="192.0.2.7") as there:
        assert (await here.get("/v1/plans")).status_code == 200
        assert (await there.get("/v1/plans")).status_code == 403


@pytest.mark.parametrize("header", ["forwarded", "x-forwarded-for", "x-real-ip", "via"])
async def test_a_call_through_a_proxy_is_not_local(platform: Platform, header: str) -> None:
    async with local(platform) as http:
        refused = await http.get("/v1/plans", headers={header: "127.0.0.1"})
    assert refused.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8700", "127.0.0.1.evil.example", ""])
async def test_a_foreign_host_name_is_refused(platform: Platform, host: str) -> None:
    async with local(platform) as http:
        refused = await http.get("/v1/plans", headers={"host": host})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "[::1]:8700", "127.0.0.1"])
async def test_local_host_names_are_accepted(platform: Platform, host: str) -> None:
    async with local(platform) as http:
        assert (await http.get("/v1/plans", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://127.0.0.1:8700"}, 201),
        ({"origin": "https://shop.example"}, 201),
        ({"sec-fetch-site": "same-origin"}, 201),
        ({}, 201),
    ],
)
async def test_a_page_of_another_site_changes_nothing(platform: Platform, headers: dict[str, str], status: int) -> None:
    async with local(platform, origins=["https://shop.example"]) as http:
        made = await http.post("/v1/memory/sessions", json={}, headers=headers)
        assert made.status_code == status
        assert len((await http.get("/v1/memory/sessions", headers=headers)).json()["items"]) == (status == 201)


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic bWFyaWE6", "ours", "Bearer nobody's", "Bearer " + "x" * 20_000]
)
async def test_a_call_without_a_valid_token_is_unauthenticated(platform: Platform, header: str | None) -> None:
    served = app(platform, auth=Keys(ours=caller()))
    async with client_as(served) as http:
        refused = await http.get("/v1/plans", headers={} if header is None else {"authorization": header})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert refused.json()["code"] == "unauthenticated"


async def test_the_caller_comes_from_the_token_alone(platform: Platform) -> None:
    await platform.start(planner([complete({})]), stock())
    async with client_as(app(platform, auth=Keys(ours=caller("shop", "maria"))), "ours") as http:
        for field in ("tenant_id", "user_id", "roles"):
            assert (await http.post("/v1/plans", json={**ORDER, field: "other"})).status_code == 422
        plan_id = (await http.post("/v1/plans?wait=10", json=ORDER)).json()["plan_id"]
    plan = await platform.as_user(tenant_id="shop", user_id="maria").plans()
    assert [(one.plan_id, one.lineage.user_id) for one in plan] == [(plan_id, "maria")]


async def test_no_token_and_no_local_call_gives_the_rights_of_root(platform: Platform) -> None:
    seen: list[Person] = []
    as_caller = platform.as_caller

    def spy(caller: Caller) -> Any:
        seen.append(caller.person)
        return as_caller(caller)

    platform.as_caller = spy  # type: ignore[method-assign]
    async with client_as(app(platform, auth=Keys(root=Caller(Person("shop", "root")))), "root") as http:
        assert (await http.get("/v1/plans")).status_code == 200
    async with local(platform, roles=["manager"]) as http:
        assert (await http.get("/v1/plans")).status_code == 200
    assert [one.roles for one in seen] == [frozenset(), {"operator", "manager"}]


async def test_a_caller_above_the_rate_must_wait_and_others_need_not(platform: Platform, clock: VirtualClock) -> None:
    served = app(platform, auth=Keys(a=caller(user="a"), b=caller(user="b")), rate=Rate(per_second=0.5, burst=2))
    async with client_as(served, "a") as a, client_as(served, "b") as b:
        statuses = [(await a.get("/v1/plans")).status_code for _ in range(3)]
        late = await a.get("/v1/plans")
        assert (statuses, late.headers["retry-after"], late.json()["code"]) == ([200, 200, 429], "2", "overloaded")
        assert (await b.get("/v1/plans")).status_code == 200
        await clock.advance(timedelta(seconds=2))
        assert (await a.get("/v1/plans")).status_code == 200


def test_a_rate_bucket_refills_with_time_and_the_oldest_is_dropped() -> None:
    buckets = Buckets(Rate(per_second=2, burst=1), most=2)
    assert buckets.take("a", 0) is None
    assert buckets.take("a", 0.25) == timedelta(seconds=0.25)
    assert buckets.take("a", 0.5) is None
    assert [buckets.take(key, 1) for key in "bcd"] == [None] * 3
    assert len(buckets) == 2
    with pytest.raises(ConfigError):
        Rate(per_second=0)


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"x" * 1_000_000, {"content-type": "application/json"}, 413),
        (b'{"goal": "order.received"', {"content-type": "application/json"}, 422),
        (b"[]", {"content-type": "application/json"}, 422),
        (b"", {"content-type": "application/json"}, 422),
        (b'{"goal": 1}', {"content-type": "application/json"}, 422),
        (b'{"goal": "order.received", "surprise": 1}', {"content-type": "application/json"}, 422),
        (b'{"goal": "order.received", "data": {"x": NaN}}', {"content-type": "application/json"}, 422),
        (b'{"goal": "order.received", "data": ' + b'{"a":' * 150 + b"1" + b"}" * 151, None, 422),
        (b'{"goal": "order.received", "data": ' + b'{"a":' * 9_000 + b"1" + b"}" * 9_001, None, 422),
        (b'{"goal": "order.received", "data": {"n": ' + b"9" * 9_000 + b"}}", None, 422),
        (b'{"goal": "order.received", "data": {"s": "\\ud800"}}', None, 422),
        (b"goal=order.received", {"content-type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {"content-type": "text/plain"}, 415),
    ],
)
async def test_an_invalid_body_is_refused_with_a_message(
    platform: Platform, content: bytes, headers: dict[str, str] | None, status: int
) -> None:
    await platform.start(planner([complete({})]), stock())
    async with local(platform, most_bytes=100_000) as http:
        refused = await http.post("/v1/plans", content=content, headers=headers or {"content-type": "application/json"})
        assert refused.status_code == status
        assert len(refused.content) < 2_000


async def test_a_body_without_a_length_is_read_up_to_the_limit_only(platform: Platform) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"x" * 1_000

    async def body() -> AsyncIterator[bytes]:
        count = 0
        async for chunk in endless():
            count += 1
            if count > 200:
                return
            yield chunk

    async with local(platform, most_bytes=10_000) as http:
        refused = await http.post("/v1/plans", content=body(), headers={"content-type": "application/json"})
    assert refused.status_code == 413


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "limit=1&limit=2", "surprise=1", "&".join(f"a{n}=1" for n in range(60))],
)
async def test_an_invalid_query_is_refused(platform: Platform, query: str) -> None:
    async with local(platform) as http:
        refused = await http.get(f"/v1/plans?{query}")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


async def test_an_unknown_path_or_method_is_a_problem(platform: Platform) -> None:
    async with local(platform) as http:
        nowhere, wrong = await http.get("/v1/nowhere"), await http.delete("/v1/plans")
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST, GET")


async def test_an_internal_error_answers_with_an_id_found_in_the_log(
    platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    async def break_down(**_: object) -> None:
        raise RuntimeError("the password is swordfish")

    platform.services.store.plans.plans = break_down  # type: ignore[method-assign,assignment]
    async with local(platform) as http:
        broke = await http.get("/v1/plans")
    assert broke.status_code == 500
    assert "swordfish" not in broke.text
    assert broke.json()["error_id"] in caplog.text and "swordfish" in caplog.text


async def test_the_server_is_always_alive_and_ready_while_its_platform_is_open(tmp_path: Path) -> None:
    platform = open_platform(tmp_path / "later.db", VirtualClock())
    served = app(platform)
    async with client_as(served) as http:
        async with platform:
            assert (await http.get("/readyz")).status_code == 200
            stop(served)
            assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/v1/plans")).json()["code"] == "store_unavailable"


async def test_the_server_can_be_mounted_into_another_application(platform: Platform) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    around = Starlette(routes=[Mount("/soorma", app=app(platform))])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(around), base_url="http://localhost") as http:
        assert (await http.get("/soorma/v1/plans")).json() == {"items": [], "next": None}
        assert (await http.get("/soorma/v1/openapi.json")).json()["servers"] == [{"url": "/soorma"}]


async def test_a_waiting_call_is_answered_at_the_servers_end(platform: Platform) -> None:
    await platform.start(planner([complete({})]))
    served = app(platform)
    async with client_as(served) as http:
        plan_id = (await http.post("/v1/plans", json=ORDER)).json()["plan_id"]
        waiting = asyncio.create_task(http.get(f"/v1/plans/{plan_id}/result?wait=30"))
        for _ in range(50):
            await asyncio.sleep(0)
        stop(served)
        assert (await waiting).status_code == 202


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_only_a_local_host_is_allowed_without_authentication(host: str) -> None:
    with pytest.raises(ConfigError, match="only this machine may be served"):
        listen(host, 0, is_open=True)


def test_a_port_in_use_is_a_config_error() -> None:
    with listen("127.0.0.1", 0, is_open=True) as taken:
        taken.listen()
        with pytest.raises(ConfigError, match="give another --port"):
            listen("127.0.0.1", taken.getsockname()[1], is_open=True)
