"""What is given to a planner when it is made, as its planning takes it. Each raises ConfigError for nonsense."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, tzinfo
from difflib import get_close_matches
from typing import cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from soorma_ai.domain.decisions import Room
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.memos import MemoKind, Recollection
from soorma_ai.errors import ConfigError

MEMORY_TOKENS = 1_000
MOST_MEMORY_TOKENS = 20_000


def zone_of(what: str, planner: str, name: object) -> tzinfo:
    """Raise ConfigError for what is no name of a time zone. UTC is known without the system's table of them."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(cast(str, name))
    except (ZoneInfoNotFoundError, ValueError, TypeError, AttributeError, OSError) as error:
        close = get_close_matches(str(name), available_timezones(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ConfigError(
            f"planner {planner}: {what}={name!r} is no time zone that is known here{hint} Give a name like 'UTC' or "
            "'Europe/Berlin'; where the system has no table of them, pip install tzdata"
        ) from error


def room_of(who: str, tokens: int, schemas: int, pinned: Iterable[str]) -> Room:
    """Raise ConfigError, which names `who` gave it, for room in which nothing can be shown."""
    if isinstance(pinned, str):
        raise ConfigError(f"{who}: pinned_events={pinned!r} would be its letters; give a list of names")
    if tokens < 1 or schemas < 1:
        raise ConfigError(f"{who}: offer_tokens={tokens!r} and offer_schemas={schemas!r} must be 1 at least")
    return Room(tokens, schemas, tuple(pinned))


def recollection_of(name: str, kinds: Iterable[MemoKind | str], tokens: int) -> Recollection | None:
    """Raise ConfigError for a kind that there is not, and for no room."""
    if isinstance(kinds, str):
        raise ConfigError(f"planner {name}: memory={kinds!r} would be its letters; give a list of kinds")
    given = [*kinds]
    if unknown := [kind for kind in given if kind not in [*MemoKind]]:
        raise ConfigError(f"planner {name}: memory={unknown}: give some of {', '.join(MemoKind)}")
    if not 1 <= tokens <= MOST_MEMORY_TOKENS:
        raise ConfigError(f"planner {name}: memory_tokens={tokens!r}: give 1 to {MOST_MEMORY_TOKENS:,}")
    return Recollection(tuple(dict.fromkeys(map(MemoKind, given))), tokens) if given else None


def limits_of(limits: Limits | None, max_actions: int | None) -> Limits:
    if limits is None:
        return Limits() if max_actions is None else Limits(max_actions=max_actions)
    if max_actions is None or limits.max_actions == max_actions:
        return limits
    if limits.max_actions != Limits.max_actions:
        raise ConfigError(f"max_actions={max_actions} and limits.max_actions={limits.max_actions}: give it once")
    return replace(limits, max_actions=max_actions)
