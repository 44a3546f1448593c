"""Metrics: the counters of `/metrics`, as observable instruments."""

from collections.abc import Iterable
from weakref import ReferenceType, ref

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from soorma_ai.features.otel.names import CONVENTIONS, SCOPE
from soorma_ai.kernel.runtime.handling.process.counters import METRICS, CounterName, Counters


def observe_counters(counters: Counters) -> None:
    """Make the instruments of a process. A closed platform has no counters, and its instruments no values."""
    meter = metrics.get_meter(SCOPE, schema_url=CONVENTIONS)
    # An exporter for Prometheus adds `_total`, as in `/metrics`.
    for what, metric in METRICS.items():
        reader = _CounterReader(ref(counters), what, metric.labels)
        meter.create_observable_counter(f"soorma_{metric.name}", [reader], unit=metric.unit, description=metric.words)


class _CounterReader:
    """Callback of one instrument."""

    def __init__(self, counters: ReferenceType[Counters], what: CounterName, labels: tuple[str, ...]) -> None:
        self._counters, self._what, self._labels = counters, what, labels

    def __call__(self, options: CallbackOptions) -> Iterable[Observation]:
        counters = self._counters()
        for (what, by), count in counters.of_all().items() if counters else ():
            if what == self._what:
                yield Observation(count, dict(zip(self._labels, by, strict=True)))
