"""The way back from a wire schema: nulls that stand only for what was left out are removed."""

from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.schemas.bounded import show
from soorma_ai.kernel.rules.schemas.combine import (
    ALTERNATIVES,
    fold_all_of,
    kind_of,
    kinds_of,
    list_in,
    merge,
    object_in,
    values_of,
)


def strip_wire_nulls(value: Json, document: JsonObject) -> Json:
    """Remove the nulls that stand for absent optional properties; a null that `document` accepts is kept, and so is all
    where the document was shown in outline, which asks for no nulls."""
    shown = show(document)
    return value if shown.cut else _strip(value, shown.plain)


def _strip(value: Json, schema: Json) -> Json:
    if not isinstance(schema, dict) or not isinstance(value, dict | list):
        return value
    shape = _decide_branches(value, fold_all_of(schema))
    if isinstance(value, list):
        first, rest = list_in(shape.get("prefixItems")), shape.get("items", True)
        return [_strip(item, first[i] if i < len(first) else rest) for i, item in enumerate(value)]
    properties = object_in(shape.get("properties"))
    required = list_in(shape.get("required"))
    out: JsonObject = {}
    for name, item in value.items():
        child = properties.get(name, shape.get("additionalProperties", True))
        if item is None and name in properties and name not in required and not _takes(child, None):
            continue
        out[name] = _strip(item, child)
    return out


def _decide_branches(value: Json, schema: JsonObject) -> JsonObject:
    """Return the schema with one of its alternatives chosen: by tags in the value where these tell, else by trying."""
    for keyword in ALTERNATIVES:
        alternatives = [fold_all_of(branch) for branch in list_in(schema.get(keyword)) if isinstance(branch, dict)]
        if not alternatives:
            continue
        base: JsonObject = {key: item for key, item in schema.items() if key != keyword}
        likely = [branch for branch in alternatives if _tags_fit(value, branch)]
        if len(likely) > 1:
            likely = [b for b in likely if _takes(b, _strip(value, merge(base, b)))] or likely
        return _decide_branches(value, merge(base, likely[0])) if likely else base
    return schema


def _tags_fit(value: Json, branch: JsonObject) -> bool:
    kinds = kinds_of(branch)
    if kinds and kind_of(value) not in kinds:
        return False
    if not isinstance(value, dict):
        return True
    for name, schema in object_in(branch.get("properties")).items():
        allowed = values_of(schema) if isinstance(schema, dict) else None
        if allowed is not None and value.get(name) is not None and value[name] not in allowed:
            return False
    return True


def _takes(schema: Json, value: Json) -> bool:
    return not violations(schema, value) if isinstance(schema, dict) else bool(schema)
