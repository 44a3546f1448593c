"""Comparison of a disturbed run with the undisturbed one: its end, section by section, and its effects by key."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

# Rows by their sections.
End = Mapping[str, list[str]]
SHOWN = 240


@dataclass(frozen=True)
class Difference:
    """Rows of a section with another number than expected, each as often as it is missing, or too many."""

    section: str
    missing: list[str]
    surplus: list[str]

    @property
    def missing_line(self) -> str:
        """Return a line about the missing rows; empty for none."""
        return self._line(self.missing, "missing")

    @property
    def surplus_line(self) -> str:
        """Return a line about the rows that are too many; empty for none."""
        return self._line(self.surplus, "too many")

    @property
    def lines(self) -> list[str]:
        return [line for line in (self.missing_line, self.surplus_line) if line]

    def _line(self, rows: list[str], fault: str) -> str:
        return f"{self.section}: {len(rows)} {fault}, such as {rows[0][:SHOWN]}" if rows else ""


def compare_ends(expected: Mapping[str, Iterable[str]], found: Mapping[str, Iterable[str]]) -> Iterator[Difference]:
    for section in dict.fromkeys((*expected, *found)):
        wanted, rows = Counter(expected.get(section, ())), Counter(found.get(section, ()))
        if wanted != rows:
            yield Difference(section, [*(wanted - rows).elements()], [*(rows - wanted).elements()])


class ChangedEffect(NamedTuple, Generic[T]):
    """Another effect under a known key, `later` than the `first` one."""

    key: str
    first: T
    later: T

    def __str__(self) -> str:
        return f"{self.key}: {self.first}, later {self.later}"


@dataclass
class EffectBook(Generic[T]):
    """Effects outside, by key. As a payment provider has it, the same key again is the same effect, and a further call.
    Without a key, each call is an effect of its own."""

    effects: dict[str, T] = field(default_factory=dict[str, T])
    calls: Counter[str] = field(default_factory=Counter[str])
    changed: list[ChangedEffect[T]] = field(default_factory=list[ChangedEffect[T]])

    @property
    def absorbed(self) -> int:
        """Return the number of repeated calls, without an effect."""
        return self.calls.total() - len(self.effects)

    def book(self, key: str | None, effect: T) -> None:
        place = f"(call {self.calls.total()})" if key is None else key
        self.calls[place] += 1
        first = self.effects.setdefault(place, effect)
        if first != effect:
            self.changed.append(ChangedEffect(place, first, effect))
