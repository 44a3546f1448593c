"""Events are kept once each, leave once each, and can be read again by order, tenant and tree."""

import pytest
from store_kit import NOW, do, end, event, expectation, handed, later, plan, reply, unsent_ids

from soorma_ai.domain.effects import Ack, Publish, SavePlan
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.expectations import ExpectationKind
from soorma_ai.errors import LocalProtocolError
from soorma_ai.ports import Store, Work


async def test_a_sent_event_is_in_the_log_and_in_the_outbox(store: Store) -> None:
    await store.queue.send([event("e-1", data={"n": 1})], None, NOW)
    assert await store.events.event("e-1") == event("e-1", data={"n": 1})
    assert await unsent_ids(store) == ["e-1"]


async def test_unknown_attributes_and_every_field_survive_storing(store: Store) -> None:
    given = event("e-1", data={"deep": [1, 2.5, None, {"ä": "☃"}]}, plan_id="p", root_plan_id="r").model_copy(
        update={"myextension": "kept", "deadline": later(5.25), "traceparent": "00-1-2-01"}
    )
    await store.queue.send([given], None, NOW)
    stored = await store.events.event("e-1")
    assert stored is not None and stored.to_json() == given.to_json()


async def test_the_outbox_keeps_the_order_of_recording(store: Store) -> None:
    await store.queue.send([event("b"), event("a")], None, NOW)
    await do(store, Publish(event("d")), Publish(event("c")))
    assert await unsent_ids(store) == ["b", "a", "d", "c"]
    assert [stored.event.id for stored in await store.queue.unsent(2)] == ["b", "a"]


async def test_what_is_sent_leaves_the_outbox_and_stays_in_the_log(store: Store) -> None:
    await store.queue.send([event("a"), event("b"), event("c")], None, NOW)
    first, _, third = await store.queue.unsent(10)
    await store.queue.sent([first.seq, third.seq], NOW)
    await store.queue.sent([first.seq], NOW)
    assert await unsent_ids(store) == ["b"]
    assert await store.events.event("a") is not None


async def test_sending_the_same_event_again_sends_nothing(store: Store) -> None:
    await store.queue.send([event("a", data={"x": 1, "y": 2})], None, NOW)
    await store.queue.sent([stored.seq for stored in await store.queue.unsent(10)], NOW)
    await store.queue.send([event("a", data={"y": 2, "x": 1})], None, later(60))
    await do(store, Publish(event("a", data={"x": 1, "y": 2})))
    assert await unsent_ids(store) == []


@pytest.mark.parametrize(
    "other",
    [
        event("a", data={"x": 2}),
        event("a", "other.type", data={"x": 1}),
        event("a", topic=EventTopic.TASK_EVENTS, data={"x": 1}),
    ],
    ids=["data", "type", "topic"],
)
async def test_the_same_id_with_other_content_is_refused_and_tells_both(store: Store, other: EventEnvelope) -> None:
    await store.queue.send([event("a", data={"x": 1})], None, NOW)
    with pytest.raises(LocalProtocolError, match="exists with other content") as refused:
        await store.queue.send([event("fine"), other], None, NOW)
    assert 'work.asked on action-requests with {"x":1}' in str(refused.value)
    assert str(refused.value).count(" on ") >= 2
    assert await store.events.event("fine") is None, "all of a send or nothing"
    with pytest.raises(LocalProtocolError):
        await do(store, Publish(other))


async def test_an_event_that_came_in_is_not_sent_again_by_publishing_it(store: Store) -> None:
    await store.queue.arrive([event("a")], NOW)
    await do(store, Publish(event("a")))
    assert await unsent_ids(store) == []


async def test_a_client_request_and_its_expectation_are_stored_together(store: Store) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None)
    await store.queue.send([event("q-1")], expected, NOW)
    assert await store.plans.expectation("q-1") == expected


async def test_sending_a_request_again_leaves_its_met_expectation_met(store: Store) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None)
    await store.queue.send([event("q-1")], expected, NOW)
    await store.queue.arrive([reply("r-1", "q-1")], NOW)
    await store.queue.send([event("q-1")], expected, NOW)
    stored = await store.plans.expectation("q-1")
    assert stored is not None and stored.met_by == "r-1"


async def test_events_are_read_in_order_after_a_point_and_up_to_a_limit(store: Store) -> None:
    await store.queue.send([event(name) for name in "abcde"], None, NOW)
    all_of_them = await store.events.events()
    assert [stored.event.id for stored in all_of_them] == list("abcde")
    assert [stored.event.id for stored in await store.events.events(after=all_of_them[1].seq, limit=2)] == ["c", "d"]


async def test_the_newest_events_are_the_last_ones_still_in_order(store: Store) -> None:
    await store.queue.send([event(name) for name in "abcde"], None, NOW)
    assert [stored.event.id for stored in await store.events.events(limit=2, newest=True)] == ["d", "e"]


async def test_events_of_a_tenant_are_its_own(store: Store) -> None:
    await store.queue.send([event("a", tenant="one"), event("b", tenant="two"), event("c", tenant="one")], None, NOW)
    assert [stored.event.id for stored in await store.events.events(tenant_id="one")] == ["a", "c"]
    assert [stored.event.id for stored in await store.events.events(tenant_id="one", limit=1, newest=True)] == ["c"]


async def test_events_of_a_tree_are_those_of_its_plans_and_its_goal(store: Store) -> None:
    await store.queue.send([event("goal-of-root"), event("strange")], None, NOW)
    await do(
        store,
        SavePlan(plan("root"), None),
        Publish(event("asked", plan_id="root", root_plan_id="root")),
        Publish(event("childs", plan_id="child", root_plan_id="root")),
        Publish(event("others", plan_id="else", root_plan_id="else")),
    )
    tree = await store.events.events(root_plan_id="root")
    assert [stored.event.id for stored in tree] == ["goal-of-root", "asked", "childs"]
    assert [stored.event.id for stored in await store.events.events(root_plan_id="root", limit=2)] == [
        "goal-of-root",
        "asked",
    ]
    newest = await store.events.events(root_plan_id="root", limit=2, newest=True)
    assert [stored.event.id for stored in newest] == ["asked", "childs"]
    assert [stored.event.id for stored in await store.events.events(root_plan_id="root", after=tree[0].seq)] == [
        "asked",
        "childs",
    ]
    assert await store.events.events(root_plan_id="root", tenant_id="somebody else") == []


async def test_two_root_plans_of_one_goal_both_show_it(store: Store) -> None:
    await store.queue.send([event("shared-goal")], None, NOW)
    await do(store, SavePlan(plan("one", goal_id="shared-goal"), None))
    await do(store, SavePlan(plan("two", goal_id="shared-goal"), None))
    for root in ("one", "two"):
        assert [stored.event.id for stored in await store.events.events(root_plan_id=root)] == ["shared-goal"]


async def test_the_stored_event_carries_no_root_that_it_did_not_come_with(store: Store) -> None:
    await store.queue.send([event("goal-of-root")], None, NOW)
    await do(store, SavePlan(plan("root"), None))
    stored = await store.events.event("goal-of-root")
    assert stored is not None and stored.root_plan_id is None


async def test_an_event_that_nobody_knows_is_none(store: Store) -> None:
    assert await store.events.event("nothing") is None


async def test_effects_that_follow_a_refused_one_leave_nothing(store: Store) -> None:
    await store.queue.send([event("a")], None, NOW)
    delivery = await handed(store)
    with pytest.raises(LocalProtocolError):
        await store.queue.commit(
            Work(delivery, Ack(), (Publish(event("new")), Publish(event("a", data={"n": 1})))), NOW
        )
    assert await store.events.event("new") is None
    await end(store, delivery)
