"""The steps of `bench.rows.steps` in memory: `off`, `api` with OpenTelemetry's API alone, `sdk` with a provider.

`calls` are calls of Python functions a step, counted and not timed; `span_us` is CPU time inside the observer.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from bench.measure import Figures, Lap, main
from bench.rows.agents import count, count_to, counting, desk, store_url
from soorma_ai import Platform


async def measure(folder: Path, *, mode: str, plans: int, steps: int) -> Figures:
    """`mode` is "off", "api" or "sdk". A provider is set once in a process."""
    os.environ["SOORMA_OTEL"] = "off" if mode == "off" else "on"
    counts = _set_provider() if mode == "sdk" else Counter[str]()
    async with Platform(store_url(folder, "memory")) as platform:
        await platform.start(desk(), counting(count_to(steps)))
        await count(platform, "warm")
        counts.clear()
        with Lap() as lap:
            for number in range(plans):
                await count(platform, number)
        told = dict(counts)
        with _counted_calls() as calls:
            await count(platform, "counted")
    figures = lap.per(plans * steps)
    figures["calls"] = calls["call"] / steps
    if spans := told.get("spans"):
        figures |= {"spans": spans / (plans * steps), "span_us": told["ns"] / 1000 / spans}
    return figures


@contextmanager
def _counted_calls() -> Generator[Counter[str]]:
    calls = Counter[str]()

    def note(frame: object, what: str, argument: object) -> None:
        calls[what] += 1

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def _set_provider() -> Counter[str]:
    """Set a provider that counts spans and drops them; return the count, and the time inside the observer."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

    from soorma_ai.features.otel.handlings import TraceWriter

    counts = Counter[str]()

    class Spans(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            counts["spans"] += 1

    def timed(act: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(act)
        def act_and_time(*given: Any) -> Any:
            begin = time.thread_time_ns()
            done = act(*given)
            counts["ns"] += time.thread_time_ns() - begin
            return done

        return act_and_time

    provider = TracerProvider()
    provider.add_span_processor(Spans())
    trace.set_tracer_provider(provider)
    TraceWriter.prepare, TraceWriter.committed = timed(TraceWriter.prepare), timed(TraceWriter.committed)
    return counts


if __name__ == "__main__":
    main(measure)
