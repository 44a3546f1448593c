"""Decisions of a model about a plan's next step, or about all of its steps, in the present state."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import PayloadMismatch
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    OfferRoom,
    PlannerDecision,
    Showing,
    fingerprint,
    rejection_of,
    requests_in,
)
from soorma_ai.kernel.domain.effects import PlanChange
from soorma_ai.kernel.domain.history import PLAN, REASK, REPLAN
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.registry import DiscoveredAgent
from soorma_ai.kernel.domain.states import PlanDefinition
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Clock, QuestionFacts
from soorma_ai.kernel.rules.choices.drafts import Material, gather_material, narrow, parse_machine, prepare_machine
from soorma_ai.kernel.rules.choices.form import digest_of, form_of
from soorma_ai.kernel.rules.choices.index import Query
from soorma_ai.kernel.rules.choices.lookups import (
    Lookup,
    look_up,
    must_be_possible,
    must_not_look_again,
    parse_lookup,
    refuse_unseen,
    unseen_in,
    with_whole_schemas,
)
from soorma_ai.kernel.rules.choices.offer import WAIT, Offer, make_offer
from soorma_ai.kernel.rules.choices.ranking import MOST_RANKED, choices_near, choices_of, rank
from soorma_ai.kernel.rules.choices.showing import (
    add_asked,
    add_near,
    add_schemas,
    needs_ranking,
    show_offer,
    still_offered,
)
from soorma_ai.kernel.rules.choices.step_search import find_parts
from soorma_ai.kernel.rules.decisions.judge import (
    Situation,
    checks_of,
    judge,
    must_be_possible_at_once,
    prepare_decision,
)
from soorma_ai.kernel.rules.decisions.prompt import (
    ModelView,
    Occasion,
    decide_inputs,
    plan_inputs,
    query_about,
    recent_words,
)
from soorma_ai.kernel.rules.decisions.repairs import repair_step
from soorma_ai.kernel.rules.decisions.review import review
from soorma_ai.kernel.rules.decisions.wire_form import parse_decision
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.prompting.history import RESULT_TOKENS, EarlierSteps, StepLines, add_earlier, first_to_read
from soorma_ai.kernel.rules.prompting.references import (
    parse_reference,
    resolve_decision,
    results_of,
    slice_of,
    steps_referred_to,
)
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead, run_in_slices
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.planning.ask_model import ExtendedInquiry, Inquiry, ask_model
from soorma_ai.kernel.runtime.planning.settings import Means, PlannerSettings
from soorma_ai.kernel.runtime.views.registry import Directory

Check = Callable[[AcceptedDecision], Awaitable[None]]

# Of so many events a whole plan is drawn, where not all of their schemas fit.
DRAWN_FROM = 40


async def offer_now(handling: Handling, settings: PlannerSettings | None = None) -> Offer:
    """Return the offer of live agents' events; with `settings`, also of possible waits and of the goal's answer."""
    plan, store = handling.plan, handling.services.store
    now = handling.services.clock.now()
    await handling.services.presence.confirm(store.registry, now)
    live = await store.registry.live_events(plan.lineage.tenant_id, now)
    if settings is None:
        return make_offer(plan.agent, live, (), None)
    return make_offer(plan.agent, live, settings.awaits, settings.result_schemas.get(plan.goal_event))


def situation_now(handling: Handling, offer: Offer, mark: str, decision: PlannerDecision | None = None) -> Situation:
    """Return the facts for a judgement; with a model's `decision`, also people's reasons for rejections of the same."""
    state = handling.state
    marked = state.marks
    rejections = [rejection_of(*request) for request in requests_in(decision)] if decision else []
    return Situation(
        plan=state.plan,
        offer=offer,
        spent=state.spent,
        now=handling.services.clock.now(),
        in_flight=handling.in_flight,
        repeats=marked[mark].count if mark in marked else 0,
        rejected={one: marked[one].note for one in rejections if one in marked},
    )


class StepQuestion(Struct, frozen=True):
    """Question for one step: its trigger, and the context of the author. `check` raises DecisionError for a step that
    is not to be taken. For `acts_at_once` see `Inquiry`."""

    trigger: Trigger
    custom: JsonObject
    acts_at_once: bool = False
    check: Check | None = None


async def decide(
    handling: Handling, settings: PlannerSettings, offer: Offer, question: StepQuestion
) -> AcceptedDecision:
    """Ask for one step. Raise as `ask_model` does."""
    plan = handling.plan
    earlier, history = await _history(handling, first_to_read(plan.steps))
    occasion = Occasion(
        plan,
        question.trigger,
        history=history,
        earlier=earlier,
        history_tokens=settings.history_tokens,
        custom_context={**handling.values.session, **question.custom},
        spent=handling.state.spent,
        in_flight=handling.in_flight,
        today=settings.today(handling.services.clock),
    )
    occasion = await _with_memories(handling, settings, occasion)
    view = ModelView(await _show_now(handling, settings, offer, occasion))
    inquiry = _DecisionSubject(handling, settings, offer, occasion, question).inquire(view)
    return await ask_model(handling, settings.must_have_model(), inquiry, plan.payer)


async def _with_memories(handling: Handling, settings: PlannerSettings, occasion: Occasion) -> Occasion:
    if settings.recall is None:
        return occasion
    words = " ".join(text for text, _ in query_about(occasion, "").parts)
    return replace(occasion, remembered=await settings.recall(handling, words))


async def _history(handling: Handling, first: int) -> tuple[EarlierSteps, Sequence[StepLines]]:
    """Return the plan's steps from this one on, those that were just recorded included, and the facts of those
    before."""
    services, recorded = handling.services, handling.steps_recorded
    if handling.stored is not None:
        return await services.histories.read(services.store.plans, handling.stored, first, recorded)
    told = [StepLines(step) for step in recorded]
    earlier = add_earlier(EarlierSteps(), [step for step in told if step.ordinal < first])
    return earlier, [step for step in told if step.ordinal >= first]


async def _show_now(handling: Handling, settings: PlannerSettings, offer: Offer, occasion: Occasion) -> Showing:
    if not needs_ranking(offer, settings.room):
        return show_offer(offer, settings.room, (), (), None)
    before = await handling.services.store.plans.last_shown(
        handling.plan.plan_id, handling.event.id, settings.step_prompt
    )
    means = settings.means(handling.services.clock)
    ranked = await rank_choices(offer, query_about(occasion, settings.instructions), means)
    words = recent_words(occasion)
    recent = await rank_choices(offer, words, means) if words else ()
    used = choices_of(occasion.history, offer)
    shown = show_offer(offer, await _room_now(handling, settings), ranked, used, before, recent)
    return add_near(shown, offer, choices_near(ranked, used, offer))


async def _room_now(handling: Handling, settings: PlannerSettings) -> OfferRoom:
    """Return the room, with the requests that the tenant uses most."""
    services, tenant_id = handling.services, handling.plan.lineage.tenant_id
    used = await services.most_used.requests(services.store, tenant_id, services.clock.now())
    return replace(settings.room, used=used)


async def rank_choices(offer: Offer, query: Query | str, means: Means | None = None) -> list[str]:
    """Return the likely choices, best first: by words, and by meaning if that is known."""
    if not offer.is_indexed:
        await asyncio.to_thread(lambda: offer.index)  # of very many it takes long to make, while others go on
    if means is None:
        return rank(offer, query)
    words = query if isinstance(query, str) else " ".join(text for text, _ in query.parts)
    return rank(offer, query, await means([*offer.choices.values()], words, MOST_RANKED))


class _DecisionSubject(Struct, frozen=True):
    """Subject of a decision, during its making."""

    handling: Handling
    settings: PlannerSettings
    offer: Offer
    occasion: Occasion
    question: StepQuestion

    def inquire(self, view: ModelView) -> Inquiry[AcceptedDecision]:
        settings, plan = self.settings, self.handling.plan
        inputs = decide_inputs(
            self.occasion, self.offer, view, instructions=settings.instructions, strategy=settings.strategy
        )
        prompt = self.handling.services.prompts.render(settings.step_prompt, inputs.values)
        refers = bool(inputs.values["refers"])
        form = form_of(self.offer, view.showing, plan.limits.max_parallel, refers=refers)
        return Inquiry(
            prompt,
            inputs,
            REASK,
            form,
            digest_of(form),
            partial(self._judge, view),
            view.showing,
            partial(self._again, view),
            self.question.acts_at_once,
            self.occasion.remembered,
            self._facts,
            partial(repair_step, names=self.offer.choices.keys(), result_schema=self.offer.result_schema),
        )

    @property
    def _facts(self) -> QuestionFacts:
        trigger = self.occasion.trigger
        return QuestionFacts(self.handling.plan.goal_data, trigger.name, trigger.outcome, trigger.data)

    def _again(self, view: ModelView, shown: Showing) -> Inquiry[AcceptedDecision]:
        kept = still_offered(shown, self.offer).schemas
        return self.inquire(replace(view, showing=add_schemas(view.showing, self.offer, kept)))

    async def _judge(
        self, view: ModelView, value: Json, fault: str
    ) -> AcceptedDecision | ExtendedInquiry[AcceptedDecision]:
        if lookup := parse_lookup(value):
            must_be_possible(lookup, view.showing, refers=self.occasion.texts.has_outlines)
            must_not_look_again(view.lookups)
            return ExtendedInquiry(self.inquire(await self._look_up(lookup, view)))
        said = parse_decision(value, fault, self.offer.choices)
        plan = self.handling.plan
        must_be_possible_at_once(said, plan.limits.max_parallel)
        numbers = steps_referred_to(said)
        resolved = resolve_decision(said, await self._results(numbers)) if numbers else said
        tenant_id = plan.lineage.tenant_id
        decision = await run_in_slices(tenant_id, prepare_decision(resolved, self.offer))
        if unseen := unseen_in(decision, self.offer, view.showing):
            more = replace(view, showing=add_asked(view.showing, self.offer, unseen, self.settings.room))
            return ExtendedInquiry(self.inquire(more), refuse_unseen(unseen, self.offer))
        mark = fingerprint(decision, self.occasion.trigger.facts)
        await check_decision_ahead(tenant_id, decision, self.offer)
        try:
            judged = judge(decision, situation_now(self.handling, self.offer, mark, decision))
        except PayloadMismatch as mismatch:
            raise with_whole_schemas(mismatch, decision, self.offer) from mismatch
        if self.question.check is not None:
            await self.question.check(judged)
        return judged

    async def _results(self, numbers: Collection[int]) -> Mapping[int, Json]:
        return results_of(await self.handling.steps_at(numbers))

    async def _look_up(self, lookup: Lookup, view: ModelView) -> ModelView:
        lookups = view.lookups + 1
        if lookup.about:
            handling = self.handling
            stored = await handling.services.store.plans.steps(handling.plan.plan_id) if handling.stored else []
            steps, hidden = [*stored, *handling.steps_recorded], self.occasion.texts.plan.hidden
            parts = find_parts(steps, lookup.about, RESULT_TOKENS * CHARS_PER_TOKEN, hidden)
            note = "" if parts else "No earlier step has these words."
            seen = {**view.seen, f"steps about {lookup.about}": parts} if parts else view.seen
            return replace(view, seen=seen, note=note, lookups=lookups)
        if lookup.path:
            named = parse_reference(lookup.path)
            part = slice_of(named, await self._results([named.step]), RESULT_TOKENS * CHARS_PER_TOKEN)
            return replace(view, seen={**view.seen, str(named): part}, note="", lookups=lookups)
        means = self.settings.means(self.handling.services.clock)
        found = await rank_choices(self.offer, lookup.words, means) if lookup.words else ()
        showing, note = look_up(lookup, self.offer, view.showing, found, self.settings.room)
        return replace(view, showing=showing, note=note, lookups=lookups)


async def material_now(handling: Handling, settings: PlannerSettings, chosen: Sequence[DiscoveredAgent]) -> Material:
    plan = handling.plan
    live = await Directory(handling.services, Person(plan.lineage.tenant_id)).query()
    return gather_material(plan.agent, live, chosen, settings.awaits, settings.result_schemas.get(plan.goal_event))


async def draft(
    handling: Handling, settings: PlannerSettings, material: Material, custom: JsonObject
) -> PlanDefinition:
    """Ask for all steps. Raise as `ask_model` does."""
    plan, services = handling.plan, handling.services

    async def review_now(value: Json, fault: str) -> PlanDefinition:
        parsed, tenant_id = parse_machine(value, fault, plan.goal_event), plan.lineage.tenant_id
        drawn = await run_in_slices(tenant_id, prepare_machine(parsed, material))
        await run_in_slices(tenant_id, review(drawn, material, plan.goal_data))
        return drawn

    occasion = Occasion(
        plan,
        Trigger(""),
        custom_context={**handling.values.session, **custom},
        spent=handling.state.spent,
        today=settings.today(services.clock),
    )
    occasion = await _with_memories(handling, settings, occasion)
    shown = await _narrow(material, settings, occasion, services.clock)
    inputs = plan_inputs(occasion, instructions=settings.instructions, material=shown)
    prompt = services.prompts.render(PLAN, inputs.values)
    handling.apply(PlanChange(replace(plan, prompt=services.prompts.label(PLAN))))
    facts = QuestionFacts(plan.goal_data)
    memories = occasion.remembered
    inquiry = Inquiry(prompt, inputs, REPLAN, shown.schema, shown.digest, review_now, remembered=memories, facts=facts)
    return await ask_model(handling, settings.must_have_model(), inquiry, plan.payer)


async def _narrow(material: Material, settings: PlannerSettings, occasion: Occasion, clock: Clock) -> Material:
    """Leave out unlikely choices beyond the room: for a whole plan no lookup can follow."""
    offer, room = material.offer, settings.room
    if not needs_ranking(offer, room):
        return material
    pinned = replace(room, pinned=(*room.pinned, *material.wanted), schemas=DRAWN_FROM)
    ranked = await rank_choices(offer, query_about(occasion, settings.instructions), settings.means(clock))
    showing = show_offer(offer, pinned, ranked, (), None)
    waits = (name for name in showing.lines if name.startswith(WAIT))
    return narrow(material, {*showing.schemas, *waits})


async def check_decision_ahead(tenant_id: str, decision: PlannerDecision, offer: Offer) -> None:
    """Check a decision's payloads, in slices where one call of the validator would take long."""
    for schema, value in checks_of(decision, offer):
        await check_ahead(tenant_id, schema, value)
