"""Lookups: a model's requests for more before its decision. They are no decisions, and no refused answers."""

from collections.abc import Sequence

from msgspec import Struct

from soorma_ai.errors import MalformedDecision, NotAllowed, PayloadMismatch
from soorma_ai.kernel.domain.decisions import (
    CompleteAction,
    DelegateAction,
    OfferRoom,
    PlanAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    Showing,
    WaitAction,
)
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact
from soorma_ai.kernel.rules.choices.form import FIND_EVENTS, FIND_STEPS, NEED_SCHEMA, SEE_RESULT
from soorma_ai.kernel.rules.choices.offer import PUBLISH, Offer, goal_choice
from soorma_ai.kernel.rules.choices.showing import MOST_ASKED, add_asked, add_found, lacks_schemas
from soorma_ai.kernel.rules.schemas.bounded import show

MOST_LOOKUPS = 3
WORDS_CHARS = 1_000
WHOLE_CHARS = 10_000

_LOOKUPS = (NEED_SCHEMA, FIND_EVENTS, SEE_RESULT, FIND_STEPS)


class Lookup(Struct, frozen=True):
    """Exactly one of: choices whose schemas are asked for, words of further events, the path of a result, words of
    earlier steps."""

    choices: tuple[str, ...] = ()
    words: str = ""
    path: str = ""
    about: str = ""


def parse_lookup(value: Json) -> Lookup | None:
    """Return the lookup; None for any other answer. Raises MalformedDecision."""
    step = value.get("step") if isinstance(value, dict) else None
    if not isinstance(step, dict) or step.get("action") not in _LOOKUPS:
        return None
    match step:
        case {"action": "need_schema", "events": [*names], **others} if 0 < len(names) <= MOST_ASKED:
            found = Lookup(choices=tuple(name for name in names if isinstance(name, str)))
        case {"action": "find_events", "words": str(words), **others} if words.strip():
            found = Lookup(words=words[:WORDS_CHARS])
        case {"action": "find_steps", "words": str(words), **others} if words.strip():
            found = Lookup(about=words[:WORDS_CHARS])
        case {"action": "see_result", "path": str(path), **others} if path.strip():
            found = Lookup(path=path)
        case _:
            wanted = "`events`, a list of names" if step["action"] == NEED_SCHEMA else "its one text"
            raise MalformedDecision(f"{step['action']!r} needs {wanted}, found {compact(step)[:200]}")
    if others:
        raise MalformedDecision(
            f"'step' holds {', '.join(map(repr, sorted(others)))}; {step['action']!r} takes no such fields"
        )
    return found


def must_be_possible(lookup: Lookup, showing: Showing, *, refers: bool) -> None:
    """Raise NotAllowed, in words that end it, for a lookup that is no branch of the schema."""
    if lookup.choices and not lacks_schemas(showing) and not showing.hidden:
        raise NotAllowed("every action is shown with its schema, so nothing can be asked for; decide now")
    if lookup.words and not showing.hidden:
        raise NotAllowed("all that there is stands in the list, so nothing else can be found; decide now")
    if lookup.path and not refers:
        raise NotAllowed("all results are shown whole, so no part of one can be asked for; decide now")


def choices_named(lookup: Lookup, offer: Offer) -> list[str]:
    """Return the named choices; an event may be named without its action."""
    found: list[str] = []
    for name in lookup.choices:
        found += [name] if name in offer.choices else offer.choices_about.get(name.removeprefix(PUBLISH), ())
    return found


def look_up(
    lookup: Lookup, offer: Offer, showing: Showing, found: Sequence[str], room: OfferRoom
) -> tuple[Showing, str]:
    """Return the new showing with the requested events, and a message if it is the same. `found` are results of the
    lookup's words."""
    if lookup.words:
        shown = add_found(showing, offer, found, room)
        return shown, "" if shown != showing else "Nothing more was found by these words."
    named = choices_named(lookup, offer)
    if not named:
        return showing, "None of what you named is offered; name it as it is listed."
    shown = add_asked(showing, offer, named, room)
    return shown, "" if shown != showing else "The schemas that you asked for are shown already."


def must_not_look_again(lookups: int) -> None:
    if lookups >= MOST_LOOKUPS:
        raise NotAllowed(f"{MOST_LOOKUPS} times you have asked to see more; decide now, by what you have been shown")


def unseen_in(decision: PlannerDecision, offer: Offer, showing: Showing) -> list[str]:
    """Return the choices that were decided for although their schema has not been shown."""
    named = [_choice_of(action) for action in _each(decision.next_action)]
    return [name for name in dict.fromkeys(named) if name in offer.choices and name not in showing.schemas]


def refuse_unseen(names: Sequence[str], offer: Offer) -> NotAllowed:
    """Return the refusal, which brings the schemas."""
    few = names[:MOST_ASKED]
    told = "; ".join(f"the schema of {name}: {compact(offer.choices[name].payload_schema)}" for name in few)
    named = clip(", ".join(few), WHOLE_CHARS // 10)
    return NotAllowed(
        f"{named}: the schema of its data had not been shown to you, so nothing was done; {clip(told, WHOLE_CHARS)}"
    )


def with_whole_schemas(fault: PayloadMismatch, decision: PlannerDecision, offer: Offer) -> PayloadMismatch:
    """Return the fault with the full schemas of the decided events that were in outline only."""
    wanted = dict(schema for one in _each(decision.next_action) if (schema := _schema_wanted(one, offer)))
    told = [f"the schema of {name}: {compact(wanted[name])}" for name in wanted if show(wanted[name]).cut]
    return PayloadMismatch(f"{fault}; {clip('; '.join(told), WHOLE_CHARS)}") if told else fault


def _each(action: PlanAction) -> Sequence[PlanAction]:
    match action:
        case PublishAllAction(requests=requests):
            return requests
        case PublishAction() | DelegateAction() | WaitAction() | CompleteAction():
            return (action,)


def _choice_of(action: PlanAction) -> str:
    match action:
        case PublishAction(event_type=name):
            return PUBLISH + name
        case DelegateAction(target_planner=planner, goal_event=goal):
            return goal_choice(planner, goal)
        case PublishAllAction() | WaitAction() | CompleteAction():
            return ""


def _schema_wanted(action: PlanAction, offer: Offer) -> tuple[str, JsonObject] | None:
    match action:
        case CompleteAction():
            return ("the result", offer.result_schema) if offer.result_schema else None
        case PublishAction() | PublishAllAction() | DelegateAction() | WaitAction():
            definition = offer.choices.get(_choice_of(action))
            return (definition.event_name, definition.payload_schema) if definition else None
