"""Rates of calls, by a bucket of tokens for each caller; bounds on calls in hand and on open streams."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from msgspec import Struct

from soorma_ai.errors import ConfigError, Overloaded, TransientError

MOST_BUCKETS = 10_000
MOST_STREAMS = 2_000
MOST_STREAMS_EACH = 100
MOST_STREAMS_OF_TENANT = 500
MOST_CALLS_OF_TENANT = 1_000
RETRY = timedelta(seconds=10)


class Rate(Struct, frozen=True):
    """Rate of calls: `burst` at once, and after that this number a second."""

    per_second: float = 100.0
    burst: int = 200

    def __post_init__(self) -> None:
        if self.per_second <= 0 or self.burst < 1:
            raise ConfigError(f"Rate({self.per_second}, {self.burst}): give numbers above zero, or no rate at all")


class Buckets:
    """Buckets of the latest callers; a forgotten one begins with a full one."""

    def __init__(self, rate: Rate, most: int = MOST_BUCKETS) -> None:
        self._rate = rate
        self._most = most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now: float) -> timedelta | None:
        """Take a token; return the seconds to wait for one. `now` is in seconds, and never goes back."""
        tokens, at = self._left.pop(key, (float(self._rate.burst), now))
        tokens = min(float(self._rate.burst), tokens + (now - at) * self._rate.per_second)
        is_there = tokens >= 1
        self._left[key] = (tokens - 1 if is_there else tokens, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return None if is_there else timedelta(seconds=(1 - tokens) / self._rate.per_second)

    def __len__(self) -> int:
        return len(self._left)


class CallsInHand:
    """Counter of the calls in hand of each tenant, waiting ones included."""

    def __init__(self, most_of_tenant: int = MOST_CALLS_OF_TENANT) -> None:
        if most_of_tenant < 1:
            raise ConfigError(f"most_calls_of_tenant={most_of_tenant}: give a number above zero")
        self._most_of_tenant = most_of_tenant
        self._of_tenant = Counter[str]()

    @contextmanager
    def hold(self, tenant_id: str) -> Generator[None]:
        """Count a call until the block ends. Raise Overloaded when the tenant has too many."""
        if self._of_tenant[tenant_id] >= self._most_of_tenant:
            raise Overloaded(
                f"{self._most_of_tenant} calls of your tenant are in hand: wait for one to end", retry_after=RETRY
            )
        self._of_tenant[tenant_id] += 1
        try:
            yield
        finally:
            self._of_tenant[tenant_id] -= 1
            if not self._of_tenant[tenant_id]:
                del self._of_tenant[tenant_id]

    def __len__(self) -> int:
        return self._of_tenant.total()


class OpenStreams:
    """Counts the open streams: at most `most` in all, `most_each` of a caller, `most_of_tenant` of a tenant."""

    def __init__(
        self, most: int = MOST_STREAMS, most_each: int = MOST_STREAMS_EACH, most_of_tenant: int = MOST_STREAMS_OF_TENANT
    ) -> None:
        if min(most, most_each, most_of_tenant) < 1:
            raise ConfigError(
                f"most_streams={most}, most_streams_each={most_each}, most_streams_of_tenant={most_of_tenant}: "
                "give numbers above zero"
            )
        self._most = most
        self._most_each = most_each
        self._most_of_tenant = most_of_tenant
        self._open = Counter[str]()
        self._of_tenant = Counter[str]()

    def take(self, key: str, tenant_id: str) -> Callable[[], None]:
        """Count one more, and return the function for its end. Raise Overloaded for too many of the caller or the
        tenant, and TransientError for too many in all."""
        if self._open[key] >= self._most_each:
            raise Overloaded(f"{self._most_each} streams are yours already: close one first", retry_after=RETRY)
        if self._of_tenant[tenant_id] >= self._most_of_tenant:
            raise Overloaded(
                f"{self._most_of_tenant} streams of your tenant are open: close one first", retry_after=RETRY
            )
        if self._open.total() >= self._most:
            raise TransientError(f"{self._most} streams are open: try again later", retry_after=RETRY)
        self._open[key] += 1
        self._of_tenant[tenant_id] += 1
        return partial(self._give_back, key, tenant_id)

    def _give_back(self, key: str, tenant_id: str) -> None:
        for counter, name in ((self._open, key), (self._of_tenant, tenant_id)):
            counter[name] -= 1
            if not counter[name]:
                del counter[name]

    def __len__(self) -> int:
        return self._open.total()
