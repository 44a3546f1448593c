"""The rate at which events are sent to another store again. A receipt makes room for another event, and a silent store
gets a probe a minute."""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.registry import AGENT_GONE_AFTER

WINDOW = 64
# A post that is not confirmed by then takes no room any more.
CONFIRMED_WITHIN = timedelta(seconds=10)
PROBED_EVERY = timedelta(minutes=1)


class PeerState(Struct, frozen=True):
    """The state of one store. `heard_at` is when it said anything last, `under_way` posts that are not confirmed, and
    `posted_at` the time of the last of them."""

    heard_at: datetime
    under_way: int = 0
    posted_at: datetime | None = None

    def is_silent(self, now: datetime) -> bool:
        return now - self.heard_at >= AGENT_GONE_AFTER


def room(line: PeerState, now: datetime) -> int:
    """Return how much may be sent again now."""
    since = now - line.posted_at if line.posted_at is not None else None
    if line.is_silent(now):
        return int(since is None or since >= PROBED_EVERY)
    under_way = 0 if since is None or since >= CONFIRMED_WITHIN else line.under_way
    return max(0, WINDOW - under_way)


def post(line: PeerState, count: int, now: datetime) -> PeerState:
    """Return the state after so much was sent again."""
    is_over = line.posted_at is None or now - line.posted_at >= CONFIRMED_WITHIN
    return replace(line, under_way=count + (0 if is_over else line.under_way), posted_at=now)


def confirm(line: PeerState, count: int) -> PeerState:
    return replace(line, under_way=max(0, line.under_way - count))


def hear(line: PeerState, now: datetime) -> PeerState:
    return replace(line, heard_at=now)
