"""Offers and texts of prompts are kept once for each of their forms, with the plan or for all of its tenant."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from prune_kit import make_ended_plan, prune, register_agents
from store_kit import NOW, entry, hold_delivery, plan, settle

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.effects import Ack, SavePlan
from soorma_ai.kernel.domain.history import PromptPart
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.ports import Settlement, Store, Work

FEW = Showing(("publish:x",), ("publish:x", "wait:y"))
MORE = Showing(("publish:x",), ("publish:x", "wait:y"), ("publish:z",), hidden=3)


PROMPT = entry().prompt_id


async def write(
    store: Store,
    showing: Showing | None,
    cause: str,
    ordinal: int = 0,
    plan_id: str = "plan-1",
    prompt_id: str = PROMPT,
) -> None:
    made = replace(entry(ordinal, cause=cause, plan_id=plan_id), prompt_id=prompt_id)
    charge = Charge("plan-1", 1, 10, 0.0)
    made = replace(made, shown=showing.digest) if showing else made
    await settle(store, Settlement(charge, charge, made, showing))


async def test_an_offer_is_found_by_its_digest_and_kept_once(store: Store) -> None:
    await write(store, FEW, "e-1")
    await write(store, FEW, "e-2")
    await write(store, MORE, "e-3")
    await write(store, None, "e-4")
    assert await store.plans.find_shown("plan-1") == {FEW.digest: FEW, MORE.digest: MORE}
    assert await store.plans.find_shown("plan-2") == {}


async def test_an_offer_of_an_undone_commit_is_written_with_the_next_one(store: Store) -> None:
    charge, made = Charge("plan-1", 1, 10, 0.0), replace(entry(), shown=FEW.digest)
    work = Work(await hold_delivery(store), Ack(), (), (Settlement(charge, charge, made, FEW),))
    with pytest.raises(VersionConflict):
        await store.queue.commit(replace(work, effects=(SavePlan(plan(version=4), 3),)), NOW)
    assert await store.plans.find_shown("plan-1") == {}
    await store.queue.commit(work, NOW)
    assert await store.plans.find_shown("plan-1") == {FEW.digest: FEW}


@pytest.mark.parametrize(("cause", "before"), [("e-1", MORE), ("e-3", FEW), ("e-9", MORE)])
async def test_the_offer_shown_before_is_that_of_an_earlier_handling(store: Store, cause: str, before: Showing) -> None:
    await write(store, FEW, "e-1")
    await write(store, MORE, "e-3")
    await write(store, FEW, "e-3", 1, plan_id="plan-2")
    assert await store.plans.last_shown("plan-1", cause, PROMPT) == before
    assert await store.plans.last_shown("plan-3", cause, PROMPT) is None


async def test_the_offer_of_another_prompt_is_not_the_offer_shown_before(store: Store) -> None:
    await write(store, FEW, "e-1")
    await write(store, MORE, "e-2", prompt_id="selector/select")
    assert await store.plans.last_shown("plan-1", "e-9", PROMPT) == FEW
    assert await store.plans.last_shown("plan-1", "e-9", "selector/select") == MORE


COMMON, OWN = PromptPart("c", "common", tenant_id="default"), PromptPart("o", "own", plan_id="plan-1")
BOTH = ["c", "o"]


async def tell(store: Store, cause: str, *kept: PromptPart, at: datetime = NOW) -> None:
    charge = Charge("plan-1", 1, 10, 0.0)
    await settle(store, Settlement(charge, charge, replace(entry(cause=cause), at=at), None, kept))


async def test_texts_of_prompts_are_found_by_their_plan_and_common_ones_within_the_tenant(store: Store) -> None:
    await tell(store, "e-1", COMMON, OWN)
    await tell(store, "e-2", COMMON, OWN)
    assert await store.plans.prompt_parts("default", "plan-1", BOTH) == {"c": "common", "o": "own"}
    assert await store.plans.prompt_parts("default", "plan-2", BOTH) == {"c": "common"}
    assert await store.plans.prompt_parts("acme", "plan-2", BOTH) == {}
    assert await store.plans.prompt_parts("default", "plan-1", []) == {}


async def test_a_text_under_a_name_of_its_own_is_replaced_by_the_newer_one(store: Store) -> None:
    for body in ("old", "new"):
        await store.plans.keep_part(PromptPart("c", body, tenant_id="default"), NOW)
    assert await store.plans.prompt_parts("default", "", ["c"]) == {"c": "new"}


async def test_a_text_is_written_again_after_its_first_transaction_was_undone(store: Store) -> None:
    await tell(store, "e-1")
    with pytest.raises(VersionConflict):
        await tell(store, "e-1", COMMON)
    await tell(store, "e-2", COMMON)
    assert await store.plans.prompt_parts("default", "", BOTH) == {"c": "common"}


@pytest.mark.parametrize(
    ("used_again", "kept"), [(None, False), (timedelta(days=2), False), (timedelta(days=30), True)]
)
async def test_a_text_of_all_plans_goes_after_a_time_without_use_as_long_as_that_of_plans(
    store: Store, used_again: timedelta | None, kept: bool
) -> None:
    long_ago = NOW - timedelta(days=40)
    await tell(store, "e-1", COMMON, OWN, at=long_ago)
    if used_again is not None:
        await tell(store, "e-2", COMMON, at=long_ago + used_again)
    await prune(store)
    found = await store.plans.prompt_parts("default", "plan-1", BOTH)
    assert ("c" in found) is kept and "o" in found, "no plan of this name was removed"
    await tell(store, "e-3", COMMON)
    assert "c" in await store.plans.prompt_parts("default", "", BOTH), "and it is written when it is used again"


async def test_texts_of_a_plan_go_with_it(store: Store) -> None:
    await register_agents(store)
    made = await make_ended_plan(store, "a")
    await tell(store, "e-1", replace(OWN, plan_id=made.plan_id))
    await prune(store)
    assert await store.plans.prompt_parts("default", made.plan_id, BOTH) == {}
