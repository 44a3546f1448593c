"""The fence around all that comes from outside.

It holds ASCII JSON and is named by a digest of that, so nothing inside can spell its end; nothing from outside is ever
a template.
"""

import json
from collections.abc import Mapping, Sequence

from soorma_ai.kernel.domain.values import Json, clip, compact, derived_id

ENTRY_CHARS = 4_000
FENCE_CHARS = ENTRY_CHARS * 4
CHARS_PER_TOKEN = 4


def tokens_of(text: str) -> int:
    """Return the tokens that a text is taken to have, before a model's own count is known."""
    return len(text) // CHARS_PER_TOKEN


def fence(value: Json, size: int = FENCE_CHARS) -> str:
    return fence_spelled(compact(value), size)


def fence_spelled(text: str, size: int = FENCE_CHARS) -> str:
    """Return the fence around a value that is spelled already, by `compact`."""
    return _enclose(clip(text, size))


def fence_lines(entries: Mapping[str, str]) -> str:
    """Return a fenced object with a line for each of its texts, whole and in their order."""
    lines = [f"{json.dumps(name)}:{json.dumps(text)}" for name, text in entries.items()]
    return _enclose("{\n" + ",\n".join(lines) + "\n}")


def fence_rows(rows: Sequence[Json]) -> str:
    """Return a fenced list with a line for each of its items, whole and in their order."""
    return _enclose("[\n" + ",\n".join(map(compact, rows)) + "\n]")


def _enclose(text: str) -> str:
    inside = text.replace("<", "\\u003c").replace("…", "...")
    mark = derived_id("fence", inside)[:13]
    return f"<data {mark}>{inside}</data {mark}>"
