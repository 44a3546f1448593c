"""The console's pages about plans, agents and the choreography, without a browser."""

import html
import json
import re
from typing import Any

import pytest
from browsing_kit import browser_of, open_browser
from contract.store_kit import do, expectation, plan, question, save_running_plan
from kit import payments, planner, stock, the_wait, until, wait_for_end

from soorma_ai import (
    Approval,
    GoalContext,
    InvocationContext,
    Limits,
    PlanContext,
    Planner,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.features.tracking import plan_parts
from soorma_ai.features.tracking.ports import PLAN_LISTS
from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=12000)
HOSTILE = "<script>alert(1)</script>\"'> <img src=x onerror=alert(2)> \u202e\x07" + "x" * 5_000
BOUNDLESS = Limits(max_repeats=None, max_actions=99)


def carrier() -> Tool:
    tool = Tool("carrier", description=HOSTILE)

    @tool.on_invoke("parcel.bring.requested", description=HOSTILE)
    async def bring(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        raise ValueError(HOSTILE)

    return tool


async def held_plan(platform: Platform, **data: Any) -> str:
    """Submit a plan, and return its id once it waits for a manager."""
    await platform.start(
        planner([RESERVE, CHARGE] * 3), stock(), payments(Approval(approvers=("manager",), message=HOSTILE))
    )
    handle = await platform.submit("order.received", {"order_id": "A1", **data}, session_id="tea")
    await the_wait(platform)
    return handle.plan_id


async def test_plans_are_listed_with_their_approvers_and_filtered_by_words_status_and_session(
    platform: Platform,
) -> None:
    plan_id = await held_plan(platform)
    async with open_browser(platform) as browser:
        page = await browser.look("/plans")
        assert f'href="/plans/{plan_id}"' in page
        assert "manager: <bdi>payment.charge.requested</bdi>" in page
        for query in ("status=active", "status=paused", "session=tea", "search=ORDER", f"search={plan_id[:8]}"):
            assert plan_id in await browser.look(f"/plans?{query}")
        for query in ("status=failed", "session=coffee", "search=nothing", "before=1"):
            assert plan_id not in await browser.look(f"/plans?{query}")
        assert "is no status of a plan" in await browser.look("/plans?status=odd", 422)


async def test_pages_of_plans_follow_each_other(platform: Platform) -> None:
    ids = [f"plan-{n}" for n in range(60)]
    for plan_id in ids:
        await do(platform.services.store, SavePlan(plan(plan_id, status=PlanStatus.COMPLETED), None))
    async with open_browser(platform) as browser:
        first = await browser.look("/plans?status=completed")
        (older,) = re.findall(r'href="([^"]+)" rel="next"', first)
        second = await browser.look(older.replace("&amp;", "&"))
    shown = [re.findall(r'class="row-title" href="/plans/([^"]+)"', page) for page in (first, second)]
    assert [len(page) for page in shown] == [50, 10]
    assert set(shown[0]) | set(shown[1]) == set(ids)


async def test_a_plans_page_has_its_times_its_graph_its_timeline_and_every_decision(platform: Platform) -> None:
    plan_id = await held_plan(platform)
    async with open_browser(platform) as browser:
        page = await browser.look(f"/plans/{plan_id}")
        wait = await the_wait(platform)
        assert f'href="/inbox/{wait.wait_id}"' in page
        for said in ('class="people is-open"', '<svg xmlns="http://www.w3.org/2000/svg"', "held for approval"):
            assert said in page
        assert page.count('class="deciding"') == 2
        for command in ("soorma graph", "soorma plans show", "soorma why", "soorma plans cancel", "soorma approve"):
            assert f"{command} " in page
        lines = set(re.findall(r'<li id="(line-\d+)"', page))
        assert set(re.findall(r'href="#(line-\d+)"', page)) <= lines
        events = await browser.look(f"/plans/{plan_id}/events.ndjson")
        assert [line.startswith('{"specversion"') for line in events.splitlines()] == [True] * events.count("\n")


async def test_plans_are_cancelled_one_by_one_and_together(platform: Platform) -> None:
    plan_id = await held_plan(platform)
    other = await platform.submit("order.received", {"order_id": "A1"})
    async with open_browser(platform) as browser:
        await browser.look("/plans")
        page = await browser.send("/plans/cancel", plan=[plan_id, "none"], reason="not now")
        assert "1 cancelling, 1 not found" in page
        await browser.look(f"/plans/{other.plan_id}")
        assert "Cancelling the plan" in await browser.send(f"/plans/{other.plan_id}/cancel", reason="")
        for one in (plan_id, other.plan_id):
            await until(platform, lambda one=one: _is_final(platform, one))
    assert str((await platform.plan(plan_id)).reason).startswith("not now;")


async def _is_final(platform: Platform, plan_id: str) -> bool:
    return (await platform.plan(plan_id)).status.is_final


async def test_an_auditor_sees_plans_and_cannot_steer_them_and_another_tenant_sees_none(platform: Platform) -> None:
    plan_id = await held_plan(platform)
    async with browser_of(platform, "default", "aud", "auditor") as auditor:
        page = await auditor.look(f"/plans/{plan_id}")
        assert "Cancel the plan" not in page and "/decisions/" not in page
        assert 'type="checkbox"' not in await auditor.look("/plans")
        question = await auditor.look(f"/inbox/{(await the_wait(platform)).wait_id}")
        assert "Only manager can answer" in question and 'id="approve"' not in question
        await auditor.look(f"/plans/{plan_id}/decisions/1", 403)
        await auditor.send(f"/plans/{plan_id}/cancel", 403)
        assert "1 not yours to cancel" in await auditor.send("/plans/cancel", plan=[plan_id])
    async with browser_of(platform, "elsewhere", "eve", "operator") as stranger:
        for path in (f"/plans/{plan_id}", f"/plans/{plan_id}/events.ndjson", "/dead-letters/1", "/agent?name=nobody"):
            await stranger.look(path, 404)
        await stranger.look(f"/plans/{plan_id}/decisions/1", 404)
        assert plan_id not in await stranger.look("/plans")
        await stranger.send(f"/plans/{plan_id}/cancel", 404)
    assert not (await platform.plan(plan_id)).status.is_final


async def test_agents_have_their_events_and_dead_letters_are_redriven_and_discarded(platform: Platform) -> None:
    await platform.start(carrier(), stock())
    await platform.request("parcel.bring.requested", {"note": HOSTILE})
    (letter,) = await platform.dead_letters()
    async with open_browser(platform) as browser:
        page = await browser.look("/agents")
        assert "inventory.reserve.requested" in page and f"/dead-letters/{letter.letter_id}" in page
        assert "order_id" in await browser.look("/agent?name=stock")
        path = f"/dead-letters/{letter.letter_id}"
        assert "soorma dead-letters redrive" in await browser.look(path)
        assert "queued again" in await browser.send(f"{path}/redrive")
        await until(platform, platform.dead_letters)
        await browser.look(path)
        assert "discarded" in await browser.send(f"{path}/discard", note="gone")
        assert await platform.dead_letters() == []
        await browser.look("/dead-letters/x", 404)


async def test_dead_letters_and_doubts_have_pages_linked_from_the_page_of_agents(platform: Platform) -> None:
    await platform.start(carrier())
    for number in range(53):
        await platform.request("parcel.bring.requested", {"note": str(number)})
    doubts = [expectation(f"d-{n}", ExpectationKind.DOUBT, ask=question(), root_plan_id=None) for n in range(52)]
    await save_running_plan(platform.services.store, *doubts)
    async with open_browser(platform) as browser:
        agents = await browser.look("/agents")
        assert agents.count("/dead-letters/") == 10 and agents.count('href="/inbox/d-') == 10
        for path, item in (("/dead-letters", r"/dead-letters/(\d+)"), ("/doubts", r'href="/inbox/(d-\d+)')):
            assert f'href="{path}"' in agents
            first = await browser.look(path)
            (later,) = re.findall(r'href="([^"]+)" rel="next"', first)
            second = await browser.look(later)
            shown = [re.findall(item, page) for page in (first, second)]
            assert [len(page) for page in shown] == [50, 3 if path == "/dead-letters" else 2]
            assert len({*shown[0], *shown[1]}) == sum(map(len, shown))
            (back,) = re.findall(r'href="([^"]+)" rel="prev"', second)
            assert re.findall(item, await browser.look(back)) == shown[0]


async def test_a_dead_letter_has_no_buttons_for_an_auditor(platform: Platform) -> None:
    await platform.start(carrier())
    await platform.request("parcel.bring.requested", {"note": "x"})
    (letter,) = await platform.dead_letters()
    async with browser_of(platform, "default", "aud", "auditor") as auditor:
        page = await auditor.look(f"/dead-letters/{letter.letter_id}")
        assert "you need the role" in page and ">Discard<" not in page


@pytest.mark.parametrize("name", [".", "..", "a/b", "a b?c#d", "é"])
async def test_an_agent_of_any_name_has_a_page(platform: Platform, name: str) -> None:
    tool = Tool(name, description="of that name")

    @tool.on_invoke("parcel.bring.requested")
    async def bring(request: InvocationContext, context: PlatformContext) -> None: ...

    await platform.start(tool)
    async with open_browser(platform) as browser:
        (path,) = re.findall(r'class="row-title" href="([^"]+)"', await browser.look("/agents"))
        assert "of that name" in await browser.look(html.unescape(path))


async def test_a_decision_is_shown_with_its_verbatim_prompt_and_all_its_consequences(platform: Platform) -> None:
    plan_id = await held_plan(platform)
    sent = await platform.prompt(plan_id, 2)
    async with open_browser(platform) as browser:
        assert f'href="/plans/{plan_id}/decisions/2"' in await browser.look(f"/plans/{plan_id}")
        page = html.unescape(await browser.look(f"/plans/{plan_id}/decisions/2"))
        for message in sent.messages:
            assert message.content.strip() in page
        for said in ("Decision 2 of 2", "Cost", "Allowed answers", "payment.charge.requested", "Earlier"):
            assert said in page
        for number in ("0", "3", "x", "9" * 30):
            await browser.look(f"/plans/{plan_id}/decisions/{number}", 404)


async def test_a_long_plan_has_linked_pages_of_its_parts_and_one_complete_download(platform: Platform) -> None:
    await platform.start(
        planner([RESERVE] * 29 + [complete({})], limits=Limits(max_repeats=None, max_actions=99)), stock()
    )
    handle = await platform.submit("order.received", {"order_id": "A1"})
    await wait_for_end(platform, handle.plan_id)
    path = f"/plans/{handle.plan_id}"
    async with open_browser(platform) as browser:
        last = await browser.look(path)
        assert "Turns 16 to 30 of 30<" in last and "Later turns" not in last
        first = await browser.look(f"{path}?turn=0")
        assert "Turns 1 to 15 of 30<" in first and "Earlier turns" not in first
        assert f'href="{path}?turn=0" rel="prev"' in last and f'href="{path}" rel="next"' in first
        assert "/decisions/30" in last and "/decisions/1&" not in last and f'{path}/decisions/1"' in first
        sent = [json.loads(line) for line in (await browser.look(f"{path}/events.ndjson")).splitlines()]
    assert [one["id"] for one in sent] == [row.event.id for row in (await platform.events(limit=500)).events]
    assert len(sent) > 50


REQUESTS = 70
READS_ALL = ("steps", "decisions", "find_shown")


async def long_plan(platform: Platform, requests: int) -> str:
    """Return the id of a completed plan with this number of requests, one after another."""
    limits = Limits(max_repeats=None, max_actions=None, max_llm_calls=None, max_tokens=None)
    asked = [publish("inventory.reserve.requested", order_id=f"A{n}") for n in range(requests)]
    await platform.start(planner([*asked, complete({})], limits=limits), stock())
    handle = await platform.submit("order.received", {"order_id": "A1"})
    await wait_for_end(platform, handle.plan_id)
    return handle.plan_id


async def test_each_step_and_decision_of_a_very_long_plan_is_in_one_of_its_parts(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_parts, "LONG_STEPS", 50)
    plan_id = await long_plan(platform, REQUESTS)
    for name in READS_ALL:
        monkeypatch.delattr(type(platform.services.store.plans), name)
    async with open_browser(platform) as browser:
        path: str | None = f"/plans/{plan_id}"
        decisions, orders, pages = set[int](), set[str](), list[str]()
        while path:
            pages.append(page := html.unescape(await browser.look(path)))
            decisions |= {int(number) for number in re.findall(r"/decisions/(\d+)", page)}
            orders |= set(re.findall(r'"order_id": "(A\d+)"', page))
            path = next(iter(re.findall(r'href="([^"]+)" rel="prev"', page)), None)
        assert decisions == {*range(1, REQUESTS + 2)}
        assert orders >= {f"A{n}" for n in range(REQUESTS)}
        assert "Steps 1 to" in pages[-1] and f"of {REQUESTS * 2 + 2}<" in pages[0]
        assert len(pages) <= 5 and all("Later steps" in page for page in pages[1:])
        onward = html.unescape(await browser.look(re.findall(r'href="([^"]+)" rel="next"', pages[-1])[0]))
        assert "Earlier steps" in onward and "Later steps" in onward
        for beyond in ("99999999", "x", "-1"):
            assert 'id="part"' in await browser.look(f"/plans/{plan_id}?step={beyond}")


async def test_the_number_of_rows_read_for_a_page_does_not_grow_with_the_plan(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_parts, "LONG_STEPS", 50)
    plan_id = await long_plan(platform, REQUESTS)
    store, read = platform.services.store, dict[int, int]()
    lists = store.part(PLAN_LISTS)
    steps_at, rows_of_part = store.plans.steps_at, lists.rows_of_part
    first = 0

    async def steps(*given: Any) -> Any:
        found = await steps_at(*given)
        read[first] = read.get(first, 0) + len(found)
        return found

    async def rows(*given: Any) -> Any:
        found = await rows_of_part(*given)
        read[first] += len(found.decisions) + len(found.expectations) + len(found.events) + len(found.shown)
        return found

    monkeypatch.setattr(store.plans, "steps_at", steps)
    monkeypatch.setattr(lists, "rows_of_part", rows)
    async with open_browser(platform) as browser:
        for first in (30, 60, 90):
            await browser.look(f"/plans/{plan_id}?step={first}")
    assert max(read.values()) < 200 < 4 * REQUESTS, read


async def test_the_choreography_is_drawn_with_its_faults(platform: Platform) -> None:
    async with open_browser(platform) as browser:
        assert "No registered events" in await browser.look("/choreography")
        await platform.start(planner([RESERVE]), stock(), carrier())
        page = await browser.look("/choreography")
    for said in (">orders<", ">inventory.reserve.requested<", "without a description", "flowchart LR"):
        assert said in page


@pytest.mark.parametrize("long", [HOSTILE, "<" * 1_000_000])
async def test_hostile_data_is_shown_escaped_and_bounded(platform: Platform, long: str) -> None:
    await platform.start(carrier())
    plan_id = await held_plan(platform, note=long)
    await platform.request("parcel.bring.requested", {"note": HOSTILE})
    (letter,) = await platform.dead_letters()
    paths = ("/plans", f"/plans/{plan_id}", "/agents", "/agent?name=carrier", f"/dead-letters/{letter.letter_id}")
    async with open_browser(platform) as browser:
        for path in (*paths, "/choreography"):
            page = await browser.look(path)
            assert "<script>alert" not in page and "<img src=x" not in page
            assert "\u202e" not in page and "\x07" not in page
            assert len(page) < 200_000, path


async def test_a_paused_plan_is_resumed(platform: Platform) -> None:
    made = Planner("buyer")

    @made.on_goal("buy.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        machine = {"start": {"default_next": "done"}, "done": {"is_terminal": True}}
        wanted = await PlanContext.create_from_goal(goal, context, state_machine=machine)
        await wanted.pause(reason="until somebody has looked")

    await platform.start(made)
    bought = await platform.submit("buy.wanted", {})
    await the_wait(platform)
    async with open_browser(platform) as browser:
        page = await browser.look(f"/plans/{bought.plan_id}")
        assert ">Resume<" in page and 'id="machine"' in page
        assert "The plan continues" in await browser.send(f"/plans/{bought.plan_id}/resume", note="go on")
        await wait_for_end(platform, bought.plan_id)
        assert ">Resume<" not in await browser.look(f"/plans/{bought.plan_id}")
        await browser.send(f"/plans/{bought.plan_id}/resume", 409)


async def test_no_page_shows_text_from_its_query(platform: Platform) -> None:
    plan_id = await held_plan(platform)
    async with open_browser(platform) as browser:
        for path in ("/plans", f"/plans/{plan_id}", "/agents"):
            assert "call+this" not in await browser.look(f"{path}?done=call%2Bthis&cancelled=call%2Bthis")


async def test_a_fork_leads_to_its_origin(platform: Platform) -> None:
    done = complete({"reserved": True})
    await platform.start(planner([RESERVE, done, done]), stock())
    plan_id = (await platform.submit("order.received", {"order_id": "A1"})).plan_id
    await wait_for_end(platform, plan_id)
    forked = await platform.fork(plan_id, 2)
    await wait_for_end(platform, forked.plan_id)
    async with open_browser(platform) as browser:
        page = await browser.look(f"/plans/{forked.plan_id}")
        assert f'<a href="/plans/{plan_id}">fork of plan {plan_id} at decision 2</a>' in page
