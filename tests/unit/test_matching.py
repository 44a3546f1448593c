"""Expectations met at their opening, by early events or by a changed offer."""

import pytest
from contract.store_kit import NOW, PAID_KEY, expectation, fact, gate, question, reply, wait
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.arrival.arrival import EventTargets, NamedRows, arrive
from soorma_ai.kernel.rules.arrival.effects import ForgetEarly, Meet, Open, Put, Wake
from soorma_ai.kernel.rules.arrival.matching import (
    EarlyEvent,
    first_to_meet,
    look_again,
    names_of,
    open_met,
    owner_of,
    park,
)
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED, OFFER_CHANGED, wake_for

TYPED: JsonObject = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
ASKED = EventDefinition(event_name="work.asked")
PARKED = expectation("o-1", ExpectationKind.OFFER, event_type="", others=())


def met(expected: Expectation, by: str) -> Expectation:
    return replace(expected, status=ExpectationStatus.MET, closed_at=NOW, met_by=by)


def test_a_wait_is_indexed_by_each_type_under_each_key() -> None:
    names = names_of(wait("w-1", others=("order.dropped",)))
    assert names == tuple((name, key) for name in ("order.paid", "order.dropped") for key in (PAID_KEY, "reply:w-1"))


@pytest.mark.parametrize("nameless", [gate("g-1"), wait("w-1", status=ExpectationStatus.MET), expectation("q-1")])
def test_gates_and_closed_expectations_are_not_indexed(nameless: Expectation) -> None:
    assert names_of(nameless) == ()


def test_the_first_fitting_early_event_meets_a_wait() -> None:
    came = [
        EarlyEvent(1, fact("off schema", {"amount": "x"}, source="bank")),
        EarlyEvent(2, fact("wrong source", {"amount": 1})),
        EarlyEvent(3, fact("right", {"amount": 1}, source="bank")),
        EarlyEvent(4, fact("later", {"amount": 1}, source="bank")),
    ]
    asked = wait("w-1", producers=("bank",), ask=question(TYPED))
    assert first_to_meet(asked, came) == came[2]
    assert first_to_meet(asked, came[:2]) is None


def test_an_early_event_of_a_client_meets_no_wait_for_approvers() -> None:
    came = [EarlyEvent(1, fact("f-1", source=CLIENT))]
    assert first_to_meet(wait("w-1", ask=question(approvers=("boss",))), came) is None
    assert first_to_meet(wait("w-1"), came) == came[0]


@pytest.mark.parametrize("was_handed", [False, True])
def test_an_early_event_goes_to_the_waiting_plan_or_wakes_it_if_delivered_before(was_handed: bool) -> None:
    asked = wait("w-1")
    brought = Wake(wake_for(ANSWERED, asked, NOW, causation_id="f-1")) if was_handed else Put("planner", "plan-1")
    assert open_met(asked, fact("f-1"), NOW, was_handed=was_handed) == (Open(met(asked, "f-1")), ForgetEarly(), brought)


@pytest.mark.parametrize(
    ("offered", "wanted", "is_there"),
    [
        ([("worker", EventRole.TAKES)], "", True),
        ([("worker", EventRole.TAKES)], "work.asked", True),
        ([("worker", EventRole.TAKES_AS_GOAL)], "work.asked", True),
        ([("worker", EventRole.TAKES)], "other.asked", False),
        ([("worker", EventRole.AWAITS)], "", False),
        ([("planner", EventRole.TAKES)], "", False),
        ([], "", False),
    ],
    ids=["anything", "by name", "a goal", "another name", "only awaited", "its own", "none"],
)
def test_a_plan_parks_unless_its_missing_event_was_registered_meanwhile(
    offered: list[tuple[str, EventRole]], wanted: str, is_there: bool
) -> None:
    live = [RegisteredEvent(agent, AgentKind.WORKER, role, ASKED) for agent, role in offered]
    parked = replace(PARKED, event_type=wanted)
    wake = wake_for(OFFER_CHANGED, parked, NOW)
    assert park(parked, live, NOW) == ((Open(met(parked, wake.id)), Wake(wake)) if is_there else (Open(parked),))


@pytest.mark.parametrize(
    ("tenants", "looking"), [(["default"], ["o-1"]), (["other"], ["o-2"]), ([None], ["o-1", "o-2"]), (["third"], [])]
)
def test_a_changed_offer_wakes_the_parked_plans_of_its_tenants(tenants: list[str | None], looking: list[str]) -> None:
    parked = [PARKED, replace(PARKED, id="o-2", tenant_id="other")]
    wakes = [wake_for(OFFER_CHANGED, one, NOW) for one in parked if one.id in looking]
    expected = [effect for wake in wakes for effect in (Meet(str(wake.subject), wake.id), Wake(wake))]
    assert list(look_again(parked, tenants, NOW)) == expected


@pytest.mark.parametrize(
    ("plan_id", "task_id", "owner"), [("p", None, "p"), (None, "t", "t"), (None, None, "q-1"), ("p", "t", "p")]
)
def test_a_reply_goes_into_the_line_of_its_plan_its_task_or_itself(
    plan_id: str | None, task_id: str | None, owner: str
) -> None:
    owed = expectation("q-1", plan_id=plan_id, task_id=task_id)
    assert owner_of(owed) == owner
    assert arrive(EventTargets(expectation_id="q-1"), NamedRows(owed), reply("r-1", "q-1"), NOW)[1:] == (
        Put("planner", owner),
    )
