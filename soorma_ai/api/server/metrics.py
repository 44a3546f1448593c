"""Metrics of a platform, its work and its state, in the text form for Prometheus.

The only foreign names are agents', and their number is bounded; all other labels are our own words.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from soorma_ai.api.server.tenant_stats import TenantStats
from soorma_ai.kernel.domain.registry import Backlog
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.runtime.handling.process.counters import METRICS, CounterName

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_AGENTS = 100
OTHERS = "(others)"
_LONGEST_NAME = 100
# As `domain.standing.AGES` divides them.
_AGES = ("1h", "1d", "7d", "older")

Labels = Mapping[str, str]


class Family(Struct, frozen=True):
    """A metric: its samples, each of other labels."""

    name: str
    kind: str
    help: str
    samples: Sequence[tuple[Labels, float]]


def metrics(
    standing: TenantStats, counted: Mapping[tuple[str, tuple[str, ...]], float], now: datetime, age: float = 0.0
) -> Iterator[Family]:
    """Yield the state of a tenant, `age` seconds ago, and the work of this process for it."""
    backlogs = _bound(standing.backlogs)
    yield _gauge("backlog", "Deliveries in line, by agent.", ((_of(one), one.waiting) for one in backlogs))
    yield _gauge("in_hand", "Deliveries in hand, by agent.", ((_of(one), one.in_hand) for one in backlogs))
    oldest = ((_of(one), _age(one.since, now)) for one in backlogs)
    yield _gauge("backlog_oldest_seconds", "Age of the oldest of these, by agent.", oldest)
    questions = (
        ({"kind": kind.value, "age": _AGES[age]}, count) for (kind, age), count in sorted(standing.questions.items())
    )
    yield _gauge("waits_open", "Open questions to people, by kind and by an age not reached yet.", questions)
    yield _gauge("dead_letters", "Deliveries that could not be handled.", [({}, standing.dead_letters)])
    yield _gauge("untaken", "Requests that no agent takes.", [({}, standing.untaken)])
    yield _gauge("unsent", "Events that no bus has brought yet.", [({}, standing.unsent)])
    since = standing.unsent_since
    oldest_unsent = 0.0 if since is None else _age(since, now)
    yield _gauge("unsent_oldest_seconds", "Age of the oldest of these.", [({}, oldest_unsent)])
    yield _gauge("counts_age_seconds", "Age of the counts above, which are taken in the background.", [({}, age)])
    for what, metric in METRICS.items():
        found = [
            (dict(zip(metric.labels, by, strict=True)), count) for (one, by), count in counted.items() if one == what
        ]
        # Calls of unknown price alone are no zero dollars.
        is_priced = (CounterName.UNPRICED, ()) not in counted
        is_unknown = bool(metric.labels) or (what is CounterName.DOLLARS and not is_priced)
        yield Family(f"soorma_{metric.name}_total", "counter", metric.words, found or ([] if is_unknown else [({}, 0)]))


def write(families: Iterable[Family]) -> str:
    """Return the text form; a family without samples is left out."""
    return "".join(line for one in families if one.samples for line in _lines(one))


def _gauge(name: str, words: str, samples: Iterable[tuple[Labels, float]]) -> Family:
    return Family(f"soorma_{name}", "gauge", words, list(samples))


def _bound(backlogs: Sequence[Backlog]) -> Sequence[Backlog]:
    """Return those with the most, under names that are not endless, and the others as one."""
    most = sorted(backlogs, key=lambda one: (-one.waiting - one.in_hand, one.agent))
    named: dict[str, Backlog] = {}
    for place, one in enumerate(most):
        name = clip(one.agent, _LONGEST_NAME) if place < MOST_AGENTS else OTHERS
        so_far = named.get(name, Backlog(name, 0, 0, one.since))
        waiting, in_hand = so_far.waiting + one.waiting, so_far.in_hand + one.in_hand
        named[name] = Backlog(name, waiting, in_hand, min(so_far.since, one.since))
    return list(named.values())


def _of(one: Backlog) -> Labels:
    return {"agent": one.agent}


def _age(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n"
    for labels, value in family.samples:
        said = ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items())
        yield f"{family.name}{{{said}}} {_number(value)}\n" if said else f"{family.name} {_number(value)}\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
