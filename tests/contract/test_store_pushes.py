"""Pushes are claimed by one process at a time, and go with their user and their age."""

import pytest
from msgspec.structs import replace
from store_kit import NOW, later

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.push.ports import MOST_OF_TASK, PUSHES
from soorma_ai.features.push.records import PushMessage, TaskPush
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.ports import Store

PUSH = TaskPush("default", "ann", "p-1", "main", "a2a", "https://example.com/in", NOW, token="t")
CHANGED = replace(PUSH, mark="working", number=1, pending=(PushMessage(1, "{}"),), post_at=later(5), failures=1)


async def test_a_push_is_claimed_once_until_its_due_moment(store: Store) -> None:
    pushes = store.part(PUSHES)
    assert await pushes.keep_push(PUSH) == PUSH
    assert await pushes.due_pushes("a2a", NOW, 9) == [PUSH]
    assert await pushes.due_pushes("other", NOW, 9) == []
    assert await pushes.claim_push(PUSH, NOW, later(60)) == (PUSH, 1)
    assert await pushes.claim_push(PUSH, later(59), later(99)) is None
    assert await pushes.due_pushes("a2a", later(59), 9) == []
    assert await pushes.save_push(CHANGED, 1, later(70))
    assert await pushes.claim_push(PUSH, later(70), later(99)) == (CHANGED, 2)
    assert not await pushes.save_push(PUSH, 1, later(99)), "another process has it"
    assert await pushes.save_push(CHANGED, 2, None)
    assert await pushes.due_pushes("a2a", later(1e6), 9) == []


async def test_a_push_of_the_same_receiver_goes_on_and_another_takes_its_place(store: Store) -> None:
    pushes = store.part(PUSHES)
    await pushes.keep_push(PUSH)
    _, fence = await pushes.claim_push(PUSH, NOW, later(60)) or (PUSH, 0)
    await pushes.save_push(CHANGED, fence, later(60))
    assert await pushes.keep_push(replace(PUSH, begun_at=later(9))) == CHANGED
    other = replace(PUSH, url="https://example.com/other")
    assert await pushes.keep_push(other) == other
    assert not await pushes.save_push(CHANGED, fence, None)
    assert await pushes.pushes_of("default", "ann", "p-1") == [other]


async def test_pushes_are_found_and_removed_by_their_user_alone(store: Store) -> None:
    pushes, bobs = store.part(PUSHES), replace(PUSH, user_id="bob")
    for one in (PUSH, bobs):
        await pushes.keep_push(one)
    assert await pushes.pushes_of("other", "ann", "p-1") == []
    assert not await pushes.remove_push("other", "ann", "p-1", "main")
    assert await pushes.remove_push("default", "ann", "p-1", "main")
    assert not await pushes.remove_push("default", "ann", "p-1", "main")
    assert await pushes.pushes_of("default", "bob", "p-1") == [bobs]


async def test_a_task_has_a_bounded_number_of_pushes(store: Store) -> None:
    pushes = store.part(PUSHES)
    for number in range(MOST_OF_TASK):
        await pushes.keep_push(replace(PUSH, push_id=f"c-{number}"))
    with pytest.raises(LocalProtocolError, match="delete one of them"):
        await pushes.keep_push(PUSH)
    await pushes.keep_push(replace(PUSH, push_id="c-1", url="https://example.com/other"))


async def test_pushes_go_with_their_user_and_done_ones_with_their_age(store: Store) -> None:
    pushes, done = store.part(PUSHES), replace(PUSH, user_id="bob", is_over=True)
    for one in (PUSH, replace(done, push_id="open"), done):
        await pushes.keep_push(one)
    _, fence = await pushes.claim_push(done, NOW, later(60)) or (done, 0)
    await pushes.save_push(done, fence, None)
    await store.part(UPKEEP).begin_forgetting("default", "ann", NOW)
    while not (await store.part(UPKEEP).forget(100)).is_done:
        pass
    assert await pushes.pushes_of("default", "ann", "p-1") == []
    then, after = later(60), None
    while True:
        after = (await store.part(UPKEEP).prune(AgeConditions("default", then, [], then), 10, after=after)).after
        if after is None:
            break
    assert [one.push_id for one in await pushes.pushes_of("default", "bob", "p-1")] == ["open"]
