"""Substitutes of absent people: the rights that a substitute gets, and their end."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.features.human_tasks.absences import LONGEST, MOST_STOOD_IN_FOR, absence_fault
from soorma_ai.features.human_tasks.records import Absence
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.rules.waits.substitutes import answering_as, lent_person, may_stand_in, stands_in
from unit.kit import HOUR, NOW, gate

ANNS = Absence("acme", "ann", "bob", frozenset({"manager", "operator"}), NOW, NOW + 48 * HOUR, "k-1")
BOBS = Absence("acme", "bob", "ann", frozenset(), NOW, NOW + HOUR)
KEY = ApiKey("k-1", "ab" * 32, "acme", "ann", NOW, frozenset({"manager"}))
ANN = Person("acme", "ann", frozenset({"manager", "operator"}))
BOB = Person("acme", "bob", frozenset({"clerk"}))
ASK = gate().ask
assert ASK is not None


def question(*approvers: str, user: str = "eve", tenant: str = "acme") -> Expectation:
    assert ASK is not None
    return gate("open", ask=replace(ASK, approvers=approvers), user_id=user, tenant_id=tenant)


FAULTS: dict[str, tuple[dict[str, Any], Absence | None, int, str]] = {
    "fine": ({}, None, 0, ""),
    "empty": ({"deputy": ""}, None, 0, "is not a name"),
    "no name": ({"deputy": "b\x1bob"}, None, 0, "is not a name"),
    "oneself": ({"deputy": "ann"}, None, 0, "your own substitute"),
    "in the past": ({"until": NOW}, None, 0, "is over"),
    "for ever": ({"until": NOW + LONGEST + HOUR}, None, 0, "too far away"),
    "round": ({}, BOBS, 0, "bob is away until"),
    "another's deputy": ({}, None, MOST_STOOD_IN_FOR - 1, ""),
    "a deputy of too many": ({}, None, MOST_STOOD_IN_FOR, "the substitute of 20 people"),
}


@pytest.mark.parametrize(("changes", "of_deputy", "others", "fault"), FAULTS.values(), ids=FAULTS)
def test_an_absence_needs_a_present_substitute_and_an_end_in_bounds(
    changes: dict[str, Any], of_deputy: Absence | None, others: int, fault: str
) -> None:
    stood_in_for = [replace(ANNS, user_id=f"user-{n}") for n in range(others)]
    said = absence_fault(replace(ANNS, **changes), of_deputy, stood_in_for)
    assert fault in said and bool(said) is bool(fault)


@pytest.mark.parametrize(
    ("key", "after", "roles"),
    [
        (None, HOUR, {"manager", "operator"}),
        (KEY, HOUR, {"manager"}),
        (replace(KEY, revoked_at=NOW), HOUR, None),
        (replace(KEY, expires_at=NOW + HOUR), HOUR, None),
        (None, 48 * HOUR, None),
        (None, -HOUR, None),
    ],
)
def test_a_substitute_gets_the_absent_persons_roles_while_absence_and_key_are_valid(
    key: ApiKey | None, after: timedelta, roles: set[str] | None
) -> None:
    found = lent_person(ANNS, key, NOW + after)
    assert found == (None if roles is None else Person("acme", "ann", frozenset(roles)))


CASES: dict[str, tuple[Expectation, bool]] = {
    "asked of their role": (question("manager"), True),
    "asked of another role": (question("director"), False),
    "their own, without approvers": (question(user="ann"), True),
    # An operator sees it; a substitute does not get this right.
    "another's, without approvers": (question(), False),
    "of another tenant": (question("manager", tenant="other"), False),
}


@pytest.mark.parametrize(("one", "comes"), CASES.values(), ids=CASES)
def test_a_substitute_gets_questions_to_the_absent_person_and_none_only_visible_to_them(
    one: Expectation, comes: bool
) -> None:
    assert may_stand_in(one, ANN, NOW) is comes
    assert stands_in(one, [replace(ANN, user_id="zoe", roles=frozenset()), ANN], NOW) is comes
    assert answering_as(one, BOB, [ANN], NOW) is (ANN if comes else BOB)


def test_a_person_with_the_right_to_answer_answers_in_their_own_name() -> None:
    boss = replace(BOB, roles=frozenset({"manager"}))
    assert answering_as(question("manager"), boss, [ANN], NOW) is boss
    root = Person("acme", "bob")
    assert answering_as(question(user="ann"), root, [ANN], NOW) is root


def test_a_substitute_does_not_pass_the_right_on() -> None:
    # carl is bob's substitute, and bob is ann's: carl gets bob's own rights only.
    lent = lent_person(replace(BOBS, deputy="carl", roles=BOB.roles or frozenset()), None, NOW)
    assert lent is not None
    assert answering_as(question("manager"), Person("acme", "carl", frozenset()), [lent], NOW).user_id == "carl"
