"""Events are kept once each, leave once each, and can be read again by order, tenant and tree."""

from typing import Any

import pytest
from msgspec.structs import replace
from store_kit import NOW, do, event, expectation, find, later, plan, reply, unsent_ids

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.effects import Expect, Publish, SavePlan
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.ports import Store


async def test_a_sent_event_is_in_the_log_with_every_field_and_in_the_outbox(store: Store) -> None:
    given = event("e-1", data={"deep": [1, 2.5, None, {"ä": "☃"}]}, plan_id="p", root_plan_id="r").model_copy(
        update={"myextension": "kept", "deadline": later(5.25), "traceparent": "00-1-2-01"}
    )
    await store.queue.send([given], None, NOW)
    stored = await store.events.event("e-1")
    assert stored is not None and stored.to_json() == given.to_json()
    assert await store.events.event("nothing") is None
    assert await unsent_ids(store) == ["e-1"]


async def test_the_tenants_of_many_event_ids_are_found_at_once(store: Store) -> None:
    await store.queue.send([event("a", tenant="acme"), event("b", tenant="globex")], None, NOW)
    assert await store.events.tenants_of(["b", "nothing", "a"]) == {"a": "acme", "b": "globex"}
    assert await store.events.tenants_of([]) == {}


async def test_the_outbox_keeps_the_order_of_recording_and_loses_sent_events(store: Store) -> None:
    await store.queue.send([event("b"), event("a")], None, NOW)
    await do(store, Publish(event("d")), Publish(event("c")))
    assert await unsent_ids(store) == ["b", "a", "d", "c"]
    first, second = await store.queue.unsent(2)
    assert [first.event.id, second.event.id] == ["b", "a"]
    await store.queue.mark_sent([second.seq], NOW)
    await store.queue.mark_sent([second.seq], NOW)
    assert await unsent_ids(store) == ["b", "d", "c"]
    assert await store.events.event("a") is not None, "it stays in the log"


async def test_a_sent_or_received_event_is_not_sent_again(store: Store) -> None:
    await store.queue.send([event("a", data={"x": 1, "y": 2})], None, NOW)
    await store.queue.mark_sent([stored.seq for stored in await store.queue.unsent(10)], NOW)
    await store.queue.send([event("a", data={"y": 2, "x": 1})], None, later(60))
    await do(store, Publish(event("a", data={"x": 1, "y": 2})))
    await store.queue.arrive([event("b")], NOW)
    await do(store, Publish(event("b")))
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
async def test_the_same_id_with_other_content_is_refused_with_both_contents(store: Store, other: EventEnvelope) -> None:
    await store.queue.send([event("a", data={"x": 1})], None, NOW)
    with pytest.raises(LocalProtocolError, match="exists with other content") as refused:
        await store.queue.send([event("fine"), other], None, NOW)
    assert 'work.asked on action-requests with {"x":1}' in str(refused.value)
    assert str(refused.value).count(" on ") >= 2
    assert await store.events.event("fine") is None, "all of a send or nothing"
    with pytest.raises(LocalProtocolError):
        await do(store, Publish(event("new")), Publish(other))
    assert await store.events.event("new") is None


async def test_a_client_request_and_its_expectation_are_stored_together_and_once(store: Store) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None)
    await store.queue.send([event("q-1")], expected, NOW)
    assert await find(store, "q-1") == expected
    await store.queue.arrive([reply("r-1", "q-1")], NOW)
    await store.queue.send([event("q-1")], expected, NOW)
    assert (await find(store, "q-1")).met_by == "r-1"


async def test_an_expectation_opened_before_its_request_stands(store: Store) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None)
    await do(store, Expect(expected))
    await store.queue.send([event("q-1")], replace(expected, event_type="other"), NOW)
    assert await find(store, "q-1") == expected
    assert await unsent_ids(store) == ["q-1"]


async def ids(store: Store, **query: Any) -> list[str]:
    return [stored.event.id for stored in await store.events.events(**query)]


async def test_events_are_read_in_order_after_a_point_and_up_to_a_limit_or_the_newest(store: Store) -> None:
    await store.queue.send([event(name) for name in "abcde"], None, NOW)
    second = (await store.events.events())[1]
    assert await ids(store) == list("abcde")
    assert await ids(store, after=second.seq, limit=2) == ["c", "d"]
    assert await ids(store, limit=2, newest=True) == ["d", "e"]


async def test_events_of_a_tenant_are_its_own(store: Store) -> None:
    await store.queue.send([event("a", tenant="one"), event("b", tenant="two"), event("c", tenant="one")], None, NOW)
    assert await ids(store, tenant_id="one") == ["a", "c"]
    assert await ids(store, tenant_id="one", limit=1, newest=True) == ["c"]


async def test_events_are_found_by_the_beginning_of_their_ids(store: Store) -> None:
    await store.queue.send([event("ab-2"), event("ab-1"), event("b"), event("ab-3", tenant="other")], None, NOW)

    async def beginning(letters: str, limit: int = 9) -> list[str]:
        return [one.id for one in await store.events.events_beginning("default", letters, limit)]

    assert await beginning("ab") == ["ab-1", "ab-2"]
    assert await beginning("ab", 1) == ["ab-1"]
    assert [await beginning(letters) for letters in ("ab-2", "c", "%")] == [["ab-2"], [], []]


async def test_events_of_a_tree_are_those_of_its_plans_and_its_goal(store: Store) -> None:
    await store.queue.send([event("goal-of-root"), event("strange")], None, NOW)
    await do(
        store,
        SavePlan(plan("root"), None),
        Publish(event("asked", plan_id="root", root_plan_id="root")),
        Publish(event("childs", plan_id="child", root_plan_id="root")),
        Publish(event("others", plan_id="else", root_plan_id="else")),
        SavePlan(plan("second", goal_id="goal-of-root"), None),
    )
    goal, *_ = await store.events.events(root_plan_id="root")
    assert goal.event.root_plan_id is None, "it came with none"
    assert await ids(store, root_plan_id="root") == ["goal-of-root", "asked", "childs"]
    assert await ids(store, root_plan_id="root", limit=2) == ["goal-of-root", "asked"]
    assert await ids(store, root_plan_id="root", limit=2, newest=True) == ["asked", "childs"]
    assert await ids(store, root_plan_id="root", after=goal.seq) == ["asked", "childs"]
    assert await ids(store, root_plan_id="root", tenant_id="somebody else") == []
    assert await ids(store, root_plan_id="second") == ["goal-of-root"]
