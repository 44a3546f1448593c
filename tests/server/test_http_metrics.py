"""A tenant's metrics, for its auditors alone."""

import asyncio
import re

from http_kit import Keys, caller, client_as, local
from kit import PATIENCE, payments, planner, stock, until

from soorma_ai import Platform
from soorma_ai.api.server.tenant_stats import COUNTED_EVERY, TOO_OLD
from soorma_ai.kernel.runtime.handling.process.counters import MOST_TENANTS, CounterName, Counters
from soorma_ai.server import app
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")


def values(text: str) -> dict[str, float]:
    samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


async def test_the_work_of_a_plan_is_counted_for_prometheus(platform: Platform) -> None:
    await platform.start(planner([publish("no.such.event"), RESERVE, complete({})]), stock())
    await (await platform.submit("order.received", {"order_id": "A1"})).result(PATIENCE)
    async with local(platform, roles=["auditor"]) as http:
        await http.get("/v1/plans")
        await http.get("/v1/plans/none")
        answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = values(answer.text)
    assert found['soorma_decisions_total{action="publish",verdict="accepted"}'] == 1
    assert found['soorma_decisions_total{action="complete",verdict="accepted"}'] == 1
    assert found['soorma_decisions_total{action="publish",verdict="refused"}'] == 1
    assert found["soorma_model_calls_total"] == 3
    assert found["soorma_tokens_total"] > 0
    assert found['soorma_commits_total{outcome="done"}'] >= 3
    assert found['soorma_http_requests_total{operation="list_plans",status="2xx"}'] == 1
    assert found['soorma_http_requests_total{operation="show_plan",status="4xx"}'] == 1
    assert found["soorma_dead_letters"] == 0
    assert all(re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})?', name) for name in found)


async def test_an_auditor_sees_the_metrics_of_their_own_tenant_alone(platform: Platform) -> None:
    keys = Keys(
        shop=caller("default", "maria", "auditor"),
        user=caller("default", "joe"),
        other=caller("other", "eve", "auditor"),
    )
    await platform.start(planner([publish("payment.charge.requested", amount=1)]), payments(approval="always"))
    handle = await platform.submit("order.received", {"order_id": "A1"})
    assert await handle.next_wait()
    served = app(platform, auth=keys)
    async with client_as(served, "none") as nobody:
        assert (await nobody.get("/metrics")).status_code == 401
        assert (await nobody.get("/v1/plans")).status_code == 401
    async with client_as(served, "user") as joe:
        assert (await joe.get("/metrics")).status_code == 403
    async with client_as(served, "shop") as http:
        mine = values((await http.get("/metrics")).text)
    async with client_as(served, "other") as http:
        theirs = values((await http.get("/metrics")).text)
    assert mine['soorma_waits_open{kind="gate",age="1h"}'] == 1
    assert any(name.startswith("soorma_commits_total") for name in mine)
    assert not [name for name in theirs if "waits_open" in name or "commits" in name]
    assert theirs["soorma_tokens_total"] == 0
    assert theirs['soorma_http_requests_total{operation="",status="4xx"}'] == 1


async def test_a_count_is_shared_and_renewed_in_the_background(platform: Platform, clock: VirtualClock) -> None:
    await platform.start()
    await platform.services.store.registry.register([stock().registration()], clock.now())
    async with local(platform, roles=["auditor"]) as http:

        async def backlog() -> tuple[float, float]:
            found = values((await http.get("/metrics")).text)
            return found.get('soorma_backlog{agent="stock"}', 0), found["soorma_counts_age_seconds"]

        assert await backlog() == (0, 0)
        await platform.publish("action-requests", "inventory.reserve.requested", {"order_id": "A"})
        await until(platform, lambda: platform.services.store.queue.backlog(1))
        assert await backlog() == (0, 0)
        await clock.advance(COUNTED_EVERY)
        assert await backlog() == (0, COUNTED_EVERY), "no call waits for a count"
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "counts of default"))
        assert await backlog() == (1, 0)


async def test_the_last_counts_serve_for_a_minute_and_then_a_call_waits_for_new_ones(
    platform: Platform, clock: VirtualClock
) -> None:
    async with local(platform, roles=["auditor"]) as http:
        assert (await http.get("/metrics")).status_code == 200
        await platform.services.store.close()
        await clock.advance(COUNTED_EVERY)
        assert (await http.get("/metrics")).status_code == 200
        await clock.advance(TOO_OLD)
        assert (await http.get("/metrics")).status_code == 503
        await platform.services.store.open(clock.now())
        assert (await http.get("/metrics")).status_code == 200


async def test_metrics_of_a_closed_platform_are_refused(platform: Platform) -> None:
    async with local(Platform("sqlite://")) as http:
        assert (await http.get("/metrics")).status_code == 503


def test_ten_thousand_tenants_cost_no_more_than_a_thousand() -> None:
    tallies = Counters()
    for number in range(10 * MOST_TENANTS):
        tallies.add(f"tenant-{number}", CounterName.COMMITS, "done")
    assert not tallies.of("tenant-0")
    assert tallies.of(f"tenant-{10 * MOST_TENANTS - 1}") == {(CounterName.COMMITS, ("done",)): 1}
