"""Options of a planner, and its settings. Each function raises ConfigError for nonsense."""

from collections.abc import Iterable, Mapping
from datetime import UTC, timedelta, tzinfo
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from msgspec.structs import replace
from typing_extensions import TypedDict

from soorma_ai.agents.agent import AgentOptions, EventLike, definitions_of, span
from soorma_ai.agents.arguments import describe, must_be_number, must_have
from soorma_ai.agents.contexts.plan import GoalContext
from soorma_ai.context_parts import RECALL
from soorma_ai.context_parts.memos import MemoKind, Recollection
from soorma_ai.embeddings.semantic_search import SemanticSearch
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.kernel.domain.approvals import HelpRequest
from soorma_ai.kernel.domain.decisions import OfferRoom
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.history import HISTORY_TOKENS
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.registry import DiscoveredAgent
from soorma_ai.kernel.domain.values import JsonObject, clip, json_object
from soorma_ai.kernel.ports import Embedder, ModelOptions, ModelSettings, Reasoner
from soorma_ai.kernel.rules.plans.carry_out import PlanTerms
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.planning.settings import PlannerSettings, Recall, without_model

MEMORY_TOKENS = 1_000
MOST_MEMORY_TOKENS = 20_000
LEAST_HISTORY_TOKENS = 500

Strategy = Literal["balanced", "conservative", "aggressive"]
OnGiveUp = Literal["fail", "ask"] | HelpRequest
STRATEGIES: tuple[Strategy, ...] = ("balanced", "conservative", "aggressive")


class RoomOptions(TypedDict, total=False):
    """Options for the offer of events in a request to a model. The offer holds all schemas of live events as long as
    they fit. Otherwise it holds a line for each event and some schemas; the model asks for further ones."""

    offer_tokens: int
    """Tokens for the lines; 4,000 by default."""
    offer_schemas: int
    """Most schemas beside the lines at a plan's beginning; 30 by default."""
    pinned_events: Iterable[str]
    """Events whose schemas are always shown."""


class PlannerOptions(AgentOptions, RoomOptions, ModelOptions, total=False, extra_items=Any):
    """Options of a planner, of its model, and of every agent. Others go to the model's provider with every call."""

    goals: Iterable[EventLike]
    """Events that begin a plan: names, or `EventDefinition`s."""
    title: str
    """Title of each plan in lists and pages, with fields of its goal data: "Refund {ticket_id}"."""
    external_events: Iterable[EventLike]
    """Events without a live producer, for plans to wait for: a person's reply, a callback. An early one is kept for its
    wait."""
    limits: Limits | None
    """Limits of a plan's whole tree; by default `Limits()`."""
    max_actions: int | None
    """`limits.max_actions`."""
    reply_timeout: timedelta | None
    """Longest wait for the answer to a request of the model; then the plan decides again. By default a plan waits until
    its deadline, as for a delegated goal."""
    on_give_up: OnGiveUp
    """Consequence of a model that gives up: "fail" (the default) ends the plan. "ask" first asks a person: the answer
    is a hint or data, and a rejection ends the plan. `HelpRequest(approvers=..., timeout=..., reminders=...)` asks in
    the same way, with these roles and times."""
    reasoning_model: str | None
    """Model in litellm's words, as "openai/gpt-4o"."""
    reasoner: Reasoner | None
    """Reasoner in the place of `reasoning_model` and its options."""
    system_instructions: str
    """Instructions of the author, for the model."""
    planning_strategy: Strategy
    """"balanced" (the default), "conservative" or "aggressive"."""
    tells_date_in: str | None
    """Time zone, as "Europe/Berlin" or "UTC": the prompt names the date there on the day of the decision. Without it,
    the model knows no "tomorrow"."""
    history_tokens: int
    """Most tokens of a plan's history in a prompt; 6,000 by default. Words of people and failures stay when their steps
    are left out."""
    earlier_plans: int
    """Number of earlier plans of the same user and session in the prompt, each with its result in short."""
    memory: Iterable[MemoKind | str]
    """Kinds of memory in the prompt, found by the goal: "knowledge", "interaction", "skill"."""
    memory_tokens: int
    """Most tokens of it; 1,000 by default."""
    embedder: Embedder | None
    """Embedder: events are then found by their meaning, too, and not by words alone."""


def settings_of(name: str, version: str, prompt_id: str | None, options: PlannerOptions) -> PlannerSettings:
    """Return the settings of a planner before its start."""
    who, timeout, zone = f"planner {name}", options.get("reply_timeout"), options.get("tells_date_in")
    strategy, earlier_plans = options.get("planning_strategy", "balanced"), options.get("earlier_plans", 0)
    if strategy not in STRATEGIES:
        raise ConfigError(f"planning_strategy={strategy!r}: give balanced, conservative or aggressive")
    must_be_number(who, "earlier_plans", earlier_plans, 0)
    reasoner, embedder = options.get("reasoner"), options.get("embedder")
    must_have(who, "reasoner", reasoner, "ask", "a Reasoner; the name of a model is reasoning_model=")
    must_have(who, "embedder", embedder, "embed", "an Embedder")
    external = definitions_of("external_events", options.get("external_events", ()), EventTopic.BUSINESS_FACTS)
    return PlannerSettings(
        name=name,
        version=version,
        prompt_id=prompt_id,
        limits=limits_of(options.get("limits"), options.get("max_actions")),
        terms=PlanTerms(None if timeout is None else span("reply_timeout", name, timeout), _help_of(options)),
        reasoner=reasoner,
        instructions=options.get("system_instructions", ""),
        strategy=strategy,
        awaits=tuple(external),
        room=room_of(who, options),
        rank=SemanticSearch(embedder).rank if embedder else None,
        zone=None if zone is None else zone_of("tells_date_in", name, zone),
        recall=recall_of(name, options.get("memory", ()), options.get("memory_tokens", MEMORY_TOKENS)),
        earlier_plans=earlier_plans,
        history_tokens=history_tokens_of(who, options),
        title=must_be_text("title", name, options.get("title", "")),
    )


def _help_of(options: PlannerOptions) -> HelpRequest | None:
    """Return the question before a plan gives up; None without one. Raise ConfigError."""
    given: object = options.get("on_give_up", "fail")
    match given:
        case "fail":
            return None
        case "ask":
            return HelpRequest()
        case HelpRequest():
            return given
        case _:
            raise ConfigError(f"on_give_up={given!r}: give fail, ask or HelpRequest(approvers=...)")


def model_settings_of(kind: str, name: str, options: PlannerOptions, *, is_needed: bool) -> ModelSettings | None:
    """Return the model's settings; None without a model. Raise ConfigError for a misspelt option: it would go to the
    provider."""
    model, base, key = options.get("reasoning_model"), options.get("api_base"), options.get("api_key")
    extra = {option: value for option, value in options.items() if option not in _OWN}
    for option in extra:
        known = [] if option in ModelOptions.__annotations__ else _LONG_NAMES
        if close := get_close_matches(option, known, n=1, cutoff=0.8):
            raise ConfigError(f"{kind} has no parameter {option!r}; did you mean {close[0]!r}?")
        if model is None:
            raise ConfigError(f"{kind} has no parameter {option!r}, and no model that could take it")
    if is_needed and not model and options.get("reasoner") is None:
        raise ConfigError(without_model(name))
    must_be_model(name, model, base, key)
    return ModelSettings(model, base, key, options.get("temperature"), extra) if model else None


# What `ModelSettings` has fields for, and all that is not about the model.
_OWN = {*PlannerOptions.__annotations__} - {*ModelOptions.__annotations__} | {"api_base", "api_key", "temperature"}
# Short names are close to many.
_LONG_NAMES = [name for name in PlannerOptions.__annotations__ if len(name) > 4]


def must_be_text(what: str, planner: str, given: object) -> str:
    """Return the text. Raise ConfigError for anything else."""
    if not isinstance(given, str):
        raise ConfigError(f"planner {planner}: {what}={describe(given)}: give text, as 'Refund {{ticket_id}}'")
    return given


def zone_of(what: str, planner: str, name: object) -> tzinfo:
    """Return the time zone. Raise ConfigError for an unknown name. UTC is known without the system's table of zones."""
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


def history_tokens_of(who: str, options: PlannerOptions) -> int:
    """Return the room of a history. Raise ConfigError for less than a step takes."""
    tokens = options.get("history_tokens", HISTORY_TOKENS)
    must_be_number(who, "history_tokens", tokens, LEAST_HISTORY_TOKENS)
    return tokens


def room_of(who: str, options: RoomOptions) -> OfferRoom:
    """Return the room for an offer. Raise ConfigError, with `who` in its text, for room without space for an event."""
    tokens, schemas = options.get("offer_tokens", OfferRoom().tokens), options.get("offer_schemas", OfferRoom().schemas)
    pinned = options.get("pinned_events", ())
    if isinstance(pinned, str):
        raise ConfigError(f"{who}: pinned_events={pinned!r} would be its letters; give a list of names")
    must_be_number(who, "offer_tokens", tokens, 1)
    must_be_number(who, "offer_schemas", schemas, 1)
    return OfferRoom(tokens, schemas, tuple(pinned))


def recall_of(name: str, kinds: Iterable[MemoKind | str], tokens: int) -> Recall | None:
    """Return the recall of memos of these kinds; None without a kind. Raise ConfigError for an unknown kind, and for
    too few tokens."""
    if isinstance(kinds, str):
        raise ConfigError(f"planner {name}: memory={kinds!r} would be its letters; give a list of kinds")
    given = [*kinds]
    if unknown := [kind for kind in given if kind not in [*MemoKind]]:
        raise ConfigError(f"planner {name}: memory={unknown}: give some of {', '.join(MemoKind)}")
    must_be_number(f"planner {name}", "memory_tokens", tokens, 1, MOST_MEMORY_TOKENS)
    return partial(_recall, Recollection(tuple(dict.fromkeys(map(MemoKind, given))), tokens)) if given else None


async def _recall(recollection: Recollection, handling: Handling, words: str) -> tuple[JsonObject, ...]:
    return await handling.part(RECALL)(recollection, words)


def must_be_model(name: str, model: object, api_base: object, api_key: object) -> None:
    """Raise ConfigError for an invalid name of a model, and for options of a model without one."""
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
    """Return the agents as a list, empty for None. Raise NotFound, with the goal's requirements, for an empty list."""
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
