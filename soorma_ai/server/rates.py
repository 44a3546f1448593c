"""How often somebody may call: a bucket of tokens each, which fills as time goes on."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta

from soorma_ai.errors import ConfigError

MOST_BUCKETS = 10_000


@dataclass(frozen=True)
class Rate:
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
