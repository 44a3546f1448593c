"""Sentences with fields of a payload: questions to people, and titles of plans."""

import re

from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact

_FIELD = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}", re.ASCII)
MOST_CHARS = 80
MOST_TITLE = 160


def fill_sentence(text: str, data: JsonObject) -> str:
    """Return the text with the payload's values for its fields, as `Pay {amount} $ to {payee.name}`. A missing field
    stays as it is written."""
    return _FIELD.sub(lambda found: _text_at(found[1], data) or found[0], text)


def title_of(template: str, data: JsonObject) -> str:
    """Return the title of a plan on one line; empty without a template, and where the data has none of its fields."""
    names = _FIELD.findall(template)
    is_bare = bool(names) and not any(_text_at(name, data) for name in names)
    return "" if is_bare else clip(" ".join(fill_sentence(template, data).split()), MOST_TITLE)


def _text_at(path: str, data: JsonObject) -> str:
    value: Json = data
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return ""
        value = value[part]
    return _spell(value)


def _spell(value: Json) -> str:
    """Return a value on one line: an invisible character, or one with an effect on the text's direction, is a space."""
    if isinstance(value, bool | None):
        return compact(value)
    if isinstance(value, int | float):
        return _group_digits(value)
    text = value if isinstance(value, str) else compact(value)
    return clip(" ".join("".join(one if one.isprintable() else " " for one in text).split()), MOST_CHARS)


def _group_digits(value: float) -> str:
    whole, _, rest = f"{value!r}".partition(".")
    if "e" in repr(value) or not whole.lstrip("-").isdigit():
        return repr(value)
    return f"{int(whole):,}" + (f".{rest}" if rest not in ("", "0") else "")
