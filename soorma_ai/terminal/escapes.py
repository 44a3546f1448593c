"""Text that others wrote, made harmless for a terminal. Imports nothing heavy: help is made with this."""


def one_line(text: str) -> str:
    """Return it without line breaks, and unable to move the cursor."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """Spell out every character that would do something and not be seen; line breaks stay."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return " " if character.isspace() and ord(character) > ord(" ") else character.encode("unicode_escape").decode()
