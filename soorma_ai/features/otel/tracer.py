"""Tracer of the program's SDK, with ids and times of ours."""

from collections.abc import Sequence
from copy import copy
from datetime import datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from soorma_ai.features.otel.names import CONVENTIONS, SCOPE
from soorma_ai.features.otel.trace_context import TraceContext
from soorma_ai.kernel.runtime.handling.logs import warn

Attributes = dict[str, AttributeValue]


class _Decision(Protocol):
    def is_sampled(self) -> bool: ...


class _SamplingResult(Protocol):
    @property
    def decision(self) -> _Decision: ...


class _Sampler(Protocol):
    def should_sample(self, parent_context: Context | None, trace_id: int, name: str) -> _SamplingResult: ...


class _IdGenerator(Protocol):
    def generate_span_id(self) -> int: ...

    def generate_trace_id(self) -> int: ...

    def is_trace_id_random(self) -> bool: ...


@runtime_checkable
class _SdkTracer(Protocol):
    """Tracer of OpenTelemetry's SDK, as far as needed beyond the API."""

    sampler: _Sampler
    id_generator: _IdGenerator


class _GivenIds:
    """Id generator of our tracer: it returns the given ids."""

    trace_id = 1
    span_id = 1

    def generate_span_id(self) -> int:
        return self.span_id

    def generate_trace_id(self) -> int:
        return self.trace_id

    def is_trace_id_random(self) -> bool:
        return False


class SpanRecord(Struct, frozen=True):
    """A complete span: it is started and ended at once, with its true times."""

    name: str
    kind: SpanKind
    context: TraceContext
    parent: TraceContext | None
    begin: int
    end: int
    attributes: Attributes
    links: Sequence[tuple[TraceContext, str]] = ()
    fault: str = ""


class SpanWriter:
    """Writes spans to the program's SDK. Without an SDK `is_on` is false, and nothing is done."""

    def __init__(self) -> None:
        self._provider: trace.TracerProvider | None = None
        self._tracer: trace.Tracer | None = None
        self._sampler: _Sampler | None = None
        self._ids = _GivenIds()

    @property
    def is_on(self) -> bool:
        """Tell whether the program has set a provider of the SDK."""
        provider = trace.get_tracer_provider()
        if provider is not self._provider:
            self._provider = provider
            self._take(provider)
        return self._tracer is not None

    def is_sampled(self, trace_id: int, name: str) -> bool:
        """Ask the sampler about a new trace."""
        return self._sampler is None or self._sampler.should_sample(None, trace_id, name).decision.is_sampled()

    def write(self, record: SpanRecord, link_name: str) -> None:
        """Start and end a span."""
        if self._tracer is None:
            return
        self._ids.trace_id, self._ids.span_id = record.context.trace_id, record.context.span_id
        span = self._tracer.start_span(
            record.name,
            context=_as_parent(record.parent),
            kind=record.kind,
            attributes=record.attributes,
            links=[Link(_span_context(to), {link_name: why}) for to, why in record.links],
            start_time=record.begin,
        )
        if record.fault:
            span.set_status(Status(StatusCode.ERROR, record.fault))
        span.end(record.end)

    def _take(self, provider: trace.TracerProvider) -> None:
        self._tracer = self._sampler = None
        if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
            return
        # A provider has one tracer for all platforms of the process; ids and sampler are this writer's alone.
        tracer = copy(provider.get_tracer(SCOPE, schema_url=CONVENTIONS))
        if isinstance(tracer, _SdkTracer):
            tracer.id_generator = self._ids
            self._tracer, self._sampler = tracer, tracer.sampler
            tracer.sampler = _take_all()
            return
        cure = "set a TracerProvider of opentelemetry-sdk for traces"
        warn("no_traces", reason=f"a provider without an id generator: {type(provider).__qualname__}", then=cure)


def _take_all() -> _Sampler:
    """Return the sampler of our tracer: only sampled spans are written, and another question may get another answer."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    return ALWAYS_ON


def _span_context(context: TraceContext) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if context.is_sampled else TraceFlags.DEFAULT)
    return SpanContext(context.trace_id, context.span_id, is_remote=True, trace_flags=flags)


def _as_parent(parent: TraceContext | None) -> Context:
    # An empty context: a span of the program around the loop is no parent.
    return trace.set_span_in_context(NonRecordingSpan(_span_context(parent)), Context()) if parent else Context()


def nanoseconds(moment: datetime) -> int:
    """Return a moment as OpenTelemetry spells it."""
    return int(moment.timestamp() * 1_000_000) * 1000
