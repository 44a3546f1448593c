"""Collector of the tests: the spans of a program, from its SDK, and the faults among them."""

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import DEFAULT_ON, Sampler

from soorma_ai.features.otel.names import MESSAGE_ID


class OpenSpans(SpanProcessor):
    """Number of spans begun and not ended."""

    count = 0

    def on_start(self, span: object, parent_context: object = None) -> None:
        self.count += 1

    def on_end(self, span: ReadableSpan) -> None:
        self.count -= 1


class Collector:
    """Spans of a provider in this process."""

    def __init__(self, sampler: Sampler = DEFAULT_ON) -> None:
        self.exporter, self.open = InMemorySpanExporter(), OpenSpans()
        self.provider = TracerProvider(sampler=sampler)
        self.provider.add_span_processor(self.open)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def of_kind(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.split(" ")[0] == name]

    def without_parent(self) -> list[ReadableSpan]:
        """Return the spans with a missing parent."""
        known = {span.context.span_id for span in self.spans}
        return [span for span in self.spans if span.parent and span.parent.span_id not in known]

    def of_event(self, event_id: str) -> list[ReadableSpan]:
        return [span for span in self.spans if (span.attributes or {}).get(MESSAGE_ID) == event_id]


def attributes_of(span: Any) -> dict[str, Any]:
    """Return the attributes of a span of OTLP."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
