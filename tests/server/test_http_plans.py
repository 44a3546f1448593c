from typing import Any

import pytest
from http_kit import Keys, caller, client_as, local
from kit import payments, planner, stock, the_wait, until, wait_for_end

from soorma_ai import Approval, Platform
from soorma_ai.server import app
from soorma_ai.testing.scripted import complete, give_up, publish, wait

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=12000)
DONE = complete({"reserved": True})
ORDER = {"goal": "order.received", "data": {"order_id": "A1"}}


async def test_a_goal_is_submitted_and_its_end_is_waited_for(platform: Platform) -> None:
    await platform.start(planner([RESERVE, DONE]), stock())
    async with local(platform) as http:
        made = await http.post("/v1/plans", json=ORDER)
        assert made.status_code == 201
        plan_id = made.json()["plan_id"]
        assert made.headers["location"] == f"/v1/plans/{plan_id}"
        end = await http.get(f"/v1/plans/{plan_id}/result?wait=10")
        assert (end.status_code, end.json()["status"], end.json()["result"]) == (200, "completed", {"reserved": True})


async def test_a_submission_answers_with_the_plans_end_if_it_comes_in_time(platform: Platform) -> None:
    await platform.start(planner([RESERVE, DONE]), stock())
    async with local(platform) as http:
        end = await http.post("/v1/plans?wait=10", json=ORDER)
    assert (end.status_code, end.json()["result"]) == (200, {"reserved": True})


async def test_a_failed_plan_has_its_reason(platform: Platform) -> None:
    await platform.start(planner([RESERVE, RESERVE], max_actions=1), stock())
    async with local(platform) as http:
        end = await http.post("/v1/plans?wait=10", json=ORDER)
    assert (end.status_code, end.json()["status"]) == (200, "failed")
    assert "limit_exceeded" in end.json()["reason"]


async def test_a_plan_given_up_has_its_code_and_reason(platform: Platform) -> None:
    await platform.start(planner([RESERVE, give_up("No shop sells it.", "a shop")]), stock())
    async with local(platform) as http:
        end = (await http.post("/v1/plans?wait=10", json=ORDER)).json()
        shown = (await http.get(f"/v1/plans/{end['plan_id']}")).json()
    assert (end["status"], end["failure"]) == ("failed", "gave_up")
    assert end["reason"] == shown["reason"] == "gave_up: No shop sells it.; missing: a shop"


async def test_the_same_key_is_the_same_plan_and_other_data_under_it_is_refused(platform: Platform) -> None:
    await platform.start(planner([DONE]), stock())
    async with local(platform) as http:
        key = {"Idempotency-Key": "order A1"}
        made = [(await http.post("/v1/plans", json=ORDER, headers=key)).json()["plan_id"] for _ in range(3)]
        assert len(set(made)) == 1
        other = await http.post("/v1/plans", json={**ORDER, "data": {"order_id": "B2"}}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "local_protocol")


async def test_a_plan_is_shown_with_its_steps_trace_progress_and_memory(platform: Platform) -> None:
    await platform.start(planner([RESERVE, DONE]), stock())
    async with local(platform) as http:
        plan_id = (await http.post("/v1/plans?wait=10", json=ORDER)).json()["plan_id"]
        shown = (await http.get(f"/v1/plans/{plan_id}")).json()
        assert shown["status"] == "completed" and shown["usage"]["actions"] == 1
        assert shown["steps"][0]["kind"] == "goal"
        assert (await http.get(f"/v1/plans/{plan_id}/trace")).json()["lines"]
        assert (await http.get(f"/v1/tracker/plans/{plan_id}")).json()["done"] == 1
        assert len((await http.get(f"/v1/tracker/plans/{plan_id}/actions")).json()["items"]) == 1
        assert (await http.get(f"/v1/tracker/plans/{plan_id}/timeline")).json()["items"]
        assert (await http.get(f"/v1/tracker/plans/{plan_id}/tree")).json()["plan"]["plan_id"] == plan_id


async def test_plans_are_listed_in_pages(platform: Platform) -> None:
    await platform.start(planner([DONE] * 5), stock())
    async with local(platform) as http:
        made = [(await http.post("/v1/plans?wait=10", json=ORDER)).json()["plan_id"] for _ in range(5)]
        found: list[str] = []
        query: dict[str, Any] = {"limit": 2}
        while True:
            page = (await http.get("/v1/plans", params=query)).json()
            found += [plan["plan_id"] for plan in page["items"]]
            if page["next"] is None:
                break
            query["after"] = page["next"]
        assert found == made[::-1]
        gone = await http.get("/v1/plans?after=nobody")
        assert gone.status_code == 404


async def test_a_plan_is_cancelled_once(platform: Platform) -> None:
    await platform.start(planner([wait("user.replied")], external_events=["user.replied"]))
    async with local(platform) as http:
        plan_id = (await http.post("/v1/plans", json=ORDER)).json()["plan_id"]
        await the_wait(platform)
        assert (await http.post(f"/v1/plans/{plan_id}/cancel", json={})).json() == {"cancelled": True}
        assert (await wait_for_end(platform, plan_id)).status == "cancelled"
        assert (await http.post(f"/v1/plans/{plan_id}/cancel", json={"reason": "again"})).json() == {"cancelled": False}
        nobody = await http.post(f"/v1/plans/{plan_id}/resume", json={})
        assert nobody.status_code == 409


async def test_an_approval_is_listed_shown_and_answered_once(platform: Platform) -> None:
    approval = Approval(when="payload.amount > 5000.0", approvers=("manager",))
    await platform.start(planner([CHARGE, DONE]), payments(approval))
    async with local(platform, roles=["manager"]) as http:
        plan_id = (await http.post("/v1/plans", json=ORDER)).json()["plan_id"]
        wait_id = (await the_wait(platform)).wait_id
        assert [one["wait_id"] for one in (await http.get("/v1/waits")).json()["items"]] == [wait_id]
        assert (await http.get(f"/v1/waits/{wait_id}")).json()["proposed_data"] == {"amount": 12000}
        way = f"/v1/waits/{wait_id}/answer"
        invalid = await http.post(way, json={"payload": {"approved": "perhaps"}, "decision": "approve"})
        assert (invalid.status_code, invalid.json()["code"]) == (422, "invalid")
        yes = await http.post(way, json={"payload": {"approved": True}})
        assert (yes.status_code, yes.json()["outcome"]) == (200, "accepted")
        again = await http.post(way, json={"payload": {"approved": True}})
        assert (again.status_code, again.json()["code"]) == (409, "duplicate")
        await wait_for_end(platform, plan_id)
        assert (await http.get(f"/v1/waits/{wait_id}")).status_code == 200


async def test_an_answer_after_the_deadline_is_gone_and_one_to_an_ended_plan_superseded(
    platform: Platform, clock: Any
) -> None:
    await platform.start(
        planner(
            [wait("user.replied", timeout_seconds=60), wait("user.replied"), DONE], external_events=["user.replied"]
        )
    )
    async with local(platform) as http:
        plan_id = (await http.post("/v1/plans", json=ORDER)).json()["plan_id"]
        first = (await the_wait(platform)).wait_id
        await clock.advance(61)
        late = await http.post(f"/v1/waits/{first}/answer", json={"payload": {"text": "yes"}})
        assert (late.status_code, late.json()["code"]) == (410, "late")

        async def asked_anew() -> list[str]:
            return [one.wait_id for one in await platform.waits() if one.wait_id != first]

        (second,) = await until(platform, asked_anew)
        await http.post(f"/v1/plans/{plan_id}/cancel", json={})
        await wait_for_end(platform, plan_id)
        vain = await http.post(f"/v1/waits/{second}/answer", json={"payload": {"text": "yes"}})
        assert (vain.status_code, vain.json()["code"]) == (409, "superseded")


@pytest.mark.parametrize(
    "path",
    [
        "plans/{}",
        "plans/{}/result",
        "plans/{}/events",
        "plans/{}/trace",
        "plans/{}/prompt",
        "plans/{}/trial",
        "tracker/plans/{}",
        "tracker/plans/{}/actions",
        "tracker/plans/{}/timeline",
        "tracker/plans/{}/tree",
        "memory/plan-context/{}",
        "working-memory/{}",
        "working-memory/{}/key",
    ],
)
async def test_a_plan_of_another_tenant_does_not_exist(platform: Platform, path: str) -> None:
    await platform.start(planner([DONE]), stock())
    served = app(platform, auth=Keys(ours=caller("shop", "maria"), theirs=caller("spy", "mallory", "operator")))
    async with client_as(served, "ours") as maria, client_as(served, "theirs") as mallory:
        plan_id = (await maria.post("/v1/plans?wait=10", json=ORDER)).json()["plan_id"]
        seen = await mallory.get(f"/v1/{path.format(plan_id)}")
        none = await mallory.get(f"/v1/{path.format('0' * 36)}")
        assert seen.status_code == none.status_code == 404
        assert seen.json()["detail"].replace(plan_id, "?") == none.json()["detail"].replace("0" * 36, "?")
        assert "shop" not in seen.text


async def test_a_plan_is_forked_by_an_operator_alone(platform: Platform) -> None:
    await platform.start(planner([DONE, DONE]), stock())
    keys = Keys(user=caller("shop", "maria"), boss=caller("shop", "olga", "operator"))
    served = app(platform, auth=keys)
    async with client_as(served, "user") as maria, client_as(served, "boss") as olga:
        plan_id = (await maria.post("/v1/plans?wait=10", json=ORDER)).json()["plan_id"]
        assert (await maria.post(f"/v1/plans/{plan_id}/forks", json={"at": 1})).status_code == 403
        made = await olga.post(f"/v1/plans/{plan_id}/forks", json={"at": 1, "key": "click"})
        again = await olga.post(f"/v1/plans/{plan_id}/forks", json={"at": 1, "key": "click"})
        assert (made.status_code, again.json()) == (201, made.json())
        boss = platform.as_user(tenant_id="shop", user_id="olga", roles=["operator"])
        forked = await wait_for_end(boss, made.json()["plan_id"])
        assert (forked.fork.by, forked.fork.plan_id) == ("olga", plan_id)
        refused = await olga.post(f"/v1/plans/{plan_id}/forks", json={"at": 1, "dry": True, "act": True})
        assert refused.status_code == 422
        assert "exclude each other" in refused.json()["detail"]
        log = await boss.audit()
        done = [row.entry for row in log if (row.entry.call, row.entry.outcome) == ("fork", "done")]
        assert {(one.user_id, one.what) for one in done} == {("olga", plan_id)}
