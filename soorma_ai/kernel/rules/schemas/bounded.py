"""Schemas for display: without references if that is small enough for a model, else in outline.

The result is kept for as long as its document: a decision reads every schema on offer.
"""

from functools import lru_cache

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json, JsonObject, Same, clip, compact, identity_of
from soorma_ai.kernel.rules.schemas.inline import inline_within, root_of

MAX_NODES = 2_000
MAX_CHARS = 16_000
MOST_NAMES = 50
NAME_CHARS = 200


class BoundedSchema(Struct, frozen=True):
    """Schema for a model: `plain` within a schema of ours, `told` in the prompt. A `cut` one is an outline, and accepts
    everything the document accepts."""

    plain: JsonObject
    told: JsonObject
    cut: bool


def show(document: JsonObject) -> BoundedSchema:
    return _show(identity_of(document))


@lru_cache(maxsize=4096)
def _show(same: Same[JsonObject]) -> BoundedSchema:
    document = same()
    plain = inline_within(document, MAX_NODES, MAX_CHARS)
    if plain is None:
        outline = _outline(document)
        return BoundedSchema(outline, outline, cut=True)
    return BoundedSchema(plain, document if len(compact(document)) <= MAX_CHARS else plain, cut=False)


def _outline(document: JsonObject) -> JsonObject:
    """Return the required data of a schema, with any value."""
    root = root_of(document)
    required = root.get("required")
    names = [one for one in required if isinstance(one, str)] if isinstance(required, list) else []
    told: list[Json] = [name for name in names[:MOST_NAMES] if len(name) <= NAME_CHARS]
    properties: JsonObject = {str(name): True for name in told}
    said = document.get("description", root.get("description"))
    about = f"{clip(said, MAX_CHARS // 8)} " if isinstance(said, str) and said else ""
    more = "Its schema is too large to be shown; data that does not fit is refused, with the schema."
    return {"type": "object", "description": about + more, "properties": properties, "required": told}
