"""Trace contexts: derived ids, and their text form in events."""

import re
from hashlib import blake2b

from msgspec import Struct

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]([0-9a-f])", re.ASCII)


class TraceContext(Struct, frozen=True):
    """Trace, span and sampling of a handling."""

    trace_id: int
    span_id: int
    is_sampled: bool

    def __str__(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.is_sampled:02x}"


def read_traceparent(text: str | None) -> TraceContext | None:
    """Read a traceparent of the W3C, version 00; None for any other text."""
    found = _TRACEPARENT.fullmatch(text) if text else None
    if found is None:
        return None
    trace_id, span_id = int(found[1], 16), int(found[2], 16)
    return TraceContext(trace_id, span_id, bool(int(found[3], 16) & 1)) if trace_id and span_id else None


def derived_span_id(*names: str) -> int:
    """Return the span id of these names, the same in every process."""
    return _digest(8, "span", names)


def derived_trace_id(*names: str) -> int:
    """Return the trace id of these names, the same in every process."""
    return _digest(16, "trace", names)


def _digest(size: int, kind: str, names: tuple[str, ...]) -> int:
    found = blake2b("\0".join((kind, *names)).encode("utf-8", "surrogatepass"), digest_size=size).digest()
    return int.from_bytes(found, "big") or 1
