"""Extension: traces and metrics by OpenTelemetry."""

from soorma_ai.features.otel.handlings import TraceWriter
from soorma_ai.features.otel.metrics import observe_counters
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.runtime.handling.handling import Observer
from soorma_ai.kernel.runtime.handling.process.counters import Counters


def extension(mode: str) -> Extension:
    """Return the extension. The mode `content` has payloads and answers of models in the spans."""

    def observe(counters: Counters) -> Observer:
        observe_counters(counters)
        return TraceWriter(has_content=mode == "content")

    return Extension(name="otel", observe=observe)
