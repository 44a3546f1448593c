"""Values as pages show them: short, bounded, and without effect on the text around them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.features.tracking.lines import Line, LineKind
from soorma_ai.features.tracking.story import explanation, headline
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.values import Json, JsonObject, clip
from soorma_ai.surfaces.terminal.escapes import one_line, printable
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, QUOTE, WAITING, Part
from soorma_ai.surfaces.terminal.wording import cost, cost_so_far, local_time, offset, resting, short_id, span

LONGEST_JSON = 4_000
LONGEST_PREVIEW = 160
LONGEST_WORDS = 1_000
LONGEST_NAME = 120

_CLASSES = {BAD: "bad", BOLD: "strong", DIM: "faint", GOOD: "good", QUOTE: "quote", WAITING: "wait"}


class StyledText(Struct, frozen=True):
    """A piece of text, and the class of its style."""

    text: str
    style: str = ""


def pretty(value: Json, most: int = LONGEST_JSON) -> str:
    """Return JSON over several lines, clipped; no more of it is written than is shown."""
    return _write(json.JSONEncoder(ensure_ascii=False, indent=2), value, most)


def preview(value: Json) -> str:
    """Return the beginning of JSON on one line; nothing of nothing."""
    return _write(json.JSONEncoder(ensure_ascii=False), value, LONGEST_PREVIEW) if value not in (None, {}) else ""


def _write(encoder: json.JSONEncoder, value: Json, most: int) -> str:
    chunks, size = list[str](), 0
    for chunk in encoder.iterencode(value):
        chunks.append(chunk[: most + 1])
        size += len(chunk)
        if size > most:
            break
    return printable(clip("".join(chunks), most))


def words(text: str | None, most: int = LONGEST_WORDS) -> str:
    """Return text on one line, clipped."""
    return one_line(clip((text or "")[: 2 * most], most))


def spell(text: object, size: int = 200) -> str:
    """Return text of others as it is shown: of a bounded length, with invisible characters and those of direction
    spelled out."""
    return printable(clip(str(text), size))


def name(text: str | None) -> str:
    return words(text, LONGEST_NAME)


def describe_line(line: Line) -> tuple[list[StyledText], list[StyledText]]:
    """Return the sentence of a line of a trace, with its reason, in the words of `soorma plans show`. Its payload is
    left to the template."""
    is_number = isinstance(line.data, int | float) and line.kind is LineKind.PROGRESS
    short = replace(
        line,
        who=clip(line.who[: 2 * LONGEST_NAME], LONGEST_NAME),
        what=clip(line.what[: 2 * LONGEST_NAME], LONGEST_NAME),
        note=clip(line.note[: 2 * LONGEST_WORDS], LONGEST_WORDS),
        data=line.data if is_number else None,
    )
    return _style(headline(short)), _style(explanation(short))


def _style(parts: Sequence[Part]) -> list[StyledText]:
    both = ((part, "") if isinstance(part, str) else part for part in parts)
    return [StyledText(text, _CLASSES.get(style, "")) for text, style in both if text]


def cloud_event(event: EventEnvelope, most: int) -> str:
    """Return an event as it is sent, clipped; its data, which may be large, are not copied for that."""
    written: JsonObject = event.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"data"})
    return pretty({**written, "data": event.data}, most)


def percent(part: timedelta, whole: timedelta) -> str:
    return f"{part / whole:.0%}" if whole else "0%"


def count(number: int) -> str:
    return f"{number:,}"


def list_names(names: Iterable[str], most: int = 3) -> str:
    """Return some names, and how many more there are."""
    known = [name(one) for one in names]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more


FILTERS: Mapping[str, Callable[..., object]] = {
    "span": span,
    "offset": offset,
    "resting": resting,
    "cost": cost,
    "cost_so_far": cost_so_far,
    "short_id": short_id,
    "local_time": local_time,
    "pretty": pretty,
    "preview": preview,
    "words": words,
    "spell": spell,
    "name": name,
    "cloud_event": cloud_event,
    "percent": percent,
    "count": count,
    "list_names": list_names,
}
