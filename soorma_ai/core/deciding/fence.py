"""The fence around all that comes from outside.

It holds ASCII JSON and is named by a digest of that, so nothing inside can spell its end; nothing from outside is ever
a template.
"""

from soorma_ai.domain.values import Json, clip, compact, derived_id

ENTRY_CHARS = 4_000
FENCE_CHARS = ENTRY_CHARS * 4


def fence(value: Json, size: int = FENCE_CHARS) -> str:
    text = clip(compact(value), size).replace("<", "\\u003c").replace("…", "...")
    mark = derived_id("fence", text)[:13]
    return f"<data {mark}>{text}</data {mark}>"
