"""Foreign text, made harmless for a terminal. Imports nothing heavy: help is made with this."""

import re

# All but ASCII that is seen: of most text, nothing is looked at one by one.
_ODD = re.compile(r"[^ -~\n]")


def one_line(text: str) -> str:
    """Return it without line breaks, and unable to move the cursor."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """Spell out every invisible control character; line breaks stay."""
    return _ODD.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    return " " if character.isspace() and ord(character) > ord(" ") else character.encode("unicode_escape").decode()
