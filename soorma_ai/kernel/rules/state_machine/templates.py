"""Templates of a state machine: what they see of a plan, and how they are filled."""

import re
from collections.abc import Iterator

from soorma_ai.errors import PayloadMismatch
from soorma_ai.kernel.domain.values import Json, JsonObject, compact, leads_into

_TEMPLATE = re.compile(r"\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}|\{([A-Za-z_][\w.-]*)\}")
ROOTS = ("goal_data", "results", "state", "plan_id", "goal_id", "session_id")


def templates_in(value: Json) -> Iterator[str]:
    """The paths that they name."""
    if isinstance(value, str):
        for found in _TEMPLATE.finditer(value):
            yield found[1] or found[2]
    elif isinstance(value, dict):
        for item in value.values():
            yield from templates_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from templates_in(item)


def fill(template: Json, view: JsonObject) -> Json:
    """Fill in what templates name, in one pass: what is filled in is data, whatever it looks like. `view` is what they
    see of a plan, by `ROOTS`.

    Raises PayloadMismatch for what is not there.
    """
    if isinstance(template, dict):
        return {key: fill(item, view) for key, item in template.items()}
    if isinstance(template, list):
        return [fill(item, view) for item in template]
    if not isinstance(template, str):
        return template
    whole = _TEMPLATE.fullmatch(template)
    if whole:
        return _value_at(whole[1] or whole[2], view)
    return _TEMPLATE.sub(lambda found: _as_text(_value_at(found[1] or found[2], view)), template)


def is_template(text: str) -> bool:
    """Tell whether the text is one template and nothing else, so that it gets the value as it is."""
    return _TEMPLATE.fullmatch(text) is not None


def _value_at(path: str, view: JsonObject) -> Json:
    value: Json = view
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and leads_into(value, part):
            value = value[int(part)]
        else:
            raise PayloadMismatch(f"{{{path}}} cannot be filled in: the plan has no {part!r} there")
    return value


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else compact(value)
