"""Kinds of statements about one code block of a seed document."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """A changed line of a sample, with the reason. `seed` is '' for a line added by the test to one of
    the sample's own functions, `ours` is '' for a line left out."""

    seed: str
    ours: str
    why: str


class Runs:
    """Tests, by their paths from `tests`, run the sample's own code except the `changed` lines. The code is
    in them, or in their functions `within`. `as_python` replaces text for the parser.
    `otherwise` names other behaviour of the same lines."""

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
    """A sketch of classes, or of a method of the class `of`. Their public names are looked up (`names.py` lists
    the differences); `tests` show the behaviour. `otherwise` names other behaviour, with the reason."""

    tests: tuple[str, ...] = ()
    otherwise: str = ""
    of: str = ""
    as_python: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Shown:
    """Tests show the statement of a block without its code; `why` is the reason."""

    tests: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class NotRun:
    why: str


How = Runs | Names | Shown | NotRun


@dataclass(frozen=True)
class Sample:
    """A block of a document; `number` counts its fenced blocks from 1, `heading` is the heading above."""

    document: str
    number: int
    heading: str
    how: How
