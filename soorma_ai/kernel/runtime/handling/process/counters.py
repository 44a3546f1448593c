"""Counters of this process since its begin, by tenant."""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from soorma_ai.kernel.domain.decisions import ACTIONS, GIVE_UP
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Disposition, Hold, InDoubt, RetryAfter
from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.ports import Settlement

# Of more, those that were counted last; whoever is forgotten begins anew, as a process does that was started again.
MOST_TENANTS = 1_000


class CounterName(StrEnum):
    COMMITS = "commits"
    LEASES_LOST = "leases_lost"
    MODEL_CALLS = "model_calls"
    TOKENS = "tokens"
    DOLLARS = "dollars"
    UNPRICED = "unpriced"
    DECISIONS = "decisions"
    HTTP = "http"


class CounterMetric(Struct, frozen=True):
    """Metric of a counter, for every form in which it is read: `name` without a prefix, `labels` of its key, `unit` by
    UCUM, and a sentence."""

    name: str
    labels: tuple[str, ...]
    unit: str
    words: str


METRICS: Mapping[CounterName, CounterMetric] = {
    CounterName.COMMITS: CounterMetric(
        "commits", ("outcome",), "{delivery}", "Deliveries that were handled and committed, by how that ended."
    ),
    CounterName.LEASES_LOST: CounterMetric(
        "leases_lost", (), "{delivery}", "Handlings whose lease another had taken before they could commit."
    ),
    CounterName.MODEL_CALLS: CounterMetric("model_calls", (), "{call}", "Calls of models that were paid."),
    CounterName.TOKENS: CounterMetric("tokens", (), "{token}", "Tokens of models, read and written."),
    CounterName.DOLLARS: CounterMetric(
        "cost_dollars", (), "", "US dollars for calls of models, as far as their price is known."
    ),
    CounterName.UNPRICED: CounterMetric(
        "unpriced_calls", (), "{call}", "Calls of models whose price is not known: no dollars are counted for them."
    ),
    CounterName.DECISIONS: CounterMetric(
        "decisions", ("action", "verdict"), "{answer}", "Answers of models, by what they decide and what became of it."
    ),
    CounterName.HTTP: CounterMetric(
        "http_requests", ("operation", "status"), "{request}", "Calls over HTTP, by operation and class of status."
    ),
}

# What is counted, and what it is counted by; that is always one of a few names of our own.
Key = tuple[CounterName, tuple[str, ...]]


class Counters:
    """Counters, used on the loop's thread alone. A tenant of None is no tenant's."""

    def __init__(self, most: int = MOST_TENANTS) -> None:
        self._most = most
        self._by_tenant: OrderedDict[str | None, defaultdict[Key, float]] = OrderedDict()
        self._of_forgotten: defaultdict[Key, float] = defaultdict(float)

    def add(self, tenant_id: str | None, what: CounterName, *by: str, count: float = 1) -> None:
        self._counts_of(tenant_id)[what, by] += count

    def count_settlement(self, tenant_id: str, settlement: Settlement) -> None:
        """Count the result of a model call."""
        used, entry, counts = settlement.actual, settlement.entry, self._counts_of(tenant_id)
        counts[CounterName.MODEL_CALLS, ()] += used.llm_calls
        counts[CounterName.TOKENS, ()] += used.tokens
        if used.unpriced_calls:
            counts[CounterName.UNPRICED, ()] += used.unpriced_calls
        elif used.llm_calls:
            counts[CounterName.DOLLARS, ()] += used.cost_usd
        if entry is not None:
            counts[CounterName.DECISIONS, (action_of(entry), entry.verdict)] += 1

    def of(self, tenant_id: str | None) -> Mapping[Key, float]:
        return self._by_tenant.get(tenant_id, {})

    def of_all(self) -> Mapping[Key, float]:
        """Return the counts of all tenants together, on any thread; they never fall."""
        total = self._of_forgotten.copy()
        for counts in tuple(self._by_tenant.values()):
            for key, count in counts.copy().items():
                total[key] += count
        return total

    def _counts_of(self, tenant_id: str | None) -> defaultdict[Key, float]:
        found = self._by_tenant.get(tenant_id)
        if found is None:
            found = self._by_tenant[tenant_id] = defaultdict(float)
            if len(self._by_tenant) > self._most:
                for key, count in self._by_tenant.popitem(last=False)[1].items():
                    self._of_forgotten[key] += count
        self._by_tenant.move_to_end(tenant_id)
        return found


def outcome_of(disposition: Disposition) -> str:
    match disposition:
        case Ack():
            return "done"
        case RetryAfter():
            return "again"
        case Hold():
            return "held"
        case DeadLetter():
            return "dead letter"
        case InDoubt():
            return "in doubt"
        case _:
            assert_never(disposition)


def action_of(entry: JournalEntry) -> str:
    """Return the action of a model's decision; "other" for an answer without one, or an unknown one."""
    value = entry.value
    step = value.get("step") if isinstance(value, dict) else None
    action = step.get("action") if isinstance(step, dict) else None
    # As it stands in the form of an answer: publish:order.placed.
    name = action.partition(":")[0] if isinstance(action, str) else ""
    return name if name in ACTIONS or name == GIVE_UP else "other"
