"""Search in the steps of one plan, by words: parts of their data, each with the reference to it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import log

from msgspec import Struct

from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.choices.words import terms
from soorma_ai.kernel.rules.prompting.outline import MORE, length_of, shorten
from soorma_ai.kernel.rules.prompting.references import brings_result, name_of
from soorma_ai.kernel.rules.prompting.spelling import spell

PART_SIZE, SHORT_SIZE = 400, 100
MOST_PARTS = 5_000
# So many parts are told with any of the words; further ones only if they have about as many as the best.
FEW_FOUND = 10
_ABOUT_AS_MANY = 0.75
MOST_CHARS = 2_000


class _Part(Struct, frozen=True):
    """Part of a step's data, with its terms."""

    step: Step
    path: tuple[str, ...]
    value: Json
    found: frozenset[str]


def find_parts(steps: Sequence[Step], words: str, room: int, hidden: int = 0) -> list[Json]:
    """Return the parts that share most with these words, best first, within a room of this size.

    Of equal parts, those of steps up to the `hidden` one come first: a prompt does not show them.
    """
    wanted = set(terms(words, MOST_CHARS))
    parts = [part for part in islice(_parts_of(steps), MOST_PARTS) if wanted & part.found]
    having = Counter(term for part in parts for term in wanted & part.found)
    worth = {term: log(1 + len(parts) / count) + 0.1 for term, count in having.items()}
    scored = [(sum(worth[term] for term in wanted & part.found), part) for part in parts]
    scored.sort(key=lambda one: (-one[0], one[1].step.ordinal > hidden))
    told: list[Json] = []
    for score, part in scored:
        if len(told) >= FEW_FOUND and score < _ABOUT_AS_MANY * scored[0][0]:
            break
        row = _row_of(part, max(PART_SIZE, room // FEW_FOUND))
        room -= length_of(row) + 1
        if room < 0 and told:
            break
        told.append(row)
    return told


def _row_of(part: _Part, size: int) -> JsonObject:
    step = part.step
    at = name_of(step.ordinal, part.path) if brings_result(step) else f"step{step.ordinal}"
    row: JsonObject = {"at": at, "event": step.name, "value": shorten(part.value, size)}
    return row if step.note in ("", "ok") else {**row, "note": shorten(step.note, size)}


def _parts_of(steps: Sequence[Step]) -> Iterator[_Part]:
    """Yield the parts of all steps, the newest step first."""
    for step in reversed(steps):
        about = f"{step.name} {step.kind} {step.note}"
        for path, value in _split((), step.data):
            yield _Part(step, path, value, frozenset(terms(f"{about} {' '.join(path)} {spell(value)}", MOST_CHARS)))


def _split(path: tuple[str, ...], value: Json) -> Iterable[tuple[tuple[str, ...], Json]]:
    """Yield a value, or the parts of one that is large, by their paths. Short fields of an object stay together: one
    often identifies another."""
    if not isinstance(value, dict | list) or length_of(value) <= PART_SIZE:
        yield path, value
        return
    if isinstance(value, list):
        parts = [(str(at), item) for at, item in enumerate(value)]
    else:
        short = {key: item for key, item in value.items() if length_of(item) <= SHORT_SIZE}
        yield from _group(path, short, len(value))
        parts = [(key, item) for key, item in value.items() if key not in short]
    for key, item in parts:
        yield from _split((*path, key), item)


def _group(path: tuple[str, ...], fields: JsonObject, of: int) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield the fields in groups of about the size of a part, each with the number of the fields beside it."""
    group: JsonObject = {}
    left = PART_SIZE
    for key, item in fields.items():
        left -= length_of(key) + length_of(item) + 2
        if left < 0 and group:
            yield path, {**group, MORE: f"{of - len(group)} more"}
            group, left = {}, PART_SIZE
        group[key] = item
    if group:
        yield path, {**group, MORE: f"{of - len(group)} more"} if len(group) < of else group
