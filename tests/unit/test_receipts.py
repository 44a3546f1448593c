"""Receipts between stores: pauses between copies, content, and the notice of silence."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import asdict

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.features.federation.receipts import (
    MOST_IDS,
    is_over,
    is_receipt,
    pause_before_next,
    read_receipt,
    write_receipts,
)
from soorma_ai.kernel.domain.events import SYSTEM
from soorma_ai.kernel.domain.stores import RECEIPT, REQUEST_UNKNOWN, Confirmation, Receipt, mailbox_of
from soorma_ai.kernel.rules.arrival.arrival import EventTargets, NamedRows, arrive
from soorma_ai.kernel.rules.arrival.effects import Put
from soorma_ai.kernel.rules.arrival.silence import UNKNOWN_AFTER, timer_of_silence, watch
from soorma_ai.kernel.rules.waits.opening import LONGEST_WAIT
from unit.kit import END, HOUR, LINEAGE, NOW, event

REQUEST = event("part.make", id="r-1", topic="action-requests", source="orders", **asdict(LINEAGE))
BOX = Put(mailbox_of("there"), "r-1")


def test_pauses_between_copies_grow_up_to_five_minutes() -> None:
    pauses = [pause_before_next(posts).total_seconds() for posts in range(1, 12)]
    assert pauses[:4] == [2, 4, 8, 16]
    assert pauses == sorted(pauses) and pauses[-1] == 300
    assert pause_before_next(10_000) == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("posts", "at", "is_reply", "wanted"),
    [
        (0, NOW + 2 * HOUR, False, False),
        (1, NOW + HOUR, False, True),
        (1, NOW, False, False),
        (1, NOW + 2 * HOUR, True, False),
        (9, NOW + LONGEST_WAIT, True, True),
    ],
    ids=["never sent", "at its deadline", "before its deadline", "a reply", "a reply after seven days"],
)
def test_a_request_is_sent_again_until_its_deadline_and_a_reply_for_seven_days(
    posts: int, at: Any, is_reply: bool, wanted: bool
) -> None:
    given = REQUEST.model_copy(update={"deadline": NOW + HOUR, "time": NOW})
    assert is_over(given, posts, at, is_reply=is_reply) is wanted


@pytest.mark.parametrize(
    ("deadline", "due"), [(END, NOW + UNKNOWN_AFTER), (NOW + UNKNOWN_AFTER / 2, NOW + UNKNOWN_AFTER / 2)]
)
def test_the_notice_of_silence_is_due_after_five_minutes_or_at_the_deadline(deadline: Any, due: Any) -> None:
    put = watch(BOX, REQUEST.model_copy(update={"deadline": deadline}), NOW)
    assert put.timer is not None and (put.agent, put.timer.guards) == (BOX.agent, None)
    told = put.timer.event
    assert (put.timer.id, put.timer.due, told.time) == (timer_of_silence("there", "r-1"), due, due)
    assert (told.type, told.source, told.causation_id, told.answers) == (REQUEST_UNKNOWN, SYSTEM, "r-1", None)
    assert told.correlation_id is None, "a notice meets no expectation"
    assert (told.plan_id, told.data["store"], told.data["status"]) == (LINEAGE.plan_id, "there", "unknown")


def test_no_timer_is_set_for_an_agent_of_this_store() -> None:
    assert watch(Put("worker", "r-1"), REQUEST, NOW) == Put("worker", "r-1")


def test_a_request_in_a_mailbox_sets_its_timer_of_silence() -> None:
    near, far = arrive(EventTargets((Put("worker", "r-1"), BOX)), NamedRows(), REQUEST, NOW)
    assert isinstance(near, Put) and near.timer is None
    assert isinstance(far, Put) and far.timer is not None


def test_receipts_are_one_event_for_each_store_and_tenant() -> None:
    confirmed = [
        Confirmation("a", "acme", "r-1"),
        Confirmation("a", "acme", "r-2", "too late" * 100),
        Confirmation("a", "globex", "r-3"),
        Confirmation("b", "acme", "r-4"),
    ]
    sent = write_receipts(confirmed, NOW, "new")
    assert [(store, said.tenant_id) for store, said in sent] == [("a", "acme"), ("a", "globex"), ("b", "acme")]
    first = read_receipt(sent[0][1])
    assert first.taken == ("r-1",) and len(first.refused["r-2"]) <= 200
    assert [read_receipt(said) for _, said in sent[1:]] == [Receipt(("r-3",)), Receipt(("r-4",))]
    assert all(is_receipt(said) for _, said in sent) and not is_receipt(REQUEST)


@pytest.mark.parametrize(
    ("topic", "data"),
    [
        ("business-facts", {"taken": ["r-1"]}),
        ("system-events", {"taken": "r-1"}),
        ("system-events", {"taken": [1]}),
        ("system-events", {"refused": {"r-1": None}}),
        ("system-events", {"taken": [str(number) for number in range(MOST_IDS + 1)]}),
    ],
    ids=["another topic", "text", "numbers", "no reason", "too many"],
)
def test_an_invalid_receipt_is_refused(topic: str, data: Any) -> None:
    with pytest.raises(RemoteProtocolError, match="not a receipt"):
        read_receipt(event(RECEIPT, topic=topic).model_copy(update={"data": data}))
