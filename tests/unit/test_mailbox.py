"""Requests between stores: the copy of a request, its reception, its reply."""

from typing import Any

import pytest
from msgspec.structs import asdict

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.features.federation.mailbox import (
    MOST_HOPS,
    copy_of_reply,
    copy_of_request,
    hops_fault,
    id_here,
    is_refusal,
    record_refusal,
    refusal_of_copy,
    take_reply,
    take_request,
)
from soorma_ai.kernel.domain.effects import Expect, Publish, Schedule
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.stores import Home, mailbox_of
from soorma_ai.kernel.rules.waits.opening import LONGEST_WAIT
from unit.kit import END, HOUR, LINEAGE, NOW, event

ASKED = event(
    "part.make",
    id="r-1",
    topic="action-requests",
    source="orders",
    correlation_id="key-1",
    causation_id="c-1",
    response_event="part.made",
    response_topic="action-results",
    unchecked=False,
    own=True,
    size=3,
    **asdict(LINEAGE),
)
REPLIED = event("part.made", id="a-1", source="parts", tenant_id="acme", answers="r-1", success=True)


def take_copy(copy: EventEnvelope = ASKED, sender: str = "home", **changes: Any) -> tuple[Expectation, EventEnvelope]:
    effects = take_request(copy_of_request(copy, 2).model_copy(update=changes), sender, NOW)
    (opened,) = [one.expectation for one in effects if isinstance(one, Expect)]
    (published,) = [one.event for one in effects if isinstance(one, Publish)]
    assert isinstance(effects[0], Expect), "the expectation is first, so a second copy is no second request"
    return opened, published


# The copy of a request


def test_a_copy_keeps_lineage_and_deadline_and_drops_the_requesting_plan() -> None:
    copy = copy_of_request(ASKED, 2)
    kept = ("id", "type", "data", "tenant_id", "user_id", "session_id", "deadline", "traceparent", "response_event")
    assert all(getattr(copy, name) == getattr(ASKED, name) for name in kept)
    gone = ("goal_id", "plan_id", "root_plan_id", "causation_id", "correlation_id", "answers", "unchecked", "own")
    assert [getattr(copy, name) for name in gone] == [None] * len(gone)
    assert (copy.hops, copy.depth) == (1, 2)


@pytest.mark.parametrize(("plan", "before", "after"), [(3, None, 3), (3, 1, 3), (None, 2, 2), (None, None, None)])
def test_a_copy_keeps_the_larger_depth_of_plan_and_request(
    plan: int | None, before: int | None, after: int | None
) -> None:
    assert copy_of_request(ASKED.model_copy(update={"depth": before}), plan).depth == after


@pytest.mark.parametrize(("hops", "may"), [(None, True), (MOST_HOPS - 1, True), (MOST_HOPS, False)])
def test_a_request_from_store_to_store_has_a_limit_of_hops(hops: int | None, may: bool) -> None:
    copy = copy_of_request(ASKED.model_copy(update={"hops": hops}), None)
    assert (hops_fault(copy) == "") is may
    if not may:
        with pytest.raises(RemoteProtocolError, match="store to store"):
            take_request(copy, "home", NOW)


# Reception of a copy


def test_a_copied_request_becomes_a_clients_unchecked_request_for_local_agents() -> None:
    _, request = take_copy()
    assert (request.source, request.unchecked, request.stays, request.answers) == (CLIENT, True, True, None)
    assert request.correlation_id == request.id
    assert (request.user_id, request.session_id, request.deadline, request.depth) == ("ada", "s-1", END, 2)
    assert request.plan_id is request.root_plan_id is request.goal_id is None


def test_the_reply_of_a_copied_request_is_expected_in_the_mailbox_of_its_store() -> None:
    opened, request = take_copy()
    assert (opened.id, opened.kind, opened.agent) == (request.id, ExpectationKind.REPLY, mailbox_of("home"))
    assert (opened.event_type, opened.subject, opened.user_id) == ("part.made", "part.make", "ada")
    assert (opened.home, opened.plan_id, opened.deadline) == (Home("home", "r-1"), None, END)


def test_a_copied_requests_id_is_derived_from_its_store_tenant_and_id() -> None:
    ids = {take_copy(sender=sender)[1].id for sender in ("home", "other")}
    ids |= {take_copy(id="r-2")[1].id, take_copy(sender="other", id="r-2")[1].id}
    ids.add(take_copy(tenant_id="globex")[1].id)
    assert len(ids) == 5 and ASKED.id not in ids
    assert take_copy()[1].id == take_copy()[1].id


@pytest.mark.parametrize("deadline", [None, NOW + LONGEST_WAIT + HOUR])
def test_a_copied_request_waits_no_longer_than_the_longest_local_wait(deadline: object) -> None:
    opened, request = take_copy(deadline=deadline)
    assert opened.deadline == request.deadline == NOW + LONGEST_WAIT


def test_a_copied_request_expires_at_its_deadline() -> None:
    effects = take_request(copy_of_request(ASKED, None), "home", NOW)
    (timer,) = [one for one in effects if isinstance(one, Schedule)]
    assert timer.due == END


@pytest.mark.parametrize("address", [{"response_topic": "plan-events"}, {"response_event": "notification.human_input"}])
def test_a_reply_address_reserved_for_the_platform_is_refused(address: dict[str, str]) -> None:
    with pytest.raises(RemoteProtocolError, match="only the platform"):
        take_request(EventEnvelope.model_validate(ASKED.model_dump() | address), "home", NOW)


@pytest.mark.parametrize("topic", ["business-facts", "notification-events", "system-events"])
def test_a_copied_fact_or_notice_is_refused(topic: str) -> None:
    with pytest.raises(RemoteProtocolError, match="no request"):
        take_copy(topic=topic)


def test_a_copied_request_with_a_platform_type_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="only the platform"):
        take_copy(type="notification.human_input")


def test_a_copied_request_at_its_deadline_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="after its deadline"):
        take_copy(deadline=NOW)


def test_a_refusal_is_recorded_under_the_id_of_later_copies() -> None:
    copy = copy_of_request(ASKED, 2)
    (recorded,) = [one.expectation for one in record_refusal(copy, "home", NOW) if isinstance(one, Expect)]
    assert recorded.id == take_copy()[0].id == id_here(copy, "home")
    assert recorded.status is ExpectationStatus.CLOSED and is_refusal(recorded)
    assert not is_refusal(take_copy()[0])


# The copy of a reply


def test_a_copied_reply_names_the_request_by_its_id_in_the_requesting_store() -> None:
    _, request = take_copy()
    given = REPLIED.model_copy(update={"answers": request.id, "correlation_id": request.id, "plan_id": "theirs"})
    copy = copy_of_reply(given, Home("home", "r-1"))
    assert (copy.answers, copy.correlation_id, copy.plan_id) == ("r-1", None, None)
    short = refusal_of_copy(copy, "too large")
    assert short.data["error"] == {"code": "cannot_arrive", "message": "too large"}
    assert short.answers == "r-1"


# Reception of a reply


def test_a_received_reply_has_its_agent_as_source_and_the_lineage_of_the_request() -> None:
    reply = take_reply(REPLIED, "there", "there", ASKED)
    assert reply is not None
    assert (reply.source, reply.answers, reply.correlation_id, reply.causation_id) == ("parts", "r-1", "key-1", "r-1")
    assert (reply.type, reply.data, reply.lineage) == ("part.made", REPLIED.data, ASKED.lineage)
    assert reply.id != REPLIED.id and reply == take_reply(REPLIED, "there", "there", ASKED)
    other = take_reply(REPLIED, "other", "other", ASKED)
    assert other is not None and other.id != reply.id


def test_a_platform_reply_of_another_store_has_its_mailbox_as_source() -> None:
    reply = take_reply(REPLIED.model_copy(update={"source": SYSTEM}), "there", None, ASKED)
    assert reply is not None and reply.source == mailbox_of("there")


@pytest.mark.parametrize("lives_in", [None, "", "other"], ids=["unknown", "here", "in another store"])
def test_a_reply_of_an_agent_of_another_store_is_refused(lives_in: str | None) -> None:
    with pytest.raises(RemoteProtocolError, match="does not live there"):
        take_reply(REPLIED, "there", lives_in, ASKED)


@pytest.mark.parametrize(
    "changes", [{"type": "notification.human_input"}, {"type": "part.lost"}, {"topic": "notification-events"}]
)
def test_a_reply_of_an_unexpected_type_or_topic_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RemoteProtocolError, match="answers no"):
        take_reply(EventEnvelope.model_validate(REPLIED.model_dump() | changes), "there", "there", ASKED)


def test_a_reply_of_another_tenant_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="another tenant"):
        take_reply(REPLIED.model_copy(update={"tenant_id": "globex"}), "there", "there", ASKED)


@pytest.mark.parametrize("asked", [None, event("order.placed", id="r-1", topic="business-facts", tenant_id="acme")])
def test_a_reply_to_an_erased_request_is_dropped(asked: EventEnvelope | None) -> None:
    assert take_reply(REPLIED, "there", "there", asked) is None
