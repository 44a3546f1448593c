"""What a model was shown is kept once for each of its forms, with the plan."""

from dataclasses import replace

import pytest
from store_kit import entry, settle

from soorma_ai.domain.decisions import Showing
from soorma_ai.domain.limits import Charge
from soorma_ai.ports import Settlement, Store

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


async def test_what_was_shown_is_found_by_its_digest_and_kept_once(store: Store) -> None:
    await write(store, FEW, "e-1")
    await write(store, FEW, "e-2")
    await write(store, MORE, "e-3")
    await write(store, None, "e-4")
    assert await store.plans.shown("plan-1") == {FEW.digest: FEW, MORE.digest: MORE}
    assert await store.plans.shown("plan-2") == {}


@pytest.mark.parametrize(("cause", "before"), [("e-1", MORE), ("e-3", FEW), ("e-9", MORE)])
async def test_what_was_shown_before_is_that_of_an_earlier_handling(store: Store, cause: str, before: Showing) -> None:
    await write(store, FEW, "e-1")
    await write(store, MORE, "e-3")
    await write(store, FEW, "e-3", 1, plan_id="plan-2")
    assert await store.plans.shown_before("plan-1", cause, PROMPT) == before
    assert await store.plans.shown_before("plan-3", cause, PROMPT) is None


async def test_what_was_shown_for_another_purpose_is_not_what_was_shown_before(store: Store) -> None:
    await write(store, FEW, "e-1")
    await write(store, MORE, "e-2", prompt_id="selector/select")
    assert await store.plans.shown_before("plan-1", "e-9", PROMPT) == FEW
    assert await store.plans.shown_before("plan-1", "e-9", "selector/select") == MORE
