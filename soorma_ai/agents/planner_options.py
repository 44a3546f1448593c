"""What is given to a planner when it is made, as its planning takes it. Each raises ConfigError for nonsense."""

from collections.abc import Iterable, Mapping
from datetime import UTC, tzinfo
from difflib import get_close_matches
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from msgspec.structs import replace

from soorma_ai.agents.arguments import describe, must_be_number
from soorma_ai.agents.contexts.plan import GoalContext
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.kernel.domain.decisions import Room
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.memos import MemoKind, Recollection
from soorma_ai.kernel.domain.registry import DiscoveredAgent
from soorma_ai.kernel.domain.values import JsonObject, clip, json_object

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
    must_be_number(who, "offer_tokens", tokens, 1)
    must_be_number(who, "offer_schemas", schemas, 1)
    return Room(tokens, schemas, tuple(pinned))


def recollection_of(name: str, kinds: Iterable[MemoKind | str], tokens: int) -> Recollection | None:
    """Raise ConfigError for a kind that there is not, and for no room."""
    if isinstance(kinds, str):
        raise ConfigError(f"planner {name}: memory={kinds!r} would be its letters; give a list of kinds")
    given = [*kinds]
    if unknown := [kind for kind in given if kind not in [*MemoKind]]:
        raise ConfigError(f"planner {name}: memory={unknown}: give some of {', '.join(MemoKind)}")
    must_be_number(f"planner {name}", "memory_tokens", tokens, 1, MOST_MEMORY_TOKENS)
    return Recollection(tuple(dict.fromkeys(map(MemoKind, given))), tokens) if given else None


def must_be_model(name: str, model: object, api_base: object, api_key: object) -> None:
    """Raise ConfigError for no name of a model, and for what belongs to one without one."""
    options = {"reasoning_model": model, "api_base": api_base, "api_key": api_key}
    for option, given in options.items():
        if given is not None and not isinstance(given, str):
            raise ConfigError(f"planner {name}: {option}={type(given).__name__}: give text")
    if model == "":
        raise ConfigError(f"planner {name}: reasoning_model='': give 'provider/model', or leave it out")
    if not model and (api_base or api_key):
        option = "api_base" if api_base else "api_key"
        raise ConfigError(f"planner {name}: {option}= is for a model: give reasoning_model='provider/model', too")


def data_of(what: str, given: Mapping[str, Any] | None) -> JsonObject:
    try:
        return json_object(what, given or {})
    except LocalProtocolError as error:
        raise ConfigError(str(error)) from error


def limits_of(limits: Limits | None, max_actions: int | None) -> Limits:
    if limits is not None and not isinstance(cast(object, limits), Limits):
        raise ConfigError(f"limits={describe(limits)}: give Limits(max_actions=20, ...)")
    if limits is None:
        return Limits() if max_actions is None else Limits(max_actions=max_actions)
    if max_actions is None or limits.max_actions == max_actions:
        return limits
    if limits.max_actions != Limits().max_actions:
        raise ConfigError(f"max_actions={max_actions} and limits.max_actions={limits.max_actions}: give it once")
    return replace(limits, max_actions=max_actions)


def chosen_agents(
    agents: DiscoveredAgent | Iterable[DiscoveredAgent] | None, goal: GoalContext
) -> list[DiscoveredAgent]:
    """Return none where None is given. Raise NotFound, which names what the goal requires, for an empty list."""
    given: object = () if agents is None else agents
    chosen: list[Any] = list(cast(Iterable[Any], given)) if isinstance(given, Iterable) else [given]
    if strange := [one for one in chosen if not isinstance(one, DiscoveredAgent)]:
        raise LocalProtocolError(
            f"create_plan takes agents as the registry finds them, found {clip(repr(strange), 200)}"
        )
    if agents is not None and not chosen:
        required = clip(repr(goal.data.get("requirements", "nothing by name")), 200)
        raise NotFound(
            f"create_plan got no agents for {goal.event_type!r}, which requires {required}: start an agent that is "
            "capable of that, or give None for the events of all agents"
        )
    return chosen
