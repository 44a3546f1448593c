"""The console's pages about trials, and the judgement of a decision, without a browser."""

import html

import pytest
from browsing_kit import browser_of, open_browser
from kit import PATIENCE, planner, stock, until

from soorma_ai import Change, ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.features.trials.cases.records import CaseKind
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
DONE = complete({"reserved": True})


def strict_stock() -> Tool:
    """Return a tool with a narrower schema than that of `stock`."""
    tool, wanted = Tool("stock"), {"type": "object", "required": ["order_id", "shelf"]}

    @tool.on_invoke("inventory.reserve.requested", payload_schema=wanted)
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, bool]:
        return {"reserved": True}

    return tool


async def finished(platform: Platform, *, user: str = "local") -> str:
    await platform.start(planner([RESERVE, DONE] * 3), stock())
    plan = await platform.as_user(tenant_id="default", user_id=user).submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    return plan.plan_id


async def test_the_newest_plans_are_listed_with_their_first_difference(platform: Platform) -> None:
    plan_id = await finished(platform)
    async with open_browser(platform, "operator") as browser:
        assert '<a href="/trials">' in await browser.look("/plans")
        page = await browser.look("/trials")
        assert f'href="/trials/{plan_id}"' in page
        assert ">same</span>" in page and "2 of 2" in page
        await platform.services.store.registry.register([strict_stock().registration()], platform.services.clock.now())
        page = await browser.look("/trials")
        assert ">refused</span>" in page and "decision 1: " in page and "shelf" in page
        page = html.unescape(await browser.look(f"/trials/{plan_id}"))
        assert f'href="/plans/{plan_id}/decisions/1"' in page and "shelf" in page
        await browser.look("/trials/none", 404)


@pytest.mark.parametrize(
    ("kind", "fields", "should"),
    [("right", {}, None), ("wrong", {}, None), ("should", {"should": '{"order_id": "B2"}'}, {"order_id": "B2"})],
)
async def test_a_judgement_of_a_decision_is_a_case(
    platform: Platform, kind: str, fields: dict[str, str], should: dict[str, str] | None
) -> None:
    plan_id = await finished(platform)
    async with open_browser(platform, "operator") as browser:
        page = html.unescape(await browser.look(f"/plans/{plan_id}/decisions/1"))
        assert 'value="orders"' in page and '"order_id": "A1"' in page
        page = await browser.send(f"/plans/{plan_id}/decisions/1/case", name="refunds", kind=kind, **fields)
        assert "The decision is kept as a case" in page
    (case,) = await platform.cases("refunds")
    assert (case.kind, case.number) == (CaseKind(kind), 1)
    wanted = case.should["step"] if case.should else None
    assert (wanted["data"] if isinstance(wanted, dict) else None) == should


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"kind": "odd"}, "is no judgement"),
        ({"kind": "should", "should": "{"}, "is no JSON"),
        ({"kind": "should", "should": "[1]"}, "no JSON object"),
    ],
)
async def test_a_faulty_judgement_makes_no_case(platform: Platform, fields: dict[str, str], told: str) -> None:
    plan_id = await finished(platform)
    async with open_browser(platform, "operator") as browser:
        await browser.look(f"/plans/{plan_id}/decisions/1")
        page = await browser.send(f"/plans/{plan_id}/decisions/1/case", 422, name="refunds", **fields)
        assert told in html.unescape(page)
    assert await platform.cases() == []


async def test_a_user_sees_trials_of_own_plans_and_judges_nothing(platform: Platform) -> None:
    plan_id = await finished(platform, user="ann")
    async with browser_of(platform, "default", "ann") as browser:
        page = await browser.look("/trials")
        assert f'href="/trials/{plan_id}"' in page and "<h2>Models</h2>" not in page
        assert "Judgement" not in await browser.look(f"/plans/{plan_id}/decisions/1")
        await browser.look("/plans")
        await browser.send(f"/plans/{plan_id}/decisions/1/case", 403, name="refunds", kind="right")
    async with browser_of(platform, "default", "bob") as browser:
        assert plan_id not in await browser.look("/trials")
        await browser.look(f"/trials/{plan_id}", 404)
    assert await platform.cases() == []


async def test_operators_see_models_and_outcomes_of_shadows(platform: Platform) -> None:
    agent = planner([RESERVE, DONE])
    agent.shadow(Change(model="other"), max_usd_a_day=5, share=1.0)
    other = ScriptedReasoner([publish("inventory.reserve.requested", order_id="<b>"), DONE], model="other")
    await platform.start(agent, ChoreographyPlanner("owner", goals=["x.y"], reasoner=other), stock())
    plan = await platform.submit("order.received", {})
    await plan.result(timeout=PATIENCE)

    async def both() -> bool:
        return len((await platform.shadow_report("orders")).trials) == 2

    await until(platform, both)
    async with open_browser(platform, "operator") as browser:
        page = await browser.look("/trials")
        assert "Shadow of <bdi>orders</bdi>" in page and ">different</span>" in page
        assert "<h2>Models</h2>" in page and "<b>" not in page.replace("<b><bdi>", "")
