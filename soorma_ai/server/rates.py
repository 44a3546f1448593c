"""How often somebody may call, by a bucket of tokens each, which fills as time goes on; and how many streams they may
hold open."""

from collections import Counter, OrderedDict
from datetime import timedelta

from msgspec import Struct

from soorma_ai.errors import ConfigError, Overloaded, TransientError

MOST_BUCKETS = 10_000
MOST_STREAMS = 2_000
MOST_STREAMS_EACH = 100
RETRY = timedelta(seconds=10)


class Rate(Struct, frozen=True):
    """`burst` calls at once, and after that so many a second."""

    per_second: float = 100.0
    burst: int = 200

    def __post_init__(self) -> None:
        if self.per_second <= 0 or self.burst < 1:
            raise ConfigError(f"Rate({self.per_second}, {self.burst}): give numbers above zero, or no rate at all")


class Buckets:
    """The buckets of those who called last; whoever is forgotten begins with a full one."""

    def __init__(self, rate: Rate, most: int = MOST_BUCKETS) -> None:
        self._rate = rate
        self._most = most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now: float) -> timedelta | None:
        """Take a token; return how long to wait where there is none. `now` is in seconds, and never goes back."""
        tokens, at = self._left.pop(key, (float(self._rate.burst), now))
        tokens = min(float(self._rate.burst), tokens + (now - at) * self._rate.per_second)
        is_there = tokens >= 1
        self._left[key] = (tokens - 1 if is_there else tokens, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return None if is_there else timedelta(seconds=(1 - tokens) / self._rate.per_second)

    def __len__(self) -> int:
        return len(self._left)


class OpenStreams:
    """Counts the streams that are open: of everybody at most `most`, of each caller at most `most_each`."""

    def __init__(self, most: int = MOST_STREAMS, most_each: int = MOST_STREAMS_EACH) -> None:
        if most < 1 or most_each < 1:
            raise ConfigError(f"most_streams={most}, most_streams_each={most_each}: give numbers above zero")
        self._most = most
        self._most_each = most_each
        self._open = Counter[str]()

    def take(self, key: str) -> None:
        """Count one more. Raise Overloaded when too many are theirs, and TransientError when too many are open."""
        if self._open[key] >= self._most_each:
            raise Overloaded(f"{self._most_each} streams are yours already: close one first", retry_after=RETRY)
        if self._open.total() >= self._most:
            raise TransientError(f"{self._most} streams are open: try again later", retry_after=RETRY)
        self._open[key] += 1

    def give_back(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]

    def __len__(self) -> int:
        return self._open.total()
