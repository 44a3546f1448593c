"""What can be said of one code block of a seed document."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """A line of the sample that its test has otherwise, and why. `seed` is '' for a line that the test adds to one of
    the sample's own functions, `ours` is '' for one that it leaves out."""

    seed: str
    ours: str
    why: str


class Runs:
    """Its tests, by their paths from `tests`, run the sample's own code, all of it but what is `changed`. The code is
    in them, or in the functions `within` that they call. `as_python` says what has to stand for what so that Python can
    read the sample at all. `otherwise` is what it does in another way than the document says, without another line."""

    def __init__(
        self,
        tests: tuple[str, ...],
        *changed: Change,
        as_python: tuple[tuple[str, str], ...] = (),
        within: tuple[str, ...] = (),
        otherwise: str = "",
    ) -> None:
        self.tests, self.changed, self.as_python, self.within = tests, changed, as_python, within
        self.otherwise = otherwise


@dataclass(frozen=True)
class Names:
    """It sketches classes, or a method of the class `of`. Their public names are looked up (`names.py`, which lists
    those that differ); `tests` show what the bodies are to do. `otherwise` is what ours do in another way, and why."""

    tests: tuple[str, ...] = ()
    otherwise: str = ""
    of: str = ""
    as_python: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Shown:
    """Its tests show what it says, without its code, and `why` tells the reason."""

    tests: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class NotRun:
    why: str


How = Runs | Names | Shown | NotRun


@dataclass(frozen=True)
class Sample:
    """`number` counts the fenced blocks of the document from 1; `heading` is the one that it stands under."""

    document: str
    number: int
    heading: str
    how: How
