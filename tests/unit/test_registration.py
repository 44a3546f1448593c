"""Registration, declaration and deregistration of agents and events."""

from datetime import timedelta

import pytest
from contract.store_kit import NOW, agent, later
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.conditions import any_of
from soorma_ai.kernel.domain.registry import AGENT_GONE_AFTER, AgentCapability, EventDefinition, EventRole
from soorma_ai.kernel.domain.stores import mailbox_of
from soorma_ai.kernel.rules.arrival.registration import (
    Needs,
    check_content,
    check_deregistering,
    check_name,
    comes_back,
    content_of,
    definitions_of,
    events_of,
    heirs,
    is_live,
    key_of,
    names_of_its_own,
    with_made,
)

GONE = AGENT_GONE_AFTER.total_seconds()
A, B = EventDefinition(event_name="a", version="1"), EventDefinition(event_name="b", version="1")
OTHER_A = A.model_copy(update={"payload_schema": {"type": "string"}})


@pytest.mark.parametrize(
    ("seconds", "has_left", "live", "back"),
    [(GONE - 1, False, True, False), (GONE, False, False, True), (1, True, False, False), (GONE, True, False, False)],
)
def test_an_agent_lives_by_its_heartbeat_and_returns_after_silence_but_not_after_leaving(
    seconds: float, has_left: bool, live: bool, back: bool
) -> None:
    assert is_live(NOW, later(seconds), has_left=has_left) is live
    assert comes_back(NOW, later(seconds), has_left=has_left) is back


def test_a_version_stands_for_one_content_apart_from_its_description() -> None:
    check_content(agent("two"), A.model_copy(update={"description": "new"}), content_of(A), "one")
    with pytest.raises(ConfigError, match=r"two registers 'a'.*'1'.*than one did.*new version"):
        check_content(agent("two"), OTHER_A, content_of(A), "one")


def test_events_have_one_order_and_those_of_gone_agents_can_be_left_out() -> None:
    first = agent("z", events=((EventRole.TAKES, B), (EventRole.TAKES, A)))
    second = agent("m", events=((EventRole.TAKES, A),))
    for rows in ([(first, True), (second, False)], [(second, False), (first, True)]):
        known = [(one.agent, one.definition.event_name) for one in events_of(rows, [], only_live=False)]
        assert known == [("m", "a"), ("z", "a"), ("z", "b")]
        assert [one.agent for one in events_of(rows, [], only_live=True)] == ["z", "z"]


CFO = Approval(approvers=("cfo",), timeout=timedelta(hours=2))
INTERN = Approval(when="payload.amount > 5", approvers=("intern",))
BIG = Approval(when="payload.amount > 100", approvers=("cfo",))


@pytest.mark.parametrize(
    ("first", "second", "living", "needed"),
    [
        (CFO, INTERN, "pa", CFO),
        (BIG, INTERN, "pa", replace(BIG, when=any_of([BIG.when, INTERN.when]))),
        (BIG, INTERN, "a", replace(BIG, when=any_of([BIG.when, INTERN.when]))),
        (BIG, INTERN, "p", BIG),
        (None, INTERN, "pa", INTERN),
        (CFO, None, "a", CFO),
        (None, None, "pa", None),
    ],
)
def test_the_first_taker_owns_an_event_and_a_later_one_may_only_add_conditions(
    first: Approval | None, second: Approval | None, living: str, needed: Approval | None
) -> None:
    pay, aa = (
        agent(name, events=((EventRole.TAKES, A.model_copy(update={"approval": approval})),))
        for name, approval in (("pay", first), ("aa", second))
    )
    takings = [("pay", "action-requests", "a"), ("aa", "action-requests", "a")]
    found = events_of([(aa, "a" in living), (pay, "p" in living)], takings, only_live=True)
    assert {one.definition.approval for one in found} == {needed}


def test_a_declaration_replaces_a_made_event_and_a_known_one_changes_nothing() -> None:
    one = agent("shop", events=((EventRole.MAKES, A), (EventRole.TAKES, A)))
    assert with_made(one, A) is None
    changed = with_made(one, OTHER_A)
    assert changed == replace(one, events=((EventRole.TAKES, A), (EventRole.MAKES, OTHER_A)))


def test_a_definition_passes_to_another_agent_that_names_it() -> None:
    capable = AgentCapability(task_name="t", consumed_event=A, produced_events=(B,))
    other = replace(agent("heir", tenant="x"), capabilities=(capable, "by name only"))
    assert list(definitions_of(other)) == [A, B]
    assert heirs([other]) == {key_of(other, A): "heir@x", key_of(other, B): "heir@x"}
    assert key_of(other, A) == ("x", "action-requests", "a", "1")
    one = agent("one", events=((EventRole.MAKES, A), (EventRole.MAKES, B)))
    assert names_of_its_own(one, [agent("two", events=((EventRole.TAKES, A),))]) == ["b"]


@pytest.mark.parametrize(
    ("needs", "lives", "why"),
    [
        (Needs(), True, "it lives"),
        (Needs(deliveries=True), False, "deliveries wait"),
        (Needs(tasks=True), False, "it has tasks"),
        (Needs(plan_id="p-1"), False, "plan p-1 is pursued"),
        (Needs(awaited=("p-1", "a")), False, "plan p-1 waits for 'a'"),
    ],
)
def test_an_agent_still_needed_is_not_deregistered(needs: Needs, lives: bool, why: str) -> None:
    with pytest.raises(LocalProtocolError, match=f"shop cannot be deregistered: {why}"):
        check_deregistering("shop", needs, lives=lives)
    check_deregistering("shop", Needs(), lives=False)


def test_no_agent_has_the_name_of_a_mailbox() -> None:
    check_name(agent("stock"))
    with pytest.raises(ConfigError, match="what begins so is for another store; rename it"):
        check_name(replace(agent("stock"), agent=mailbox_of("b")))
