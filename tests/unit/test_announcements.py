"""Announcements between stores: the agents described outside, and the agents accepted from a neighbour."""

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


def announcement(
    *living: Registration, tenant: str | None = None, left: tuple[str, ...] = (), silent: timedelta = SILENT
) -> Announcement:
    return Announcement("there", tenant, tuple(AnnouncedAgent(one, silent) for one in living), left)


def accepted_agents(heard: AnnouncementOutcome) -> list[str]:
    return [one.registration.agent for one in (*heard.registered, *heard.alive)]


# Announcements sent


def test_an_announcement_names_only_the_requests_an_agent_takes() -> None:
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
def test_an_agent_without_requests_is_not_announced(events: tuple[tuple[EventRole, EventDefinition], ...]) -> None:
    assert describe_outside(agent("ear", "*", events=events)) is None


def test_an_announcement_leaves_out_approvers_since_the_home_store_asks_them() -> None:
    able = AgentCapability(task_name="working", consumed_event=HELD, produced_events=(PAID,))
    told = describe_outside(tool(events=((EventRole.TAKES, HELD),), capabilities=(able, "by name only")))
    assert told is not None
    ((_, definition),) = told.events
    assert (definition.approval, definition.irreversible) == (None, False)
    described, named = told.capabilities
    assert isinstance(described, AgentCapability) and named == "by name only"
    assert (described.consumed_event.approval, described.produced_events) == (None, ())


def test_each_tenant_has_one_announcement_and_agents_of_other_stores_are_left_out() -> None:
    known = [(tool("shared"), SILENT), (tool("ours", tenant_id="acme"), SILENT), (tool("far", store="far"), SILENT)]
    found = announce("here", known, [tool("gone", tenant_id="acme"), tool("far too", store="far")], asks=True)
    assert {one.tenant_id: ([a.registration.agent for a in one.living], one.left) for one in found} == {
        None: (["shared"], ()),
        "acme": (["ours@acme"], ("gone@acme",)),
    }
    assert all(one.asks and one.store == "here" for one in found)


@pytest.mark.parametrize(("asks", "count"), [(True, 1), (False, 0)])
def test_a_store_without_agents_announces_only_to_ask(asks: bool, count: int) -> None:
    assert len(announce("here", [], asks=asks)) == count


# Announcements received


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
    ids=["new", "known", "back", "here", "here and silent", "of an earlier store", "of a silent earlier store"],
)
def test_a_name_stays_with_its_first_store_while_an_agent_lives(known: KnownAgent | None, is_taken: bool) -> None:
    heard = hear(announcement(tool()), {"tool": known} if known else {}, 0)
    assert (accepted_agents(heard), [name for name, _ in heard.refused]) == (
        (["tool"], []) if is_taken else ([], ["tool"])
    )


@pytest.mark.parametrize("name", ["", CLIENT, SYSTEM, mailbox_of("here")])
def test_an_agent_with_a_reserved_name_is_refused(name: str) -> None:
    heard = hear(announcement(tool(name)), {}, 0)
    assert (accepted_agents(heard), len(heard.refused)) == ([], 1)


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
def test_an_agent_of_another_tenant_than_its_announcement_is_not_accepted(
    tenant: str | None, of: str | None, is_taken: bool
) -> None:
    assert bool(accepted_agents(hear(announcement(tool(tenant_id=of), tenant=tenant), {}, 0))) is is_taken


@pytest.mark.parametrize("claimed", ["", "here", "elsewhere"])
def test_the_store_of_an_agent_is_the_announcing_store(claimed: str) -> None:
    (one,) = hear(announcement(tool(store=claimed)), {}, 0).registered
    assert one.registration.store == "there"


def test_approvals_and_made_events_in_an_announcement_are_dropped() -> None:
    (one,) = hear(announcement(tool(events=((EventRole.TAKES, HELD), (EventRole.MAKES, PAID)))), {}, 0).registered
    assert one.registration == tool(store="there")


@pytest.mark.parametrize(
    ("silent", "expected"), [(timedelta(-9), [timedelta(0)]), (SILENT, [SILENT]), (AGENT_GONE_AFTER, [])]
)
def test_silence_is_never_negative_and_an_agent_beyond_the_limit_is_gone(
    silent: timedelta, expected: list[timedelta]
) -> None:
    assert [one.silent for one in hear(announcement(tool(), silent=silent), {}, 0).registered] == expected


def test_an_unchanged_agent_counts_as_alive_and_is_not_registered_again() -> None:
    before = tool(store="there")
    heard = hear(announcement(tool()), {"tool": KnownAgent(before, lives=True)}, 0)
    assert (heard.registered, [one.registration for one in heard.alive]) == ([], [before])
    changed = hear(announcement(tool(description="more")), {"tool": KnownAgent(before, lives=True)}, 0)
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
def test_a_store_removes_only_its_own_agents_of_its_tenant(
    known: Registration, tenant: str | None, left: list[str]
) -> None:
    gone = hear(announcement(tenant=tenant, left=("tool", "nobody")), {"tool": KnownAgent(known, lives=True)}, 0)
    assert gone.left == left


def test_a_store_beyond_the_limit_of_agents_registers_no_new_one() -> None:
    known = {"old": KnownAgent(tool("old", store="there"), lives=False)}
    heard = hear(announcement(tool("one"), tool("two"), tool("old")), known, MOST_AGENTS - 1)
    assert (accepted_agents(heard), [name for name, _ in heard.refused]) == (["one", "old"], ["two"])
