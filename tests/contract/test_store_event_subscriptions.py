"""Subscriptions are claimed by one process at a time, renewed by their id, and go with their user and their end."""

import pytest
from msgspec.structs import replace
from store_kit import NOW, later

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.event_subscriptions.ports import MOST_OF_USER, SUBSCRIPTIONS
from soorma_ai.features.event_subscriptions.records import EventSubscription
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.ports import Store

ONE = EventSubscription(
    "default", "ann", "s-1", "mcp", "https://example.com/in", "whsec", "paid", (EventTopic.BUSINESS_FACTS,), NOW,
    later(600), 7,
)  # fmt: skip


async def test_a_subscription_is_claimed_once_until_its_due_moment(store: Store) -> None:
    part = store.part(SUBSCRIPTIONS)
    assert await part.keep_subscription(ONE, NOW) == ONE
    assert await part.due_subscriptions("mcp", NOW, 9) == [ONE]
    assert await part.due_subscriptions("other", NOW, 9) == []
    claimed = await part.claim_subscription(ONE, NOW, later(60))
    assert claimed is not None
    assert await part.claim_subscription(ONE, later(59), later(99)) is None
    moved = replace(claimed, subscription=replace(ONE, place=9))
    assert await part.save_subscription(moved, later(70))
    assert await part.due_subscriptions("mcp", later(69), 9) == []
    assert await part.due_subscriptions("mcp", later(70), 9) == [moved.subscription]
    assert await part.claim_subscription(ONE, later(70), later(99)) is not None
    assert not await part.save_subscription(moved, later(99)), "another process has it"


async def test_a_renewal_keeps_the_place_of_a_live_subscription_and_ends_its_claim(store: Store) -> None:
    part = store.part(SUBSCRIPTIONS)
    await part.keep_subscription(ONE, NOW)
    claimed = await part.claim_subscription(ONE, NOW, later(60))
    assert claimed is not None
    again = replace(ONE, place=99, secret="other", ends_at=later(900))
    assert await part.keep_subscription(again, later(1)) == replace(again, place=7)
    assert not await part.save_subscription(claimed, later(60))
    assert await part.keep_subscription(again, later(901)) == again, "an ended one begins anew"


async def test_subscriptions_are_bounded_and_removed_by_their_user_alone(store: Store) -> None:
    part = store.part(SUBSCRIPTIONS)
    for number in range(MOST_OF_USER):
        await part.keep_subscription(replace(ONE, subscription_id=f"s-{number}"), NOW)
    with pytest.raises(LocalProtocolError, match="end one of them"):
        await part.keep_subscription(replace(ONE, subscription_id="more"), NOW)
    assert not await part.remove_subscription("other", "ann", "s-1")
    assert await part.remove_subscription("default", "ann", "s-1")
    assert not await part.remove_subscription("default", "ann", "s-1")


async def test_subscriptions_go_with_their_user_and_ended_ones_with_their_age(store: Store) -> None:
    part, bobs = store.part(SUBSCRIPTIONS), replace(ONE, user_id="bob")
    for one in (ONE, bobs, replace(bobs, subscription_id="live", ends_at=later(9_999))):
        await part.keep_subscription(one, NOW)
    await store.part(UPKEEP).begin_forgetting("default", "ann", NOW)
    while not (await store.part(UPKEEP).forget(100)).is_done:
        pass
    assert await part.subscriptions_of("default", "ann") == []
    then, after = later(700), None
    while True:
        after = (await store.part(UPKEEP).prune(AgeConditions("default", then, [], then), 10, after=after)).after
        if after is None:
            break
    assert [one.subscription_id for one in await part.subscriptions_of("default", "bob")] == ["live"]
