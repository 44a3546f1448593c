"""A log line is a constant name with fields, in the text for people and in `record.fields` for machines."""

import logging
import re

# Text of others stays within its line, whatever formats it: control characters and the line breaks of Unicode.
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_log = logging.getLogger("soorma_ai")


def note(name: str, **fields: object) -> None:
    _write(logging.INFO, name, fields, None)


def warn(name: str, *, bug: BaseException | None = None, **fields: object) -> None:
    """Log a warning. `bug` is an unexpected error; its traceback is kept."""
    _write(logging.WARNING if bug is None else logging.ERROR, name, fields, bug)


def _write(level: int, name: str, fields: dict[str, object], bug: BaseException | None) -> None:
    if _log.isEnabledFor(level):
        told = _ODD.sub(_escape, " ".join(f"{key}={value}" for key, value in fields.items()))
        _log.log(level, "%s %s", name, told, extra={"fields": fields}, exc_info=bug)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
