"""Forks over HTTP: the user of the origin neither sees nor answers one."""

from browsing_kit import browser_of
from http_kit import Keys, caller, client_as
from kit import PATIENCE, payments, planner, stock, the_wait, wait_for_end

from soorma_ai import Platform
from soorma_ai.server import app
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)
DONE = complete({"reserved": True})


async def test_the_user_of_the_origin_neither_sees_nor_answers_a_fork(platform: Platform) -> None:
    charged = list[float]()
    await platform.start(planner([RESERVE, CHARGE, DONE, CHARGE, DONE]), stock(), payments(charged=charged))
    ann = platform.as_user(tenant_id="default", user_id="ann")
    plan = await ann.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    keys = Keys(ann=caller("default", "ann"), oscar=caller("default", "oscar", "operator"))
    served = app(platform, auth=keys)
    async with client_as(served, "ann") as hers, client_as(served, "oscar") as his:
        forked = await his.post(f"/v1/plans/{plan.plan_id}/forks", json={"at": 2, "act": True, "note": "A fraud?"})
        fork_id = forked.json()["plan_id"]
        asked = await the_wait(platform)
        lists = [(await hers.get(path)).text for path in ("/v1/plans", "/v1/waits", "/v1/tracker/plans", "/v1/events")]
        assert plan.plan_id in lists[0]
        assert [fork_id in one for one in lists] == [False] * len(lists)
        async with browser_of(platform, "default", "ann") as browser:
            assert "Fork of plan" not in await browser.look("/inbox")
        async with browser_of(platform, "default", "oscar", "operator") as browser:
            assert "Fork of plan" in await browser.look("/inbox")
        answer, path = {"payload": {"approved": True}}, f"/v1/waits/{asked.wait_id}/answer"
        refused = [
            await hers.get(f"/v1/plans/{fork_id}"),
            await hers.get(f"/v1/plans/{fork_id}/trace"),
            await hers.post(f"/v1/plans/{fork_id}/cancel", json={}),
            await hers.get(f"/v1/waits/{asked.wait_id}"),
            await hers.post(path, json=answer),
        ]
        assert [one.status_code for one in refused] == [404] * len(refused)
        assert (await his.post(path, json=answer)).status_code == 200
    await wait_for_end(platform, fork_id)
    assert charged == [9.0, 9.0]
