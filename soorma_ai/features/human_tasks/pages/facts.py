"""A payload as facts: its first fields, one line each."""

import json
import re
from itertools import islice

from msgspec import Struct

from soorma_ai.features.human_tasks.difference import difference
from soorma_ai.kernel.domain.values import Json, JsonObject, clip
from soorma_ai.surfaces.forms.shapes import Absent, Found

MOST_FIELDS = 10
FEW_FIELDS = 5  # so few may take two lines each
LONGEST_LINE = 160
_SHORT, _SHORTEST = 50, 26  # characters that a phone shows in two lines, and in one
_UNSEEN = re.compile(r"[^ -~]")


class Fact(Struct, frozen=True):
    """A field of a payload; `is_new` where it differs from the payload approved last."""

    name: str
    value: str
    is_new: bool = False


class Facts(Struct, frozen=True):
    """First fields of a payload, and the number of the others. `is_whole`: nothing of the payload is cut or left out,
    on a narrow page either."""

    rows: tuple[Fact, ...] = ()
    others: int = 0
    is_whole: bool = True

    @property
    def is_dense(self) -> bool:
        return len(self.rows) > FEW_FIELDS


def facts_of(data: JsonObject, earlier: JsonObject | None = None) -> Facts:
    """Return the facts of a payload, compared with the `earlier` one where there is one."""
    rows = tuple(
        Fact(show_text(clip(name, LONGEST_LINE)), _words(value), _is_new(earlier, name, value))
        for name, value in islice(data.items(), MOST_FIELDS)
    )
    others, most = len(data) - len(rows), _SHORTEST if len(rows) > FEW_FIELDS else _SHORT
    return Facts(rows, others, others == 0 and all(len(one.value) <= most for one in rows))


def _is_new(earlier: JsonObject | None, name: str, value: Json) -> bool:
    if earlier is None:
        return False
    return name not in earlier or bool(difference(earlier[name], value).changes)


def json_line(value: Found) -> str:
    """Return a value as JSON on one line; nothing where it is absent."""
    return "" if isinstance(value, Absent) else show_text(_line(value))


def show_text(text: str) -> str:
    """Return text in which invisible characters, and those that turn text around, are written as JSON escapes."""
    return _UNSEEN.sub(_spell_out, text)


def _words(value: Json) -> str:
    """Return text without quotes, and anything else, also empty text, as JSON."""
    is_text = isinstance(value, str) and value.strip()
    return show_text(clip(str(value), LONGEST_LINE)) if is_text else json_line(value)


def _line(value: Json) -> str:
    """Return JSON on one line, clipped; no more of it is written than is shown."""
    written = ""
    for chunk in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        written += chunk[: LONGEST_LINE + 1]
        if len(written) > LONGEST_LINE:
            break
    return clip(written, LONGEST_LINE)


def _spell_out(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() or found[0] == "\n" else json.dumps(found[0])[1:-1]
