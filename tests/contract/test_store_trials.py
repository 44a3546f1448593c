"""Calls of models in trials are kept with their cost, and go with their user and their age."""

from msgspec.structs import replace
from store_kit import NOW, later

from soorma_ai.features.trials.ports import TRIALS
from soorma_ai.features.trials.records import TrialAnswer, TrialCall
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.ports import Store

OPEN = TrialCall("c-1", "default", "ann", "p-1", "q", "m", 1, NOW, 0.5)
CLOSED = replace(OPEN, usd=0.25, answer=TrialAnswer({"step": {}}, tokens=20, latency_ms=3.0))


async def test_a_call_is_kept_at_its_reservation_then_at_its_cost(store: Store) -> None:
    ledger = store.part(TRIALS)
    await ledger.open_trial_call(OPEN)
    assert await ledger.trial_calls("default", "q", "m") == [OPEN]
    await ledger.close_trial_call(CLOSED)
    assert await ledger.trial_calls("default", "q", "m") == [CLOSED]


async def test_a_call_is_found_by_its_tenant_question_and_model(store: Store) -> None:
    ledger = store.part(TRIALS)
    later_call = replace(OPEN, call_id="c-0", at=later(1))
    for call in (later_call, OPEN, replace(OPEN, call_id="c-2", question="r"), replace(OPEN, call_id="c-3", model="n")):
        await ledger.open_trial_call(call)
    assert await ledger.trial_calls("default", "q", "m") == [OPEN, later_call]
    assert await ledger.trial_calls("other", "q", "m") == []


async def test_nothing_is_kept_of_a_removed_call(store: Store) -> None:
    await store.part(TRIALS).close_trial_call(CLOSED)
    assert await store.part(TRIALS).trial_calls("default", "q", "m") == []


async def test_the_calls_of_a_forgotten_user_are_removed(store: Store) -> None:
    ledger, bobs = store.part(TRIALS), replace(OPEN, call_id="c-2", user_id="bob")
    for call in (OPEN, bobs):
        await ledger.open_trial_call(call)
    await store.part(UPKEEP).begin_forgetting("default", "ann", NOW)
    while not (await store.part(UPKEEP).forget(100)).is_done:
        pass
    assert await ledger.trial_calls("default", "q", "m") == [bobs]


async def test_old_calls_are_pruned(store: Store) -> None:
    ledger, young = store.part(TRIALS), replace(OPEN, call_id="c-2", at=later(90))
    for call in (OPEN, young):
        await ledger.open_trial_call(call)
    then, after = later(60), None
    while True:
        after = (await store.part(UPKEEP).prune(AgeConditions("default", then, [], then), 10, after=after)).after
        if after is None:
            break
    assert await ledger.trial_calls("default", "q", "m") == [young]
