"""Plans and backlogs as lists show them."""

from typing import Any

import pytest
from msgspec.structs import replace
from store_kit import NOW, agent, claim_all, do, event, expectation, gate, later, plan, reserve, settle

from soorma_ai.features.tracking.ports import PLAN_LISTS, PlanFilter
from soorma_ai.kernel.domain.effects import Expect, SavePlan
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.limits import Charge, Reserved, Spent
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import Settlement, Store


async def save_plans(store: Store, count: int = 6) -> None:
    """Plans p-0, p-1 ...: every third is paused, the last is another tenant's, p-1 is of zoe in the session s."""
    for number in range(count):
        made = plan(f"p-{number}", tenant="acme" if number == count - 1 else "default")
        if number % 3 == 0:
            made = replace(made, status=PlanStatus.PAUSED, goal_event="Order.Place")
        if number == 1:
            lineage = Lineage("default", "zoe", session_id="s", plan_id="p-1", root_plan_id="p-1")
            made = replace(made, lineage=lineage)
        await do(store, SavePlan(made, None))


@pytest.mark.parametrize(
    ("user", "wanted", "found"),
    [
        (None, PlanFilter(), ["p-4", "p-3", "p-2", "p-1", "p-0"]),
        (None, PlanFilter((PlanStatus.PAUSED,)), ["p-3", "p-0"]),
        (None, PlanFilter((PlanStatus.PAUSED, PlanStatus.RUNNING)), ["p-4", "p-3", "p-2", "p-1", "p-0"]),
        (None, PlanFilter((PlanStatus.FAILED,)), []),
        (None, PlanFilter(session_id="s"), ["p-1"]),
        ("zoe", PlanFilter(), ["p-1"]),
        ("zoe", PlanFilter((PlanStatus.PAUSED,), session_id="s"), []),
        (None, PlanFilter(search="p-2"), ["p-2"]),
        (None, PlanFilter(search="ORDER.pl"), ["p-3", "p-0"]),
        (None, PlanFilter(search="zoe"), ["p-1"]),
        (None, PlanFilter(search="%"), []),
    ],
)
async def test_plans_are_listed_newest_first_by_a_filter(
    store: Store, user: str | None, wanted: PlanFilter, found: list[str]
) -> None:
    await save_plans(store)
    page = await store.part(PLAN_LISTS).plan_page("default", user, wanted, 0, 50)
    assert [row.plan.plan_id for row in page.rows] == found
    assert page.is_end


@pytest.mark.parametrize("statuses", [(), (PlanStatus.RUNNING, PlanStatus.PAUSED)])
async def test_pages_follow_each_other_and_none_is_missed(store: Store, statuses: tuple[PlanStatus, ...]) -> None:
    await save_plans(store)
    seen, before, is_end = list[str](), 0, False
    while not is_end:
        page = await store.part(PLAN_LISTS).plan_page("default", None, PlanFilter(statuses), before, 2)
        seen += [row.plan.plan_id for row in page.rows]
        before, is_end = page.before, page.is_end
    assert seen == ["p-4", "p-3", "p-2", "p-1", "p-0"]


async def test_a_plan_is_listed_with_the_spending_of_its_tree(store: Store) -> None:
    await save_plans(store)
    call = Charge("p-2", 1, 70, 0.5)
    await reserve(store, call, plan().limits)
    await reserve(store, call, plan().limits)
    await settle(store, Settlement(call, call))
    rows = (await store.part(PLAN_LISTS).plan_page("default", None, PlanFilter(), 0, 50)).rows
    found = {row.plan.plan_id: row.spent for row in rows if row.spent != Spent()}
    assert found == {"p-2": Spent(0, 1, 70, 0.5, reserved=Reserved(1, 70, 0.5))}


async def test_of_many_open_expectations_the_oldest_of_each_plan_are_listed(store: Store) -> None:
    await save_plans(store, 3)
    of_first = [expectation(f"e-{n}", plan_id="p-0", opened_at=later(n)) for n in range(4)]
    await do(store, *map(Expect, of_first), Expect(gate("g-1", plan_id="p-1")))
    found = await store.part(PLAN_LISTS).first_awaited(["p-0", "p-1", "p-2"], 2)
    assert sorted(one.id for one in found) == ["e-0", "e-1", "g-1"]


async def test_backlogs_of_a_tenant_are_counted_by_agent(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked"), agent("other", "work.asked")], NOW)
    mine = [event(f"e-{n}") for n in range(3)]
    await store.queue.arrive([*mine, event("theirs", tenant="acme")], NOW)
    await claim_all(store, "worker", limit=1)
    found = await store.queue.backlogs("default", 100)
    assert [(one.agent, one.waiting, one.in_hand) for one in found] == [("other", 3, 0), ("worker", 2, 1)]
    assert await store.queue.backlogs("nobody", 100) == []


async def test_open_requests_of_clients_are_listed_newest_first_by_tenant_and_user(store: Store) -> None:
    def asked(name: str, second: int, kind: ExpectationKind = ExpectationKind.CLIENT, **changes: Any) -> Expect:
        return Expect(expectation(name, kind, plan_id=None, root_plan_id=None, opened_at=later(second), **changes))

    rows = [
        asked("r-1", 1, user_id="zoe"),
        asked("r-2", 2),
        asked("r-3", 3, user_id="zoe"),
        asked("closed", 4, status=ExpectationStatus.MET),
        asked("of an agent", 5, ExpectationKind.REPLY),
        asked("elsewhere", 6, tenant_id="acme"),
    ]
    await do(store, *rows)
    lists = store.part(PLAN_LISTS)
    assert [one.id for one in await lists.open_requests("default", None, 50)] == ["r-3", "r-2", "r-1"]
    assert [one.id for one in await lists.open_requests("default", "zoe", 50)] == ["r-3", "r-1"]
    assert [one.id for one in await lists.open_requests("default", None, 1)] == ["r-3"]
    assert [one.id for one in await lists.open_requests("default", None, 50, "r-3")] == ["r-2", "r-1"]
    assert [one.id for one in await lists.open_requests("default", "zoe", 50, "r-3")] == ["r-1"]
    assert await lists.open_requests("default", None, 50, "r-1") == []
    assert await lists.open_requests("default", None, 50, "elsewhere") == []
