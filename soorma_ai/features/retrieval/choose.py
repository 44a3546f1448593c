"""Choice of one event to publish, by a model, among the events taken by live agents now."""

from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import NotFound
from soorma_ai.features.retrieval.choice import (
    NoChoice,
    check_of_choice,
    judge_choice,
    offer_on,
    parse_choice,
    unseen_choice,
)
from soorma_ai.kernel.domain.decisions import EventDecision, OfferRoom, Showing
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.history import REASK, SELECT
from soorma_ai.kernel.domain.limits import Limits, Payer
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Reasoner
from soorma_ai.kernel.rules.choices.form import choice_form_of, digest_of
from soorma_ai.kernel.rules.choices.lookups import (
    look_up,
    must_be_possible,
    must_not_look_again,
    parse_lookup,
    refuse_unseen,
)
from soorma_ai.kernel.rules.choices.offer import Offer
from soorma_ai.kernel.rules.choices.showing import add_asked, add_schemas, needs_ranking, show_offer, still_offered
from soorma_ai.kernel.rules.decisions.prompt import ModelView, choice_inputs, query_about_state
from soorma_ai.kernel.rules.decisions.repairs import repair_step
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead, run_in_slices
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.planning.ask_model import ExtendedInquiry, Inquiry, ask_model
from soorma_ai.kernel.runtime.planning.decide import rank_choices
from soorma_ai.kernel.runtime.views.registry import Directory

_Choice: TypeAlias = EventDecision | NoChoice


class ChoiceSettings(Struct, frozen=True):
    """Settings of a choice. `max_llm_calls` is the limit of a handling outside of plans."""

    topic: EventTopic
    instructions: str
    room: OfferRoom
    max_llm_calls: int


async def offer_for_choice(handling: Handling, topic: EventTopic) -> Offer:
    """Raise NotFound where nothing is offered."""
    directory = Directory(handling.services, Person(handling.working_lineage.tenant_id))
    offer = offer_on(topic, handling.agent, await directory.live_events())
    if offer.is_empty:
        raise NotFound(
            f"no live agent offers any event on {topic} to {plain_name(handling.agent)}; start one that takes some"
        )
    return offer


async def choose(handling: Handling, settings: ChoiceSettings, reasoner: Reasoner, state: JsonObject) -> EventDecision:
    """Ask for one event. Raise as `ask_model` does, and NotFound where nothing is offered, or none of it serves."""
    offer = await offer_for_choice(handling, settings.topic)
    inquiry = _ChoiceSubject(handling, settings, offer, state).inquire(
        ModelView(await _show_now(offer, settings, state))
    )
    chosen = await ask_model(handling, reasoner, inquiry, await _payer_of(handling, settings.max_llm_calls))
    if isinstance(chosen, NoChoice):
        raise NotFound(f"the model found no event on {settings.topic} that serves: {chosen.reasoning or '(no reason)'}")
    return chosen


async def _payer_of(handling: Handling, max_llm_calls: int) -> Payer:
    """Return the plan of the delivery. A delivery without one, or of a removed one, pays for itself, all its attempts
    together."""
    if handling.has_plan:
        return handling.plan.payer
    lineage, own = handling.working_lineage, handling.idempotency_key
    plan = await handling.services.store.plans.plan(lineage.plan_id) if lineage.plan_id else None
    if plan is not None and plan.lineage.tenant_id == lineage.tenant_id:
        return plan.payer
    return Payer(own, own, Limits(max_llm_calls=max_llm_calls, max_tokens=None))


async def _show_now(offer: Offer, settings: ChoiceSettings, state: JsonObject) -> Showing:
    if not needs_ranking(offer, settings.room):
        return show_offer(offer, settings.room, (), (), None)
    ranked = await rank_choices(offer, query_about_state(state, settings.instructions))
    return show_offer(offer, settings.room, ranked, (), None)


class _ChoiceSubject(Struct, frozen=True):
    """Offer and situation of a choice, during its making."""

    handling: Handling
    settings: ChoiceSettings
    offer: Offer
    state: JsonObject

    def inquire(self, view: ModelView) -> Inquiry[_Choice]:
        inputs = choice_inputs(
            plain_name(self.handling.agent), self.settings.instructions, self.state, self.offer, view
        )
        prompt = self.handling.services.prompts.render(SELECT, inputs.values)
        form = choice_form_of(self.offer, view.showing)
        judge, again = partial(self._judge, view), partial(self._again, view)
        repair = partial(repair_step, names=self.offer.choices.keys())
        return Inquiry(prompt, inputs, REASK, form, digest_of(form), judge, view.showing, again, repair=repair)

    def _again(self, view: ModelView, shown: Showing) -> Inquiry[_Choice]:
        kept = still_offered(shown, self.offer).schemas
        return self.inquire(replace(view, showing=add_schemas(view.showing, self.offer, kept)))

    async def _judge(self, view: ModelView, value: Json, fault: str) -> "_Choice | ExtendedInquiry[_Choice]":
        if lookup := parse_lookup(value):
            must_be_possible(lookup, view.showing, refers=False)
            must_not_look_again(view.lookups)
            found = await rank_choices(self.offer, lookup.words) if lookup.words else ()
            showing, note = look_up(lookup, self.offer, view.showing, found, self.settings.room)
            return ExtendedInquiry(self.inquire(ModelView(showing, note=note, lookups=view.lookups + 1)))
        tenant_id = self.handling.working_lineage.tenant_id
        chosen = await run_in_slices(tenant_id, parse_choice(value, fault, self.offer))
        if isinstance(chosen, NoChoice):
            return chosen
        if unseen := unseen_choice(chosen, self.offer, view.showing):
            more = replace(view, showing=add_asked(view.showing, self.offer, unseen, self.settings.room))
            return ExtendedInquiry(self.inquire(more), refuse_unseen(unseen, self.offer))
        await check_ahead(tenant_id, *check_of_choice(chosen, self.offer))
        judge_choice(chosen, self.offer)
        return chosen
