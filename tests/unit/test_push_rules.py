"""Course of a push: states are noted once and in order, and messages are posted one by one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from soorma_ai.features.push.records import TaskPush
from soorma_ai.features.push.rules import MOST_PENDING, is_done, next_message, note_failure, note_receipt, note_state

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PUSH = TaskPush("default", "ann", "t", "c", "a2a", "https://example.com", NOW)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def bodies(*found: str) -> Callable[[], list[str]]:
    return lambda: [*found]


def test_a_state_is_noted_once_and_none_behind_the_last() -> None:
    noted = note_state(PUSH, "working", bodies("a"), is_final=False)
    assert note_state(noted, "working", bodies("b"), is_final=False) is noted
    over = note_state(noted, "completed", bodies("c", "d"), is_final=True)
    assert [(one.number, one.body) for one in over.pending] == [(1, "a"), (2, "c"), (3, "d")]
    assert note_state(over, "failed", bodies("e"), is_final=True) is over


def test_a_message_is_next_until_its_receipt_and_rests_after_a_failure() -> None:
    push = note_state(PUSH, "completed", bodies("a", "b"), is_final=True)
    first = next_message(push, NOW)
    assert first == push.pending[0]
    rests = note_failure(push, [SECOND, MINUTE], NOW)
    assert rests is not None
    assert (next_message(rests, NOW), next_message(rests, NOW + SECOND)) == (None, first)
    again = note_failure(rests, [SECOND, MINUTE], NOW)
    assert again is not None and again.post_at == NOW + MINUTE
    assert note_failure(again, [SECOND, MINUTE], NOW) is None
    received = note_receipt(again)
    assert (received.failures, next_message(received, NOW)) == (0, push.pending[1])
    assert (is_done(received), is_done(note_receipt(received))) == (False, True)


def test_a_full_push_notes_the_present_state_when_there_is_room() -> None:
    full = note_state(PUSH, "0", bodies(*["x"] * MOST_PENDING), is_final=False)
    assert note_state(full, "1", bodies("y"), is_final=False) is full
    assert note_state(note_receipt(full), "2", bodies("z"), is_final=False).pending[-1].number == MOST_PENDING + 1


def test_messages_of_two_pushes_and_of_a_new_beginning_have_ids_of_their_own() -> None:
    others = [replace(PUSH, user_id="bob"), replace(PUSH, push_id="d"), replace(PUSH, begun_at=NOW + SECOND)]
    assert len({one.message_id(1) for one in (PUSH, *others)} | {PUSH.message_id(2)}) == 5
