"""Authority: the table of rights, cell by cell, and the checks built on it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from rights import RIGHTS as CALLS

from soorma_ai.errors import Forbidden, NotFound
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.identity import AgentRights, Caller
from soorma_ai.kernel.domain.people import NO_USER, AnswerDecision, Ask, Person
from soorma_ai.kernel.domain.registry import (
    AgentCapability,
    AgentKind,
    EventDefinition,
    EventRole,
    RegisteredEvent,
    Registration,
    Subscription,
)
from soorma_ai.kernel.rules.authority import (
    TABLE,
    Act,
    Owner,
    Ownership,
    Permission,
    Role,
    can_answer,
    check,
    is_listed,
    is_open_to,
    only_user,
    registration_fault,
    steers_all,
    verdict,
    whose_is,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
AMOUNT = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
ANN, BEN, ELSEWHERE = Owner("acme", "ann"), Owner("acme", "ben"), Owner("other", "ann")
NOBODYS = Owner("acme")
THINGS = {Ownership.OWN: ANN, Ownership.OTHERS: BEN, Ownership.NOBODYS: NOBODYS, Ownership.ELSEWHERE: ELSEWHERE}

PEOPLE = {
    "user": Person("acme", "ann", frozenset()),
    "auditor": Person("acme", "ann", frozenset({"auditor"})),
    "operator": Person("acme", "ann", frozenset({"operator"})),
    "both": Person("acme", "ann", frozenset({"auditor", "operator", "manager"})),
    "root": Person("acme", "ann"),
}
# For each call: the verdict on a person's own thing, another user's, one without an owner, another tenant's.
EXPECTED = {
    ("plan", "user"): "may hidden hidden hidden",
    ("plan", "auditor"): "may may may hidden",
    ("plan", "operator"): "may may may hidden",
    ("plan", "root"): "may may may hidden",
    ("cancel", "user"): "may hidden hidden hidden",
    ("cancel", "auditor"): "may forbidden forbidden hidden",
    ("cancel", "operator"): "may may may hidden",
    ("cancel", "both"): "may may may hidden",
    ("cancel", "root"): "may may may hidden",
    ("submit", "user"): "may hidden hidden hidden",
    ("submit", "auditor"): "may hidden hidden hidden",
    ("registry.query", "user"): "may may may hidden",
    ("registry.deregister", "user"): "forbidden forbidden forbidden hidden",
    ("registry.deregister", "auditor"): "forbidden forbidden forbidden hidden",
    ("registry.deregister", "operator"): "may may may hidden",
    ("remove a shared agent", "operator"): "forbidden forbidden forbidden hidden",
    ("remove a shared agent", "root"): "may may may hidden",
    ("audit", "user"): "forbidden forbidden forbidden hidden",
    ("audit", "auditor"): "may may may hidden",
    ("audit", "operator"): "may may may hidden",
    ("keys.add", "operator"): "forbidden forbidden forbidden hidden",
    ("keys.add", "both"): "forbidden forbidden forbidden hidden",
    ("keys.add", "root"): "may may may hidden",
}


@pytest.mark.parametrize(("call", "who"), EXPECTED, ids=lambda value: value)
def test_a_persons_best_role_decides(call: str, who: str) -> None:
    found = [verdict(PEOPLE[who], CALLS[call], THINGS[whose]) for whose in Ownership]
    assert [str(one) for one in found] == EXPECTED[call, who].split()


def test_the_table_has_every_cell_and_hides_each_tenant_from_the_others() -> None:
    cells = {(r, a, w): v for r, acts in TABLE.items() for a, row in acts.items() for w, v in row.items()}
    assert set(cells) == {(role, act, whose) for role in Role for act in Act for whose in Ownership}
    assert {verdict for (_, _, whose), verdict in cells.items() if whose is Ownership.ELSEWHERE} == {Permission.HIDDEN}
    assert {right.act for right in CALLS.values()} == set(Act)


@pytest.mark.parametrize("call", [call for call, right in CALLS.items() if right.act in (Act.SEE, Act.STEER)])
def test_no_role_takes_away_a_users_rights_and_a_right_to_steer_includes_the_view(call: str) -> None:
    for person in PEOPLE.values():
        for thing in THINGS.values():
            found = verdict(person, CALLS[call], thing)
            assert found in (verdict(PEOPLE["user"], CALLS[call], thing), Permission.MAY, Permission.FORBIDDEN)
            if CALLS[call].act is Act.STEER and found is not Permission.HIDDEN:
                assert verdict(person, CALLS["plan"], thing) is Permission.MAY


@pytest.mark.parametrize(
    ("owner", "whose"),
    [
        (ANN, Ownership.OWN),
        (BEN, Ownership.OTHERS),
        (NOBODYS, Ownership.NOBODYS),
        (ELSEWHERE, Ownership.ELSEWHERE),
        (Owner("other"), Ownership.ELSEWHERE),
    ],
)
def test_a_things_owner_decides_its_ownership(owner: Owner, whose: Ownership) -> None:
    assert whose_is(owner, PEOPLE["user"]) is whose


def test_a_thing_without_an_owner_belongs_to_no_unnamed_person() -> None:
    assert whose_is(NOBODYS, Person("acme", NO_USER, frozenset())) is Ownership.NOBODYS


def test_a_hidden_thing_is_reported_as_not_found() -> None:
    with pytest.raises(NotFound, match=r"^no plan 7$"):
        check(PEOPLE["user"], CALLS["cancel"], BEN, "no plan 7")
    with pytest.raises(Forbidden, match=r"^ann has auditor and may not cancel here: that needs the role operator$"):
        check(PEOPLE["auditor"], CALLS["cancel"], BEN, "no plan 7")
    with pytest.raises(Forbidden, match=r"^ann has no role .*: that needs the role auditor or operator$"):
        check(PEOPLE["user"], CALLS["audit"], NOBODYS, "")
    with pytest.raises(Forbidden, match=r"that needs the trusted root"):
        check(PEOPLE["operator"], CALLS["keys.add"], NOBODYS, "")
    check(PEOPLE["operator"], CALLS["cancel"], BEN, "no plan 7")


def test_lists_show_a_users_own_things_and_the_whole_tenant_to_auditors_and_operators() -> None:
    assert {name: only_user(person) for name, person in PEOPLE.items()} == {
        "user": "ann",
        "auditor": None,
        "operator": None,
        "both": None,
        "root": None,
    }


def question(owner: Owner, *approvers: str) -> Expectation:
    ask = Ask("", "", {}, tuple(AnswerDecision), approvers, escalate_after=timedelta(hours=1), escalate_to=("boss",))
    return Expectation(
        id="w-1",
        kind=ExpectationKind.GATE,
        agent="orders",
        tenant_id=owner.tenant_id,
        plan_id="p-1",
        root_plan_id="p-1",
        event_type="paid",
        event_topic=EventTopic.NOTIFICATION_EVENTS,
        opened_at=NOW,
        deadline=None,
        subject="pay",
        ask=ask,
        user_id=owner.user_id,
    )


@pytest.mark.parametrize(
    ("owner", "approvers", "roles", "listed", "open_to"),
    [
        (ANN, (), (), True, True),
        (ANN, ("manager",), (), True, True),
        (BEN, (), (), False, True),
        (BEN, ("manager",), (), False, False),
        (BEN, ("manager",), ("manager",), True, True),
        (BEN, ("manager",), ("boss",), False, False),
        (BEN, ("manager",), ("auditor",), True, True),
        (BEN, (), ("operator",), True, True),
        (NOBODYS, ("manager",), ("manager",), True, True),
        (NOBODYS, (), (), False, True),
        (ELSEWHERE, (), ("operator", "manager"), False, False),
        (ELSEWHERE, ("manager",), ("manager",), False, False),
        (ELSEWHERE, ("manager",), None, False, False),
        (BEN, ("manager",), None, True, True),
    ],
)
def test_a_question_is_listed_for_its_owner_for_viewers_of_the_tenant_and_for_approvers(
    owner: Owner, approvers: tuple[str, ...], roles: tuple[str, ...] | None, listed: bool, open_to: bool
) -> None:
    asked = question(owner, *approvers)
    person = replace(PEOPLE["user"], roles=None if roles is None else frozenset(roles))
    assert (is_listed(person, asked, NOW), is_open_to(person, asked, NOW)) == (listed, open_to)


def test_a_question_is_listed_for_escalation_roles_after_the_escalation() -> None:
    boss, asked = replace(PEOPLE["user"], roles=frozenset({"boss"})), question(BEN, "manager")
    then = NOW + timedelta(hours=1)
    assert (is_listed(boss, asked, NOW), is_listed(boss, asked, then)) == (False, True)


PAY = EventDefinition(
    event_name="pay",
    payload_schema=AMOUNT,
    response_schema=AMOUNT,
    approval=Approval(approvers=("cfo",)),
    irreversible=True,
)
PAID = EventDefinition(event_name="paid", topic="business-facts", correlate={"/order_id": "goal_data.order_id"})
OWNED = [
    RegisteredEvent("bank", AgentKind.TOOL, EventRole.TAKES, PAY),
    RegisteredEvent("orders@acme", AgentKind.PLANNER, EventRole.AWAITS, PAID),
]
RIGHTS = AgentRights("till", frozenset({"pay", "count", "counted"}), frozenset({"paid"}))
TILL = Caller(Person("acme", "ann", frozenset()), RIGHTS)


def till(*events: tuple[EventRole, EventDefinition], **more: Any) -> Registration:
    return Registration(**{"agent": "till", "kind": AgentKind.TOOL, "tenant_id": "acme", "events": events, **more})


def takes(**changes: Any) -> tuple[EventRole, EventDefinition]:
    return EventRole.TAKES, PAY.model_copy(update=changes)


def makes(name: str = "paid", **changes: Any) -> tuple[EventRole, EventDefinition]:
    return EventRole.MAKES, EventDefinition(event_name=name, topic="business-facts", **changes)


HEARD = (Subscription(EventTopic.ACTION_REQUESTS, "*"),)
DESCRIBED = (AgentCapability(task_name="till", consumed_event=PAY.model_copy(update={"event_name": "refund"})),)
PRODUCED = (AgentCapability(task_name="till", consumed_event=PAY, produced_events=(makes("refunded")[1],)),)


@pytest.mark.parametrize(
    ("one", "fault"),
    [
        (till(takes()), ""),
        (till(takes(approval=None)), ""),
        (till(takes(approval=Approval(when="payload.amount > 1", approvers=()))), ""),
        (till((EventRole.TAKES, EventDefinition(event_name="count"))), ""),
        (till(makes()), ""),
        (till(makes(correlate={"/order_id": "goal_data.order_id"})), ""),
        (till(subscriptions=(Subscription(EventTopic.ACTION_RESULTS, "counted"),)), ""),
        (till(agent="bank"), "this token is for agent 'till', and not for 'bank'"),
        (till(tenant_id=None), "till comes for tenant 'acme': it cannot be one of None"),
        (till(tenant_id="other"), "it cannot be one of 'other'"),
        (till(kind=AgentKind.PLANNER), "planners run beside the store"),
        (till((EventRole.TAKES_AS_GOAL, EventDefinition(event_name="count"))), "planners run beside the store"),
        (till((EventRole.AWAITS, PAID)), "planners run beside the store"),
        (till(takes(event_name="refund")), "till takes refund, which its key does not name"),
        (till(subscriptions=HEARD), r"till takes \*, which its key does not name"),
        (till(capabilities=DESCRIBED), "till takes refund, which its key does not name"),
        (till(makes("refunded")), "till makes refunded, which its key does not name"),
        (till(capabilities=PRODUCED), "till makes refunded, which its key does not name"),
        (till(takes(payload_schema={"type": "object"})), "with other schemas than bank"),
        (till(takes(response_schema=None)), "with other schemas than bank"),
        (till(takes(irreversible=False)), "its owner says that it cannot"),
        (till(makes(correlate={"/id": "goal_data.order_id"})), "for other plans than orders says"),
    ],
)
def test_a_token_registers_only_the_events_of_its_key_and_weakens_no_definition(one: Registration, fault: str) -> None:
    found = registration_fault(TILL, one, OWNED)
    assert re.search(fault, found) if fault else found == ""


@pytest.mark.parametrize(
    ("one", "fault"),
    [
        (till(takes(), makes("whatever")), ""),
        (till(agent="bank"), ""),
        (till(tenant_id="other"), "it cannot be one of 'other'"),
        (till(kind=AgentKind.PLANNER), "planners run beside the store"),
        (till(agent="orders"), "orders is a planner, and what comes under its name is for that"),
        (till(takes(irreversible=False)), "its owner says that it cannot"),
        (till(agent="soorma"), "an agent cannot be called 'soorma'"),
        (till(agent="client"), "an agent cannot be called 'client'"),
        (till(agent=""), "an agent cannot be called ''"),
    ],
)
def test_an_operators_token_registers_any_agent_of_the_tenant_and_weakens_no_definition(
    one: Registration, fault: str
) -> None:
    operator = Caller(Person("acme", "ann", frozenset({"operator"})))
    found = registration_fault(operator, one, OWNED)
    assert re.search(fault, found) if fault else found == ""


def test_a_token_without_an_agent_registers_none_and_an_agent_may_change_its_own_terms() -> None:
    nobody = Caller(TILL.person)
    assert "this token is for no agent" in registration_fault(nobody, till(), OWNED)
    mine = [replace(OWNED[0], agent="till@acme")]
    assert registration_fault(TILL, till(takes(irreversible=False, payload_schema={})), mine) == ""


@pytest.mark.parametrize(
    ("name", "asked", "heard"),
    [
        ("user", question(ANN), True),
        ("user", question(BEN, "manager"), False),
        ("both", question(BEN, "manager"), True),
        ("auditor", question(BEN), False),
        ("operator", question(BEN), True),
        ("root", question(BEN, "manager"), True),
    ],
)
def test_owners_approvers_operators_and_the_root_may_answer_a_question(
    name: str, asked: Expectation, heard: bool
) -> None:
    assert can_answer(PEOPLE[name], asked, NOW) is heard


def test_operators_and_the_root_steer_everything_in_their_tenant() -> None:
    assert [name for name, person in PEOPLE.items() if steers_all(person)] == ["operator", "both", "root"]
