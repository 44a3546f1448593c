"""Flow control to another store: a window of unconfirmed copies, and probes of a silent store."""

from datetime import timedelta

from soorma_ai.features.federation.resending import (
    CONFIRMED_WITHIN,
    PROBED_EVERY,
    WINDOW,
    PeerState,
    confirm,
    hear,
    post,
    room,
)
from soorma_ai.kernel.domain.registry import AGENT_GONE_AFTER
from unit.kit import NOW

SECOND = timedelta(seconds=1)


def test_a_window_is_sent_and_grows_only_with_confirmations() -> None:
    line = post(PeerState(NOW), WINDOW, NOW)
    assert room(PeerState(NOW), NOW) == WINDOW
    assert room(line, NOW + SECOND) == 0
    assert room(confirm(line, 10), NOW + SECOND) == 10
    assert room(confirm(line, 10_000), NOW + SECOND) == WINDOW


def test_unconfirmed_copies_take_no_room_after_ten_seconds() -> None:
    line = post(PeerState(NOW), WINDOW, NOW)
    assert room(line, NOW + CONFIRMED_WITHIN) == WINDOW
    assert post(line, 3, NOW + CONFIRMED_WITHIN).under_way == 3
    assert post(confirm(line, 10), 3, NOW + SECOND).under_way == WINDOW - 10 + 3


def test_a_silent_store_gets_one_probe_a_minute_with_any_backlog() -> None:
    """Ten thousand open requests to a store with an outage of an hour."""
    line, sent, now = PeerState(NOW), 0, NOW
    kept = 10_000
    while now < NOW + timedelta(hours=1):
        if count := min(kept, room(line, now)):
            line, sent = post(line, count, now), sent + count
        now += SECOND
    before = WINDOW * (AGENT_GONE_AFTER // CONFIRMED_WITHIN)
    assert before <= sent <= before + timedelta(hours=1) // PROBED_EVERY


def test_a_store_heard_again_gets_the_whole_window() -> None:
    later = NOW + timedelta(hours=1)
    assert room(PeerState(NOW), later) == 1 and PeerState(NOW).is_silent(later)
    assert room(post(PeerState(NOW), 1, later), later + SECOND) == 0
    assert room(hear(PeerState(NOW), later), later) == WINDOW
