"""Schemas as they are shown: without references if that is no larger than a model should read, else in outline.

What is written out is kept for as long as its document: a decision looks at every schema that is offered.
"""

from functools import lru_cache

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json, JsonObject, Same, clip, compact
from soorma_ai.kernel.rules.schemas.inline import inline_within, root_of

MAX_NODES = 2_000
MAX_CHARS = 16_000
MOST_NAMES = 50
NAME_CHARS = 200


class BoundedSchema(Struct, frozen=True):
    """A schema as a model is shown it: `plain` within a schema of ours, `told` in the prompt. One that is `cut` is an
    outline, and takes whatever the document takes."""

    plain: JsonObject
    told: JsonObject
    cut: bool


def show(document: JsonObject) -> BoundedSchema:
    return _show(Same(document))


@lru_cache(maxsize=4096)
def _show(same: Same[JsonObject]) -> BoundedSchema:
    document = same.it
    plain = inline_within(document, MAX_NODES, MAX_CHARS)
    if plain is None:
        outline = _outline(document)
        return BoundedSchema(outline, outline, cut=True)
    return BoundedSchema(plain, document if len(compact(document)) <= MAX_CHARS else plain, cut=False)


def _outline(document: JsonObject) -> JsonObject:
    """Return what its data must have at least, with any value."""
    root = root_of(document)
    required = root.get("required")
    names = [one for one in required if isinstance(one, str)] if isinstance(required, list) else []
    told: list[Json] = [name for name in names[:MOST_NAMES] if len(name) <= NAME_CHARS]
    properties: JsonObject = {str(name): True for name in told}
    said = document.get("description", root.get("description"))
    about = f"{clip(said, MAX_CHARS // 8)} " if isinstance(said, str) and said else ""
    more = "Its schema is too large to be shown; data that does not fit is refused, with the schema."
    return {"type": "object", "description": about + more, "properties": properties, "required": told}
