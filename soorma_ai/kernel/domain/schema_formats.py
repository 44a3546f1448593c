"""Formats of text in schemas, as written by pydantic."""

import re
from collections.abc import Callable
from datetime import datetime, time
from ipaddress import IPv6Address

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[Tt])?\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d(:\d\d)?)?", re.ASCII)
_SPAN = re.compile(
    r"[+-]?P(?=.)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?", re.ASCII | re.DOTALL
)
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(E[+-]?\d{1,3})?", re.ASCII)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")


def is_decimal(text: str) -> bool:
    """Tell whether text is a decimal number, as `str(Decimal(...))` writes one."""
    return _DECIMAL.fullmatch(text) is not None


def _is(read: Callable[[str], object], form: re.Pattern[str] | None = None) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        if form is not None and form.fullmatch(text) is None:
            return False
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


# Where pydantic writes more than the format allows: moments without an offset, spans with fractions or a sign, zones of
# addresses, characters that browsers let pass, patterns of Python.
FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _is(datetime.fromisoformat, _MOMENT),
    "time": _is(time.fromisoformat, _MOMENT),
    "duration": _is(str, _SPAN),
    "ipv6": _is(IPv6Address),
    "uri": _is(str, _URI),
    "regex": _is(str),
    "decimal": is_decimal,
}
