"""What stores say of their agents, and what others take of that."""

from datetime import timedelta
from typing import Any

import pytest
from contract.store_kit import PAID, agent
from msgspec.structs import replace

from soorma_ai.features.federation.announcements import (
    MOST_AGENTS,
    AnnouncementOutcome,
    KnownAgent,
    announce,
    describe_outside,
    hear,
)
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventTopic
from soorma_ai.kernel.domain.registry import (
    AGENT_GONE_AFTER,
    AgentCapability,
    EventDefinition,
    EventRole,
    Registration,
    Subscription,
)
from soorma_ai.kernel.domain.stores import AnnouncedAgent, Announcement, mailbox_of

ASKED = EventDefinition(event_name="work.asked")
HELD = EventDefinition(event_name="work.asked", approval=Approval(approvers=("boss",)), irreversible=True)
SILENT = timedelta(seconds=30)


def tool(name: str = "tool", **changes: Any) -> Registration:
    return replace(agent(name, "work.asked", events=((EventRole.TAKES, ASKED),)), **changes)


def said(
    *living: Registration, tenant: str | None = None, left: tuple[str, ...] = (), silent: timedelta = SILENT
) -> Announcement:
    return Announcement("there", tenant, tuple(AnnouncedAgent(one, silent) for one in living), left)


def taken(heard: AnnouncementOutcome) -> list[str]:
    return [one.registration.agent for one in (*heard.registered, *heard.alive)]


# What is said


def test_only_the_requests_that_an_agent_takes_are_told() -> None:
    events = (
        (EventRole.TAKES, ASKED),
        (EventRole.TAKES_AS_GOAL, EventDefinition(event_name="goal.given")),
        (EventRole.MAKES, PAID),
        (EventRole.TAKES, PAID),
    )
    told = describe_outside(agent("all", "work.asked", "goal.given", "*", events=events))
    assert told is not None
    assert told.events == ((EventRole.TAKES, ASKED),)
    assert told.subscriptions == (Subscription(EventTopic.ACTION_REQUESTS, "work.asked"),)


@pytest.mark.parametrize("events", [(), ((EventRole.MAKES, PAID),), ((EventRole.TAKES, PAID),)])
def test_an_agent_that_takes_no_request_is_not_told_of(events: tuple[tuple[EventRole, EventDefinition], ...]) -> None:
    assert describe_outside(agent("ear", "*", events=events)) is None


def test_who_must_approve_is_not_told_since_they_are_asked_where_it_lives() -> None:
    able = AgentCapability(task_name="working", consumed_event=HELD, produced_events=(PAID,))
    told = describe_outside(tool(events=((EventRole.TAKES, HELD),), capabilities=(able, "by name only")))
    assert told is not None
    ((_, definition),) = told.events
    assert (definition.approval, definition.irreversible) == (None, False)
    described, named = told.capabilities
    assert isinstance(described, AgentCapability) and named == "by name only"
    assert (described.consumed_event.approval, described.produced_events) == (None, ())


def test_each_tenant_has_an_announcement_of_its_own_and_agents_of_others_are_not_ours_to_announce() -> None:
    known = [(tool("shared"), SILENT), (tool("ours", tenant_id="acme"), SILENT), (tool("far", store="far"), SILENT)]
    found = announce("here", known, [tool("gone", tenant_id="acme"), tool("far too", store="far")], asks=True)
    assert {one.tenant_id: ([a.registration.agent for a in one.living], one.left) for one in found} == {
        None: (["shared"], ()),
        "acme": (["ours@acme"], ("gone@acme",)),
    }
    assert all(one.asks and one.store == "here" for one in found)


@pytest.mark.parametrize(("asks", "count"), [(True, 1), (False, 0)])
def test_a_store_without_agents_says_nothing_but_may_ask(asks: bool, count: int) -> None:
    assert len(announce("here", [], asks=asks)) == count


# What is taken


@pytest.mark.parametrize(
    ("known", "is_taken"),
    [
        (None, True),
        (KnownAgent(tool(store="there"), lives=True), True),
        (KnownAgent(tool(store="there"), lives=False), True),
        (KnownAgent(tool(), lives=True), False),
        (KnownAgent(tool(), lives=False), False),
        (KnownAgent(tool(store="earlier"), lives=True), False),
        (KnownAgent(tool(store="earlier"), lives=False), True),
    ],
    ids=["new", "known", "back", "here", "here and silent", "of an earlier store", "of one that is gone"],
)
def test_a_name_is_whose_it_was_first(known: KnownAgent | None, is_taken: bool) -> None:
    heard = hear(said(tool()), {"tool": known} if known else {}, 0)
    assert (taken(heard), [name for name, _ in heard.refused]) == ((["tool"], []) if is_taken else ([], ["tool"]))


@pytest.mark.parametrize("name", ["", CLIENT, SYSTEM, mailbox_of("here")])
def test_nobody_is_called_as_no_agent_can_be(name: str) -> None:
    heard = hear(said(tool(name)), {}, 0)
    assert (taken(heard), len(heard.refused)) == ([], 1)


@pytest.mark.parametrize(
    ("tenant", "of", "is_taken"),
    [
        (None, None, True),
        ("acme", "acme", True),
        ("acme", "globex", False),
        ("acme", None, False),
        (None, "acme", False),
    ],
)
def test_an_agent_is_of_the_tenant_that_it_is_announced_for(tenant: str | None, of: str | None, is_taken: bool) -> None:
    assert bool(taken(hear(said(tool(tenant_id=of), tenant=tenant), {}, 0))) is is_taken


@pytest.mark.parametrize("claimed", ["", "here", "elsewhere"])
def test_an_agent_lives_in_the_store_that_announces_it_whatever_it_says(claimed: str) -> None:
    (one,) = hear(said(tool(store=claimed)), {}, 0).registered
    assert one.registration.store == "there"


def test_what_should_not_have_been_said_is_not_taken() -> None:
    (one,) = hear(said(tool(events=((EventRole.TAKES, HELD), (EventRole.MAKES, PAID)))), {}, 0).registered
    assert one.registration == tool(store="there")


@pytest.mark.parametrize(
    ("silent", "expected"), [(timedelta(-9), [timedelta(0)]), (SILENT, [SILENT]), (AGENT_GONE_AFTER, [])]
)
def test_silence_counts_from_when_it_began_and_one_that_is_gone_is_none(
    silent: timedelta, expected: list[timedelta]
) -> None:
    assert [one.silent for one in hear(said(tool(), silent=silent), {}, 0).registered] == expected


def test_one_that_is_as_it_was_is_alive_and_no_more() -> None:
    before = tool(store="there")
    heard = hear(said(tool()), {"tool": KnownAgent(before, lives=True)}, 0)
    assert (heard.registered, [one.registration for one in heard.alive]) == ([], [before])
    changed = hear(said(tool(description="more")), {"tool": KnownAgent(before, lives=True)}, 0)
    assert (len(changed.registered), changed.alive) == (1, [])


@pytest.mark.parametrize(
    ("known", "tenant", "left"),
    [
        (tool(store="there"), None, ["tool"]),
        (tool(store="there"), "acme", []),
        (tool(store="other"), None, []),
        (tool(), None, []),
    ],
)
def test_a_store_lets_its_own_leave_alone(known: Registration, tenant: str | None, left: list[str]) -> None:
    gone = hear(said(tenant=tenant, left=("tool", "nobody")), {"tool": KnownAgent(known, lives=True)}, 0)
    assert gone.left == left


def test_a_store_has_so_many_agents_and_no_more() -> None:
    known = {"old": KnownAgent(tool("old", store="there"), lives=False)}
    heard = hear(said(tool("one"), tool("two"), tool("old")), known, MOST_AGENTS - 1)
    assert (taken(heard), [name for name, _ in heard.refused]) == (["one", "old"], ["two"])
