"""Inputs of the prompts: goal, bounded history, trigger, offer.

No ids, no clock times, no costs, so that recordings match. Words of people and agents stand between fences, notes too.
Outside of them stand our own sentences and the names of events.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct, field

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.history import HISTORY_TOKENS
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.states import REJECTED, TIMEOUT, StateAction
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, identity_of
from soorma_ai.kernel.rules.choices.drafts import Material
from soorma_ai.kernel.rules.choices.index import Query
from soorma_ai.kernel.rules.choices.offer import DELEGATE, PUBLISH, WAIT, Offer
from soorma_ai.kernel.rules.choices.ranking import events_used
from soorma_ai.kernel.rules.choices.showing import lacks_schemas, line_of
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.prompting.fence import (
    ENTRY_CHARS,
    FENCE_CHARS,
    fence,
    fence_lines,
    fence_rows,
    name_in_prompt,
    with_name,
)
from soorma_ai.kernel.rules.prompting.history import SAYING_CHARS, EarlierSteps, StepLines, is_outline, show_result
from soorma_ai.kernel.rules.prompting.outline import SMALLEST_ROOM, shorten
from soorma_ai.kernel.rules.prompting.plan_text import PlanText, tell_parts_of, tell_plan
from soorma_ai.kernel.rules.prompting.spelling import clip_to_size
from soorma_ai.kernel.rules.schemas.bounded import show

# Inputs that a plan's rows hold, and those that differ from call to call.
_OF_ROWS = frozenset({"goal", "history", "trigger", "remembered"})
_OF_LOOKUPS = frozenset({"added", "added_gated", "hidden", "note"})
_OWN = _OF_LOOKUPS | {"custom_context", "seen", "remaining_actions", "at_once", "today", "trigger"}
_OWN_OF_CHOICE = _OF_LOOKUPS | {"state", "instructions"}
_OWN_OF_PLAN = frozenset({"goal", "custom_context", "remembered", "remaining_actions", "today"})
GOAL_WEIGHT, HAPPENED_WEIGHT, DONE_WEIGHT, INSTRUCTIONS_WEIGHT = 1.0, 0.7, 0.5, 0.5


class StoredInputs(Struct, frozen=True):
    """The inputs that a plan's rows hold, by their `names`: of its steps those from `first` to `last`, of the trigger
    the `text`, the words `said` and the join that it tells of. `room` is that of the history. Some `digests` are
    known."""

    names: frozenset[str]
    first: int
    last: int
    text: str = ""
    said: str = ""
    join_id: str | None = None
    room: int = HISTORY_TOKENS
    digests: Mapping[str, str] = field(default_factory=dict[str, str])


class Inputs(Struct, frozen=True):
    """Inputs declared by a prompt. `own` ones differ from call to call. `is_common`: the others are the same for every
    plan of the tenant, in the words of the owner alone. Some are `made` of the plan's rows."""

    values: JsonObject
    own: frozenset[str] = frozenset()
    is_common: bool = False
    made: StoredInputs | None = None


class Occasion(Struct, frozen=True, dict=True):
    """Subject of a decision: a plan, its last event, its spending. `in_flight` counts its open expectations."""

    plan: PlanRecord
    trigger: Trigger
    history: Sequence[StepLines] = ()
    earlier: EarlierSteps = field(default_factory=EarlierSteps)
    history_tokens: int = HISTORY_TOKENS
    custom_context: JsonObject = field(default_factory=dict[str, Json])
    spent: Spent = field(default_factory=Spent)
    in_flight: int = 0
    today: str = ""
    remembered: tuple[JsonObject, ...] = ()

    @cached_property
    def texts(self) -> "OccasionTexts":
        """Return the goal, the history and the trigger as a model is told them."""
        steps, trigger = self.history, self.trigger
        if trigger.join_id is not None:
            others = [step for step in steps if step.join_id != trigger.join_id]
            text = tell_parts_of(self.plan, others, self.history_tokens, self.earlier)
            return OccasionTexts(text, _data_of(trigger, None), is_of_step=True)
        step = steps[-1] if steps and trigger.data is not None and steps[-1].brings(trigger.data) else None
        line = step.lines.whole if step and step.is_told_whole else None
        told = steps[:-1] if step and not line else steps
        text = tell_plan(self.plan, told, self.history_tokens, self.earlier)
        if step and line and text.last is line:
            return OccasionTexts(text, "", is_of_step=True, at=f"step{step.ordinal}")
        return OccasionTexts(text, _data_of(trigger, step), is_of_step=step is not None)

    @property
    def made(self) -> StoredInputs:
        """Return the inputs to be made again from rows. A trigger outside of the steps is none of them."""
        steps, trigger, digests = self.history, self.trigger, self.texts.plan.digests
        first, last = (steps[0].ordinal, steps[-1].ordinal) if steps else (0, -1)
        if not self.texts.is_of_step:
            return StoredInputs(_OF_ROWS - {"trigger"}, first, last, room=self.history_tokens, digests=digests)
        return StoredInputs(
            _OF_ROWS, first, last, trigger.text, trigger.said, trigger.join_id, self.history_tokens, digests
        )


class ModelView(Struct, frozen=True):
    """Parts shown to a model for one answer, after so many `lookups` of its own: parts of results by their paths, and a
    `note` of ours about the last lookup."""

    showing: Showing
    seen: Mapping[str, Json] = field(default_factory=dict[str, Json])
    note: str = ""
    lookups: int = 0


class OccasionTexts(Struct, frozen=True):
    """Texts about an occasion. `is_of_step`: the data of the trigger stand in steps; `at` is the step whose line in the
    history has them, and then the `trigger` has none."""

    plan: PlanText
    trigger: str
    is_of_step: bool
    at: str = ""

    @property
    def has_outlines(self) -> bool:
        """Tell whether some value is told in outline."""
        return self.plan.has_outlines or is_outline(self.trigger)


def tell(occasion: Occasion) -> JsonObject:
    """Return the inputs about the history."""
    trigger, told = occasion.trigger, occasion.texts
    return {
        "goal": told.plan.goal,
        "history": told.plan.history,
        "trigger": {
            "text": with_name(trigger.text, trigger.name),
            "said": fence(trigger.said, SAYING_CHARS) if trigger.said and not told.at else "",
            "data": told.trigger,
            "at": told.at,
        },
        "remembered": _memories_of(occasion),
    }


def _context_of(occasion: Occasion) -> str:
    return fence(occasion.custom_context) if occasion.custom_context else ""


def _memories_of(occasion: Occasion) -> str:
    return fence_rows(occasion.remembered) if occasion.remembered else ""


def decide_inputs(occasion: Occasion, offer: Offer, view: ModelView, *, instructions: str, strategy: str) -> Inputs:
    """Return the inputs that the decide prompt declares."""
    plan, showing = occasion.plan, view.showing
    most = plan.limits.max_parallel
    left = _actions_left(plan, occasion.spent)
    free = None if most is None else max(0, most - occasion.in_flight)
    at_once = free if left is None else left if free is None else min(left, free)
    values: JsonObject = {
        **tell(occasion),
        "agent": plain_name(plan.agent),
        "instructions": instructions,
        "strategy": strategy,
        **offer_inputs(offer, showing, most),
        "refers": occasion.texts.has_outlines,
        "custom_context": _context_of(occasion),
        "seen": [{"path": name_in_prompt(path), "data": fence(data)} for path, data in view.seen.items()],
        "note": view.note,
        "remaining_actions": left,
        "at_once": at_once,
        "today": occasion.today,
    }
    return Inputs(values, _OWN, _shows_all(showing), occasion.made)


def offer_inputs(offer: Offer, showing: Showing, most: int | None) -> JsonObject:
    """Return the inputs about the shown part of an offer; `most` requests may be open together."""
    return _inputs_of_offer(identity_of(offer), showing, most is None or most > 1)


# What is offered stays the same from one decision to the next, of one plan and of all plans that see all of it.
@lru_cache(maxsize=64)
def _inputs_of_offer(same: Same[Offer], showing: Showing, takes_several: bool) -> JsonObject:
    """Return the inputs that tell of the shown part of an offer. `takes_several`: several requests may be open."""
    offer = same()
    kinds = {name.partition(":")[0] for name in (*showing.lines, *showing.added)}
    return {
        "choices": _lines(showing.lines, offer),
        "gated": _gates(showing.lines, offer),
        "can_publish": PUBLISH[:-1] in kinds,
        "several": takes_several and any(name.startswith(PUBLISH) for name in showing.schemas),
        "can_delegate": DELEGATE[:-1] in kinds,
        "can_wait": WAIT[:-1] in kinds,
        "lacks_schemas": showing.hidden > 0 or lacks_schemas(showing),
        "added": _lines(showing.added, offer),
        "added_gated": _gates(showing.added, offer),
        "hidden": showing.hidden,
    }


def choice_inputs(agent: str, instructions: str, state: JsonObject, offer: Offer, view: ModelView) -> Inputs:
    """Return the inputs that the select prompt declares."""
    showing = view.showing
    values: JsonObject = {
        "agent": agent,
        "instructions": instructions,
        "choices": _lines(showing.lines, offer),
        "gated": _gates(showing.lines, offer),
        "lacks_schemas": showing.hidden > 0 or lacks_schemas(showing),
        "state": fence(state),
        "added": _lines(showing.added, offer),
        "added_gated": _gates(showing.added, offer),
        "note": view.note,
        "hidden": showing.hidden,
    }
    return Inputs(values, _OWN_OF_CHOICE, _shows_all(showing))


def _shows_all(showing: Showing) -> bool:
    """Tell whether nothing was chosen: every plan is shown the same."""
    return not showing.hidden and not showing.added


def _lines(names: tuple[str, ...], offer: Offer) -> str:
    return _lines_of(names, identity_of(offer)) if names else ""


def _gates(names: tuple[str, ...], offer: Offer) -> str:
    return _gates_of(names, identity_of(offer)) if names else ""


@lru_cache(maxsize=64)
def _lines_of(names: tuple[str, ...], same: Same[Offer]) -> str:
    return fence_lines({name: line_of(same().choices[name]) for name in names})


@lru_cache(maxsize=64)
def _gates_of(names: tuple[str, ...], same: Same[Offer]) -> str:
    gated = (name for name in names if not name.startswith(WAIT) and same().choices[name].approval)
    return ", ".join(map(name_in_prompt, gated))


def plan_inputs(occasion: Occasion, *, instructions: str, material: Material) -> Inputs:
    """Return the inputs that the plan prompt declares."""
    plan, offer = occasion.plan, material.offer
    values: JsonObject = {
        "agent": plain_name(plan.agent),
        "instructions": instructions,
        "goal": {"name": name_in_prompt(plan.goal_event), "data": fence(shorten(plan.goal_data, FENCE_CHARS))},
        "custom_context": _context_of(occasion),
        "remembered": _memories_of(occasion),
        "requests": [_plan_entry(definition, material) for definition in material.requests.values()],
        "waits": [
            {"named": _name(one.definition), "schema": fence(show(one.definition.payload_schema).told)}
            for one in offer.waits
        ],
        "result_schema": fence(show(offer.result_schema).told) if offer.result_schema else "",
        "remaining_actions": _actions_left(plan, occasion.spent),
        "today": occasion.today,
    }
    return Inputs(values, _OWN_OF_PLAN)


def _data_of(trigger: Trigger, step: StepLines | None) -> str:
    """Return the fenced data, by the name of the step that brought it. Each of several results gets its share of the
    room, so that none crowds out the next."""
    data = trigger.data
    if data is None:
        return ""
    if trigger.join_id is not None and isinstance(data, list):
        share = FENCE_CHARS // max(1, len(data))
        return fence([shorten(item, max(share, SMALLEST_ROOM)) for item in data], 2 * FENCE_CHARS)
    return show_result(step.ordinal, data) if step else fence(shorten(data, FENCE_CHARS))


def _actions_left(plan: PlanRecord, spent: Spent) -> int | None:
    most = plan.limits.max_actions
    return None if most is None else max(0, most - spent.actions)


def _plan_entry(definition: EventDefinition, material: Material) -> JsonObject:
    """Describe a request. `after` are the names of its reply in transitions."""
    name = definition.event_name
    after = material.after(StateAction(event_type=name, timeout_seconds=1))
    return {
        "named": _name(definition),
        "note": "a person must approve it" if definition.approval else "",
        "answer": fence(show(definition.response_schema).told) if definition.response_schema else "",
        "after": ", ".join(name_in_prompt(one) for one in after if one not in (TIMEOUT, REJECTED)),
    }


def _name(definition: EventDefinition) -> str:
    about: JsonObject = {"called": definition.event_name}
    if description := definition.description:
        about["description"] = clip_to_size(description, ENTRY_CHARS // 2)
    return fence(about, ENTRY_CHARS)


def query_about(occasion: Occasion, instructions: str) -> Query:
    """Return the subject of a decision: the goal, the last event, the last actions, the owner's instructions."""
    plan, trigger = occasion.plan, occasion.trigger
    return Query(
        (
            (f"{plan.goal_event} {_text_of(plan.goal_data)}", GOAL_WEIGHT),
            (f"{trigger.name} {recent_words(occasion)}", HAPPENED_WEIGHT),
            (" ".join(events_used(occasion.history)), DONE_WEIGHT),
            (instructions, INSTRUCTIONS_WEIGHT),
        )
    )


def recent_words(occasion: Occasion) -> str:
    """Return the words of the last event; none for the goal itself."""
    trigger = occasion.trigger
    data = "" if trigger.data is None else _text_of(trigger.data)
    return f"{trigger.said} {data}".strip()


def query_about_state(state: JsonObject, instructions: str) -> Query:
    """Return the subject of a choice outside of any plan: the words of its author."""
    return Query(((_text_of(state), GOAL_WEIGHT), (instructions, INSTRUCTIONS_WEIGHT)))


def _text_of(value: Json) -> str:
    """Return a value as text, with the words of every language unescaped."""
    return json.dumps(value, ensure_ascii=False)
