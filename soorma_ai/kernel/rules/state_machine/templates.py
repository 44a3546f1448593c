"""Templates of a state machine: their view of a plan, and their filling."""

import re
from collections.abc import Callable, Iterator

from soorma_ai.errors import LimitExceeded, PayloadMismatch
from soorma_ai.kernel.domain.limits import MAX_EVENT_BYTES
from soorma_ai.kernel.domain.schema_cost import length_of
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
    """Fill in the placeholders of templates, in one pass: a filled-in value is data, in any form. `view` is their view
    of a plan, by `ROOTS`.

    Raises PayloadMismatch for a missing value, LimitExceeded for more than an event may hold.
    """
    return replace_texts(template, Filling(view).fill)


def replace_texts(value: Json, replace: Callable[[str], Json]) -> Json:
    """Return a value with each text in it replaced."""
    if isinstance(value, dict):
        return {key: replace_texts(item, replace) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_texts(item, replace) for item in value]
    return replace(value) if isinstance(value, str) else value


class Filling:
    """Values of a plan that are filled in, together no larger than the data of an event."""

    def __init__(self, view: JsonObject) -> None:
        self._view = view
        self._left = MAX_EVENT_BYTES

    def fill(self, text: str) -> Json:
        """Return a text with the values that its templates name; of one template alone, the value as it is."""
        whole = _TEMPLATE.fullmatch(text)
        return self._take(whole) if whole else _TEMPLATE.sub(lambda found: _as_text(self._take(found)), text)

    def _take(self, found: re.Match[str]) -> Json:
        path = found[1] or found[2]
        value = _value_at(path, self._view)
        left = self._left - (length_of(value) or 0)
        if left < 0:
            said = f"with {{{path}}}, the values of templates are more than {MAX_EVENT_BYTES:,} bytes together"
            raise LimitExceeded("max_event_bytes", f"{said}: fill in only what is needed of them")
        self._left = left
        return value


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
