"""Moments, spans, costs and payloads in words for people."""

import json
from datetime import datetime, timedelta

from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.domain.limits import Limits, Reserved, Spent
from soorma_ai.kernel.domain.plans import Rest
from soorma_ai.kernel.domain.values import Json, clip
from soorma_ai.surfaces.terminal.escapes import one_line, printable

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
SHORT_ID = 8
OFFSET_WIDTH = 14  # of "+59 min 59 s", "+23 h 59 min", "+9999 d 23 h", and a gap


def span(length: timedelta) -> str:
    """Return the two greatest units: `3 h 4 min`; under a minute `1.2 s`, under a second `40 ms`."""
    seconds = length.total_seconds()
    if seconds < 0:
        return f"-{span(-length)}"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.0005 else "0 s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    left, parts = round(seconds), list[str]()
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
    return " ".join(part for part in parts[:2] if part)


def offset(time: timedelta) -> str:
    return f"+{span(time)}" if time >= timedelta(0) else span(time)


def offset_cell(time: timedelta) -> str:
    """Return the offset as a cell of a column with milliseconds and years alike."""
    return f"{offset(time):<{OFFSET_WIDTH}}"


def portion(progress: Json) -> str:
    """Return a part of a whole in percent, and a number of another kind as it is."""
    return f"{progress:.0%}" if isinstance(progress, int | float) and 0 <= progress <= 1 else json_line(progress)


def ago(moment: datetime, now: datetime) -> str:
    return f"{span(max(now - moment, timedelta(0)))} ago"


def time_left(deadline: datetime | None, now: datetime) -> str:
    if deadline is None:
        return "no deadline"
    left = deadline - now
    return f"{span(left)} left" if left > timedelta(0) else f"overdue by {span(-left)}"


def local_time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def resting(rest: Rest) -> str:
    return "retrying" if rest.until is None else f"sleeps until {local_time(rest.until)}"


def json_line(value: Json, size: int | None = None) -> str:
    """Return JSON on one line, clipped to `size` characters if one is given."""
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if size is None else clip(text, size)


def short_id(id: str) -> str:
    return printable(id[:SHORT_ID])


def cost(usd: float | None) -> str:
    """Return dollars; a small price gets enough digits to differ from nothing."""
    if usd is None:
        return "price unknown"
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def cost_so_far(spent: Spent) -> str:
    """Return the cost in words. A part of unknown price makes it a least amount, or unknown."""
    if spent.cost_usd is None and spent.at_least_usd > 0:
        return f"at least {cost(spent.at_least_usd)}"
    return cost(spent.cost_usd)


def call_facts(entry: JournalEntry) -> str:
    """Return model, tokens in and out, how many of the first the provider had kept, cost and latency."""
    tokens = f"{entry.prompt_tokens:,}+{entry.completion_tokens:,} tokens"
    if entry.cached_tokens:
        tokens = f"{tokens} ({entry.cached_tokens:,} cached)"
    return f"{one_line(entry.model)}, {tokens}, {cost(entry.cost_usd)}, {span(entry.latency)}"


def spending(spent: Spent, limits: Limits) -> str:
    def part(used: str, most: str | None, what: str) -> str:
        return f"{used} of {most} {what}" if most is not None else f"{used} {what}"

    return ", ".join(
        (
            part(str(spent.actions), _count(limits.max_actions), "actions"),
            part(str(spent.llm_calls), _count(limits.max_llm_calls), "model calls"),
            part(f"{spent.tokens:,}", _count(limits.max_tokens), "tokens"),
            _dollars(spent, limits),
            *_reserved(spent.reserved),
        )
    )


def _dollars(spent: Spent, limits: Limits) -> str:
    if spent.cost_usd is None:
        return f"{cost_so_far(spent)} spent" if spent.at_least_usd > 0 else "price unknown"
    most = limits.max_cost_usd
    return f"{cost(spent.cost_usd)}{'' if most is None else f' of {cost(most)}'} spent"


def _reserved(held: Reserved) -> list[str]:
    """Return the possible cost of calls in flight, in words."""
    if not held.tokens:
        return []
    dollars = f" and {cost(held.cost_usd)}" if held.cost_usd else ""
    return [f"{held.tokens:,} tokens{dollars} reserved"]


def _count(most: int | None) -> str | None:
    return None if most is None else f"{most:,}"
