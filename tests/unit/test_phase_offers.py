"""An offer narrowed to one phase."""

from soorma_ai.features.phases.rules import narrow_offer
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer, WaitChoice

SEARCH, READ, GOAL, WAIT = (EventDefinition(event_name=name) for name in ("search", "read", "goal", "replied"))
OFFER = Offer((SEARCH, READ), (Delegate("other", GOAL),), (WaitChoice(WAIT, ("client",)),), {"type": "null"})
SCHEMA = {"type": "object"}


def test_a_phase_is_offered_the_events_it_names_and_nothing_else() -> None:
    assert narrow_offer(OFFER, ["read", "replied", "nothing"], SCHEMA).choices.keys() == {
        "publish:read",
        "wait:replied",
    }
    assert narrow_offer(OFFER, ["goal"], SCHEMA).choices.keys() == {"delegate:other/goal"}
    assert narrow_offer(OFFER, [], SCHEMA).is_empty


def test_the_result_schema_of_a_narrowed_offer_is_the_phases() -> None:
    assert narrow_offer(OFFER, [], SCHEMA).result_schema == SCHEMA


def test_equal_names_make_the_same_offer() -> None:
    assert narrow_offer(OFFER, ["read", "read"], SCHEMA) is narrow_offer(OFFER, ["read"], SCHEMA)
