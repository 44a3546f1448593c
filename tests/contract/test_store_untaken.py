"""An untaken request waits in the store, is handed over once, and is forgotten when its asker waits no more."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from prune_kit import LONG_AGO, prune, with_time
from store_kit import NOW, agent, claim_all, do, event, expectation, find, later, save_running_plan, unsent_ids

from soorma_ai.kernel.domain.effects import Expect
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import Answer, AnswerDecision
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, Registration
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Store


def taker(name: str = "worker", tenant: str | None = None) -> Registration:
    definition = EventDefinition(event_name="work.asked", version="1")
    return agent(name, "work.asked", tenant=tenant, events=((EventRole.TAKES, definition),))


def request(event_id: str, **changes: object) -> EventEnvelope:
    return event(event_id, correlation_id=event_id).model_copy(update=changes)


async def hand_over(store: Store, seconds: float = 0, *, worker: str = "worker") -> list[str]:
    place: int | None = 0
    while place is not None:
        place, _ = await store.queue.offer_untaken(place, 2, later(seconds))
    return [delivery.event.id for delivery in await claim_all(store, worker, now=later(seconds))]


async def test_an_untaken_request_is_reported_once_and_handed_over_once_in_order(store: Store) -> None:
    asked = [request(f"q-{n}") for n in range(5)]
    arrival = await store.queue.arrive(asked, NOW)
    assert [(stray.event_id, stray.reason) for stray in arrival.strays] == [(one.id, "untaken") for one in asked]
    assert (await store.queue.arrive(asked, NOW)).strays == ()
    assert await hand_over(store) == []
    await store.registry.register([taker()], NOW)
    assert await hand_over(store) == [one.id for one in asked]
    assert await hand_over(store) == []
    await store.queue.arrive(asked, NOW)
    assert await claim_all(store) == [], "it comes again, and was looked at before"


@pytest.mark.parametrize("tenant", [None, "default", "other"])
async def test_only_an_agent_of_its_tenant_takes_an_untaken_request(store: Store, tenant: str | None) -> None:
    await store.queue.arrive([request("q-1")], NOW)
    one = taker(tenant=tenant)
    await store.registry.register([one], NOW)
    assert await hand_over(store, worker=one.agent) == ([] if tenant == "other" else ["q-1"])


async def test_an_unchecked_request_is_checked_at_its_arrival_by_its_present_taker(store: Store) -> None:
    schema: JsonObject = {"type": "object", "required": ["amount"]}
    typed = EventDefinition(event_name="work.asked", version="1", payload_schema=schema)
    await store.registry.register([agent("worker", "work.asked", events=((EventRole.TAKES, typed),))], NOW)
    fits = request("q-1", unchecked=True, data={"amount": 1})
    arrival = await store.queue.arrive([fits, request("q-2", unchecked=True)], NOW)
    assert [stray.reason for stray in arrival.strays] == ["handed_over"] * 2, "they are not untaken"
    await store.queue.arrive([fits], NOW)
    assert [delivery.event.id for delivery in await claim_all(store)] == ["q-1"]
    (told,) = await store.queue.unsent(9)
    assert (told.event.correlation_id, told.event.data["success"]) == ("q-2", False)
    assert await hand_over(store) == []


async def test_a_request_past_its_own_or_its_askers_deadline_is_not_handed_over(store: Store) -> None:
    await save_running_plan(store, expectation("q-1"), replace(expectation("q-2"), deadline=later(60)))
    await store.queue.arrive([request("q-1"), request("q-2"), request("q-3", deadline=later(60))], NOW)
    await store.registry.register([taker()], NOW)
    await store.plans.cancel("plan-1", "no", NOW)
    assert await hand_over(store, 61) == ["q-1"]


async def test_an_untaken_request_is_kept_only_while_its_asker_waits(store: Store) -> None:
    old = with_time(request("q-1"))
    young = request("q-2", time=LONG_AGO, deadline=NOW + timedelta(days=1))
    await do(store, Expect(expectation("q-2", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None, deadline=None)))
    await store.queue.arrive([old, young], LONG_AGO)
    await prune(store)
    assert await store.events.event("q-1") is not None, "the sweep has not looked yet"
    await store.queue.fire(NOW, 10)
    await store.queue.arrive([row.event for row in await store.queue.unsent(9)], NOW)
    await store.queue.sweep(NOW)
    await prune(store)
    assert await store.events.event("q-1") is None
    assert await store.events.event("q-2") is not None


async def test_a_published_answer_is_found_by_its_met_request_and_not_by_its_gate(store: Store) -> None:
    gate = expectation("gate-1", ExpectationKind.GATE, plan_id=None, root_plan_id=None)
    owed = expectation("q-1", plan_id=None, root_plan_id=None)
    await do(store, Expect(replace(gate, task_id="t-1")), Expect(replace(owed, task_id="t-1")))
    no = Answer("a-1", {}, AnswerDecision.REJECT, "mia", NOW)
    refusal = event("r-1", "work.done", owed.event_topic, source="soorma", correlation_id="q-1")
    assert await store.plans.answer("gate-1", no, refusal, NOW)
    assert await unsent_ids(store) == ["r-1"]
    await store.queue.arrive([refusal], NOW)
    assert (await find(store, "gate-1")).status is ExpectationStatus.MET
    met = await store.plans.find_met("t-1", "r-1")
    assert met is not None and met.id == "q-1"


async def test_untaken_requests_are_listed_oldest_first_by_tenant_tree_and_task(store: Store) -> None:
    of_task = expectation("q-3", plan_id=None, root_plan_id="plan-1", task_id="t-1")
    await save_running_plan(store, expectation("q-1"), of_task, expectation("q-5", status=ExpectationStatus.CLOSED))
    tree = {"plan_id": "plan-1", "root_plan_id": "plan-1"}
    await store.queue.arrive(
        [
            request("q-1", **tree),
            request("q-2", deadline=later(60), target="paying"),
            request("q-3", **tree),
            request("q-4", tenant_id="other"),
            request("q-5", **tree),
            request("q-6", **tree),
        ],
        NOW,
    )

    async def listed(seconds: float = 0, tenant_id: str = "default", limit: int = 9, **of: str) -> list[str]:
        found = await store.events.untaken(tenant_id, later(seconds), limit=limit, **of)  # type: ignore[arg-type]
        return [one.request_id for one in found]

    assert await listed() == ["q-1", "q-2", "q-3", "q-6"], "the fifth is not awaited any more"
    assert await listed(limit=2) == ["q-1", "q-2"]
    assert await listed(tenant_id="other") == ["q-4"]
    assert await listed(root_plan_id="plan-1") == ["q-1", "q-3", "q-6"]
    assert await listed(tenant_id="other", root_plan_id="plan-1") == []
    assert await listed(task_id="t-1") == ["q-3"]
    assert await listed(61, root_plan_id="nothing") == []
    assert await listed(61) == ["q-1", "q-3", "q-6"]
    _, second, third, _ = await store.events.untaken("default", NOW, limit=9)
    assert (second.target, second.until, second.plan_id, second.task_id) == ("paying", later(60), None, None)
    assert (third.plan_id, third.task_id, third.until) == ("plan-1", "t-1", later(3600))
    await store.registry.register([taker()], NOW)
    await hand_over(store)
    assert await listed() == ["q-2"], "its target has not come"
