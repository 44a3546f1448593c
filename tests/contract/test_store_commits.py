"""The store signals every commit with a write, so that relays and watchers need not poll."""

from store_kit import NOW, claim_all, do, event, hold_delivery, in_line, later, plan

from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.ports import Store


async def test_a_commit_is_signalled_and_an_operation_without_a_write_is_not(store: Store, commits: list[str]) -> None:
    await in_line(store)
    await do(store, SavePlan(plan(), None))
    await hold_delivery(store)
    commits.clear()
    await claim_all(store)
    await store.queue.fire(later(1), 9)
    await store.plans.plans(tenant_id=None, status=None, root_plan_id=None, limit=9)
    await store.queue.unsent(9)
    await store.queue.mark_sent([], NOW)
    await store.queue.arrive([], NOW)
    assert commits == []
    await store.queue.send([event("e-1")], None, NOW)
    assert commits == ["commit"]
