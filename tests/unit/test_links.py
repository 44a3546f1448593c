"""Signed links for one person's answer to one question."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.features.human_tasks.links import (
    LONGEST,
    begin_at,
    link_fault,
    maker_fault,
    narrow,
    revocation,
    subject_fault,
)
from soorma_ai.features.human_tasks.records import Link, MadeLink
from soorma_ai.gateways.user_agent import Links
from soorma_ai.kernel.domain.people import Person
from unit.kit import gate

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LINKS = Links("a secret of at least 32 characters", "https://soorma.example.com/")
ANN = Link("question", "w-1", "acme", "ann", frozenset({"manager", "clerk"}), NOW, NOW + HOUR)
TOKEN = LINKS.token(ANN)
ASK = gate().ask
assert ASK is not None
ASKED = gate("open", ask=replace(ASK, approvers=("manager",)))


def test_a_link_names_its_person_and_its_subject() -> None:
    assert LINKS.read(TOKEN, NOW) == ANN
    assert LINKS.url(ANN) == f"https://soorma.example.com/v1/answers/{TOKEN}"
    assert LINKS.path(replace(ANN, kind="plan")).startswith("/queue/")


@pytest.mark.parametrize("later", [HOUR, timedelta(days=400)])
def test_a_link_expires(later: timedelta) -> None:
    with pytest.raises(Unauthenticated, match="has ended"):
        LINKS.read(TOKEN, NOW + later)


@pytest.mark.parametrize(
    "token", ["", ".", "x.y", TOKEN[:-1], TOKEN[1:], TOKEN.replace(".", ""), f"{TOKEN}é", TOKEN.partition(".")[0] + "."]
)
def test_a_changed_link_is_refused(token: str) -> None:
    with pytest.raises(Unauthenticated):
        LINKS.read(token, NOW)


def test_a_link_signed_with_another_secret_is_refused() -> None:
    other = Links("another secret of 32 characters, or more", LINKS.base_url)
    with pytest.raises(Unauthenticated, match="not one of ours"):
        LINKS.read(other.token(ANN), NOW)


def test_a_short_secret_is_a_config_error_and_no_secret_is_printed() -> None:
    with pytest.raises(ConfigError, match="32"):
        Links("short", "https://x")
    assert "secret of" not in repr(LINKS)


MAKERS: dict[str, tuple[Person, dict[str, Any], str]] = {
    "the root, for any person": (Person("acme", "local"), {}, ""),
    "oneself": (Person("acme", "ann", frozenset({"manager", "clerk", "other"})), {}, ""),
    "oneself with a missing role": (Person("acme", "ann", frozenset({"clerk"})), {}, "has no role manager"),
    "another": (Person("acme", "eve", frozenset({"manager", "clerk"})), {}, "for themselves only"),
    "another, as operator": (Person("acme", "eve", frozenset({"operator"})), {"roles": frozenset()}, "themselves only"),
}


@pytest.mark.parametrize(("maker", "changes", "fault"), MAKERS.values(), ids=MAKERS)
def test_a_person_makes_links_for_themselves_with_own_roles_and_the_root_for_others(
    maker: Person, changes: dict[str, Any], fault: str
) -> None:
    found = maker_fault(replace(ANN, **changes), maker)
    assert fault in found and bool(found) is bool(fault)


@pytest.mark.parametrize(
    ("changes", "of_question", "fault"),
    [
        ({}, {}, ""),
        ({"roles": frozenset({"clerk"})}, {}, "ann has clerk; one of manager must answer"),
        ({"until": NOW}, {}, "lasts on from now"),
        ({"until": NOW + LONGEST + HOUR}, {}, "30 days at most"),
        ({}, {"deadline": NOW}, "not open any more"),
    ],
)
def test_a_link_needs_an_open_question_its_person_may_answer(
    changes: dict[str, Any], of_question: dict[str, Any], fault: str
) -> None:
    found = link_fault(replace(ANN, **changes), replace(ASKED, **of_question), NOW)
    assert fault in found and bool(found) is bool(fault)


def test_a_link_carries_only_the_roles_its_question_needs() -> None:
    roles = frozenset({"manager", "operator", "clerk"})
    assert narrow(roles, ASKED) == {"manager"}
    assert narrow(roles, None) == {"manager", "clerk"}


@pytest.mark.parametrize(
    ("revoked", "made_later", "is_listed", "is_good"),
    [
        (None, 0, True, True),
        (1, 0, True, False),
        (-1, 0, True, True),
        (None, 1, True, False),
        (None, 1, False, True),
        (1, 0, False, False),
    ],
)
def test_a_revoked_or_replaced_link_is_refused(
    revoked: int | None, made_later: int, is_listed: bool, is_good: bool
) -> None:
    listed = replace(ANN, made_at=NOW + made_later * HOUR)
    found = MadeLink(listed, "root", None if revoked is None else NOW + revoked * HOUR)
    assert (revocation(ANN, found, is_listed=is_listed) == "") is is_good


def test_a_listed_link_ends_with_its_row() -> None:
    assert "revoked" in revocation(ANN, None, is_listed=True)
    assert revocation(ANN, None, is_listed=False) == ""


@pytest.mark.parametrize("ago", [None, timedelta(0), timedelta(microseconds=300), HOUR, -HOUR])
def test_a_new_link_is_valid_despite_a_revocation_at_the_same_moment(ago: timedelta | None) -> None:
    now = NOW + timedelta(microseconds=5_700)
    found = MadeLink(ANN, "root", None if ago is None else now - ago)
    made = replace(ANN, made_at=begin_at(found, now))
    assert revocation(made, replace(found, link=made), is_listed=True) == ""
    assert made.made_at.microsecond % 1000 == 0 and (ago == -HOUR or made.made_at - now < timedelta(milliseconds=2))
    assert (revocation(ANN, replace(found, link=made), is_listed=False) == "") is (ago is None or ago == HOUR)


@pytest.mark.parametrize(
    ("kind", "about", "user_id", "fault"),
    [
        ("question", "w-1", "ann", ""),
        ("inbox", "", "ann", ""),
        ("answer", "w-1", "ann", "'answer' is nothing that a link opens: there are question, plan, inbox"),
        ("inbox", "w-1", "ann", "not about 'w-1'"),
        ("plan", "p-1", "", "'' is not a name"),
        ("plan", "p-1", "an\u202en", "is not a name"),
    ],
)
def test_a_link_has_one_of_three_kinds_and_a_named_person(kind: str, about: str, user_id: str, fault: str) -> None:
    found = subject_fault(kind, about, user_id)
    assert fault in found and bool(found) is bool(fault)
