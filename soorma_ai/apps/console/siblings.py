"""Equal siblings of a plan as one row: hundreds of parts, with counts instead of a line each."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.context_parts.progress import Action, ActionStatus
from soorma_ai.features.tracking.lines import Line, LineKind, flatten
from soorma_ai.surfaces.terminal.wording import portion

LEAST = 5  # so many are folded
MOST_FAILED = 3  # failed ones that stay beside the row
MOST_ROWS = 4
WIDTH = 1_000.0
# Lines without an outcome of their own.
_ALONE = frozenset({LineKind.EVENT, LineKind.TURN})
_FOLDED = _ALONE | {LineKind.REQUEST, LineKind.DELEGATION}
_OUTCOMES = frozenset({LineKind.REPLY, LineKind.OPEN, LineKind.EXPIRY, LineKind.CLOSED})
_INSIDE = _OUTCOMES | {LineKind.PROGRESS, LineKind.EVENT}
_ENDS = (
    ("done", (ActionStatus.COMPLETED,)),
    ("failed", (ActionStatus.FAILED, ActionStatus.TIMED_OUT, ActionStatus.CANCELLED)),
    ("running", (ActionStatus.RUNNING,)),
)


class Progress(Struct, frozen=True):
    """A row with a bar: its `parts` as (style, from, width), of WIDTH."""

    name: str
    words: str
    parts: tuple[tuple[str, float, float], ...]


def progress_of(actions: Sequence[Action]) -> tuple[Progress, ...]:
    """Return the groups of equal actions, the largest first, then running actions by their own reports."""
    groups: defaultdict[tuple[str | None, str], list[ActionStatus]] = defaultdict(list)
    for one in actions:
        groups[one.parent_id, one.event_type].append(one.status)
    large = sorted((-len(found), name, found) for (_, name), found in groups.items() if len(found) >= LEAST)
    rows = [_group(name, found) for _, name, found in large]
    rows += [_report(one) for one in actions if one.report and not one.status.is_final]
    return tuple(rows[:MOST_ROWS])


def _group(name: str, found: Sequence[ActionStatus]) -> Progress:
    total, counts = len(found), Counter(found)
    ends = {style: sum(counts[one] for one in of) for style, of in _ENDS}
    parts, x = list[tuple[str, float, float]](), 0.0
    for style, count in ends.items():
        parts.append((style, x, WIDTH * count / total))
        x += WIDTH * count / total
    return Progress(name, describe(total, **ends), tuple(parts))


def _report(action: Action) -> Progress:
    report = action.report
    done = min(max(report.progress, 0.0), 1.0) if report else 0.0
    words = f"{portion(report.progress)} {report.message}".strip() if report else ""
    return Progress(action.event_type, words, (("done", 0.0, WIDTH * done),))


def describe(total: int, *, done: int, failed: int = 0, running: int = 0) -> str:
    """Return counts in words: `30 of 200 done, 8 running, 1 failed`."""
    others = (f", {count:,} {word}" for count, word in ((running, "running"), (failed, "failed")) if count)
    return f"{done:,} of {total:,} done{''.join(others)}"


def fold_siblings(lines: Iterable[Line], *, is_part: bool = False) -> tuple[Line, ...]:
    """Return lines with equal siblings folded, at every level. Each row is in the place of its first line. Of a part of
    a plan, where outcomes may be missing, rows have no counts of them."""
    known = [replace(line, lines=fold_siblings(line.lines, is_part=is_part)) if line.lines else line for line in lines]
    alike: defaultdict[object, list[Line]] = defaultdict(list)
    for line in known:
        alike[_mark(line)].append(line)
    return tuple(_rows(known, alike, is_part=is_part))


def _rows(lines: Iterable[Line], alike: dict[object, list[Line]], *, is_part: bool) -> Iterator[Line]:
    shown = set[object]()
    for line in lines:
        mark = _mark(line)
        if len(alike[mark]) < LEAST:
            yield line
        elif mark not in shown:
            yield _folded(alike[mark], is_part=is_part)
        shown.add(mark)


def _mark(line: Line) -> object:
    """Return the mark of equal lines. A line above a decision or a question is equal to no other."""
    is_plain = line.kind in _FOLDED and all(one.kind in _INSIDE for below in line.lines for one in flatten((below,)))
    return (line.kind, line.who, line.what, line.note) if is_plain else id(line)


def _folded(found: Sequence[Line], *, is_part: bool) -> Line:
    """Return one line for all of these, with their counts and a few failed ones below."""
    first, total = found[0], len(found)
    row = Line(first.kind, first.time, first.who, f"{first.what} ×{total:,}", first.note, because=first.because)
    ends = [next((one for one in line.lines if one.kind in _OUTCOMES), None) for line in found]
    failed = tuple(one for one in ends if one is not None and (one.is_failure or one.kind is LineKind.EXPIRY))
    if first.kind in _ALONE or is_part:
        return replace(row, lines=failed[:MOST_FAILED])
    done = sum(one is not None and one.kind is LineKind.REPLY and not one.is_failure for one in ends)
    kind = LineKind.CLOSED if done + len(failed) == total else LineKind.OPEN
    last = max((one.time for one in flatten(found)), default=first.time)
    words = describe(total, done=done, failed=len(failed))
    summary = Line(kind, last, first.who, row.what, words, took=last - first.time)
    return replace(row, lines=(summary, *failed[:MOST_FAILED]))
