"""Claims and assignments of questions: allowed people, duration, end."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.features.human_tasks.claims import (
    LASTS,
    assign_fault,
    claim_fault,
    current_claim,
    make_claim,
    not_open_fault,
    roles_of_person,
)
from soorma_ai.features.human_tasks.records import Claim, Colleague
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.identity import ApiKey
from unit.kit import HOUR, NOW, gate

ASK = gate().ask
assert ASK is not None
ASKED = gate("open", ask=replace(ASK, approvers=("manager",)))
ANNS = Claim("x-1", "acme", "ann", NOW, NOW + HOUR)
KEY = ApiKey("k-1", "ab" * 32, "acme", "bob", NOW, frozenset({"manager"}))
SEEN = Colleague("acme", "bob", frozenset({"clerk"}), NOW)


@pytest.mark.parametrize(
    ("found", "who", "insists", "fault"),
    [
        (None, "ann", False, ""),
        (ANNS, "ann", False, ""),
        (ANNS, "bob", False, "ann is the assignee until 2026-03-01T13:00:00+00:00"),
        (ANNS, "bob", True, ""),
    ],
)
def test_a_claim_blocks_other_claims_unless_they_insist(
    found: Claim | None, who: str, insists: bool, fault: str
) -> None:
    said = claim_fault(ASKED, found, who, NOW, insists=insists)
    assert said.startswith(fault) and bool(said) is bool(fault)


@pytest.mark.parametrize(("after", "lasts"), [(timedelta(0), True), (HOUR - timedelta(1e-6), True), (HOUR, False)])
def test_a_claim_ends_by_itself(after: timedelta, lasts: bool) -> None:
    assert (current_claim(ANNS, NOW + after) is ANNS) is lasts
    assert current_claim(None, NOW) is None


@pytest.mark.parametrize(
    ("deadline", "until"), [(None, NOW + LASTS), (NOW + 2 * LASTS, NOW + LASTS), (NOW + LASTS / 2, NOW + LASTS / 2)]
)
def test_a_claim_lasts_no_longer_than_its_question(deadline: datetime | None, until: datetime) -> None:
    made = make_claim(replace(ASKED, deadline=deadline), "bob", NOW, "ann")
    assert made == Claim(ASKED.id, "acme", "bob", NOW, until, "ann")


CLOSED: dict[str, dict[str, Any]] = {
    "answered": {"status": ExpectationStatus.MET},
    "over": {"deadline": NOW},
    "withdrawn": {"status": ExpectationStatus.CLOSED},
}


@pytest.mark.parametrize("changes", CLOSED.values(), ids=CLOSED)
def test_a_closed_question_is_neither_claimed_nor_assigned(changes: dict[str, Any]) -> None:
    closed = replace(ASKED, **changes)
    assert not_open_fault(closed, NOW) and not not_open_fault(ASKED, NOW)
    assert claim_fault(closed, None, "ann", NOW, insists=True) == not_open_fault(closed, NOW)
    assert assign_fault(closed, "bob", frozenset({"manager"}), NOW) == not_open_fault(closed, NOW)


@pytest.mark.parametrize(
    ("approvers", "known_as", "fault"),
    [
        (("manager",), frozenset({"manager", "clerk"}), ""),
        (("manager",), frozenset({"clerk"}), "bob has clerk; one of manager must answer"),
        (("manager",), frozenset[str](), "bob has no role"),
        (("manager",), None, "the roles of bob are not known here"),
        ((), None, ""),
    ],
)
def test_a_question_is_assigned_only_to_a_person_known_to_have_an_approver_role(
    approvers: tuple[str, ...], known_as: frozenset[str] | None, fault: str
) -> None:
    assert ASKED.ask is not None
    asked = replace(ASKED, ask=replace(ASKED.ask, approvers=approvers))
    said = assign_fault(asked, "bob", known_as, NOW)
    assert said.startswith(fault) and bool(said) is bool(fault)


@pytest.mark.parametrize(
    ("keys", "seen", "roles"),
    [
        ([], None, None),
        ([replace(KEY, user_id="eve")], None, None),
        ([KEY], None, {"manager"}),
        ([KEY], SEEN, {"manager", "clerk"}),
        ([replace(KEY, revoked_at=NOW)], SEEN, {"clerk"}),
        ([replace(KEY, expires_at=NOW)], None, None),
    ],
)
def test_a_persons_known_roles_come_from_valid_keys_and_the_last_login(
    keys: list[ApiKey], seen: Colleague | None, roles: set[str] | None
) -> None:
    assert roles_of_person(keys, seen, "bob", NOW) == roles
