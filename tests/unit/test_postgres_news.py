"""Notifications of a transaction to other processes."""

from datetime import UTC, datetime

import pytest

from soorma_ai.adapters.postgres.notifications import MOST, Notification, join, read, write
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Arrival

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FULL = Arrival(frozenset({"a", "b's"}), stops=frozenset({"p-1"}), answered=frozenset({"q\0", "\u2028"}))
MANY = frozenset(f"{n:040}" for n in range(MOST // 40))


@pytest.mark.parametrize(
    "news", [Notification(), Notification(FULL), Notification(FULL, is_leaving=True), Notification(is_short=True)]
)
def test_a_notification_is_read_by_other_processes_only(news: Notification) -> None:
    assert read(write("1", news), "2") == Notification(news.arrival, news.is_leaving)
    assert read(write("1", news), "1") is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (Arrival(MANY, stops=frozenset({"p"})), Arrival(stops=frozenset({"p"}))),
        (Arrival(frozenset({"a"}), stops=MANY), Arrival(frozenset({"a"}))),
    ],
)
def test_a_notification_too_long_is_shortened_and_marked(given: Arrival, kept: Arrival) -> None:
    written = write("1", Notification(given))
    assert (len(written) < MOST + 50, read(written, "2")) == (True, Notification(kept, is_short=True))


@pytest.mark.parametrize("payload", ["", "7", "{", '["by"]'])
def test_an_unreadable_notification_counts_as_shortened(payload: str) -> None:
    assert read(payload, "2") == Notification(is_short=True)


@pytest.mark.parametrize("payload", ['{"by": "1", "stops": 7, "agents": {"a": 1}}'])
def test_a_notification_of_another_form_is_empty(payload: str) -> None:
    assert read(payload, "2") == Notification()


def test_several_arrivals_join_into_one() -> None:
    reply = EventEnvelope(id="r", source="s", type="t", topic=EventTopic.ACTION_RESULTS, time=NOW)
    one = Arrival(frozenset({"c"}), {"q-2": reply}, stops=frozenset({"p-2"}))
    assert join([FULL, one]) == Arrival(
        FULL.agents | {"c"}, stops=frozenset({"p-1", "p-2"}), answered=FULL.answered | {"q-2"}
    )
