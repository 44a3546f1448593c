"""Course of a push: states noted in order, messages posted one by one."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.features.push.records import PushMessage, TaskPush

# With so many messages without a receipt, states are noted no more: the present one is, when there is room.
MOST_PENDING = 100


def note_state(push: TaskPush, mark: str, make: Callable[[], Sequence[str]], *, is_final: bool) -> TaskPush:
    """Return the push with the messages of a new state, as `make` makes them; the same push for a noted one."""
    if push.is_over or mark == push.mark or len(push.pending) >= MOST_PENDING:
        return push
    bodies = make()
    numbered = (PushMessage(push.number + place, body) for place, body in enumerate(bodies, 1))
    return replace(
        push, mark=mark, number=push.number + len(bodies), pending=(*push.pending, *numbered), is_over=is_final
    )


def next_message(push: TaskPush, now: datetime) -> PushMessage | None:
    """Return the message to be posted now; None without one, and in a pause."""
    if not push.pending or (push.post_at is not None and push.post_at > now):
        return None
    return push.pending[0]


def note_receipt(push: TaskPush) -> TaskPush:
    return replace(push, pending=push.pending[1:], failures=0, post_at=None)


def note_failure(push: TaskPush, pauses: Sequence[timedelta], now: datetime) -> TaskPush | None:
    """Return the push in its next pause; None after the last one."""
    if push.failures >= len(pauses):
        return None
    return replace(push, failures=push.failures + 1, post_at=now + pauses[push.failures])


def is_done(push: TaskPush) -> bool:
    """Tell whether nothing is left to post, now or later."""
    return push.is_over and not push.pending
