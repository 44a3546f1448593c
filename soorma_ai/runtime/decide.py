"""Ask the model for one decision, judge it, and write every answer down before anything is done about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from soorma_ai.core.offer import Offer, make_offer
from soorma_ai.core.prompt import DECIDE, HISTORY_STEPS, REASK, estimated_tokens, inputs_for
from soorma_ai.core.receive import Trigger
from soorma_ai.core.validate import Judged, Situation, fingerprint, judge, parsed, prepared
from soorma_ai.domain.limits import Charge
from soorma_ai.domain.plans import JournalEntry, JournalKey, PlanRecord, Verdict
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.values import UNSTORABLE, Json, JsonObject, compact, is_storable
from soorma_ai.errors import (
    ConfigError,
    ContentFiltered,
    DecisionError,
    LimitExceeded,
    ModelRefused,
)
from soorma_ai.ports import Message, ModelAnswer, Prompt, Question, Reasoner
from soorma_ai.runtime.context import Handling
from soorma_ai.runtime.execute import patiently

MAX_REASKS = 2


@dataclass(frozen=True)
class Mind:
    """How a planner decides: its model, and what its owner told it."""

    reasoner: Reasoner
    instructions: str = ""
    strategy: str = "balanced"
    awaits: tuple[EventDefinition, ...] = ()
    result_schemas: dict[str, JsonObject | None] = field(default_factory=dict[str, JsonObject | None])


async def offer_now(handling: Handling, mind: Mind) -> Offer:
    plan, store = handling.plan, handling.services.store
    now = handling.services.clock.now()
    await handling.services.presence.confirm(store, now)
    live = await store.live_events(plan.lineage.tenant_id, now)
    return make_offer(plan.agent, live, mind.awaits, mind.result_schemas.get(plan.goal_event))


async def situation_now(handling: Handling, offer: Offer, mark: str) -> Situation:
    plan, store = handling.plan, handling.services.store
    spent = await store.spent(plan.root_plan_id)
    return Situation(
        plan=plan,
        offer=offer,
        spent=replace(spent, actions=spent.actions + handling.actions_recorded),
        now=handling.services.clock.now(),
        in_flight=await handling.in_flight(),
        repeats=await store.repeats(plan.plan_id, mark) + handling.marks_recorded.count(mark),
    )


async def decide(handling: Handling, mind: Mind, offer: Offer, trigger: Trigger, custom: JsonObject) -> Judged:
    """At most `MAX_REASKS` re-asks, each told precisely what was wrong with the answer before.

    Raises the last DecisionError, ModelRefused, ContentFiltered, LimitExceeded, or what the model's transport raises.
    """
    prompt = await _prompt(handling, mind, offer, trigger, custom)
    asked = [Message("system", prompt.parts["system"]), Message("user", prompt.parts["user"])]
    journal = await handling.services.store.journal(handling.agent, handling.event.id)
    written = {entry.key.ordinal: entry for entry in journal}
    fault = DecisionError("the model was not asked")
    for _ in range(MAX_REASKS + 1):
        ordinal = handling.next_call()
        entry = written.get(ordinal)
        if entry is None:
            key = JournalKey(handling.agent, handling.event.id, ordinal)
            entry = await _ask(_Call(handling, mind, offer, trigger, prompt, key), asked)
        if entry.verdict is Verdict.DECLINED:
            raise ContentFiltered(entry.refusal) if entry.fault == ContentFiltered.code else ModelRefused(entry.refusal)
        try:
            return await judged_now(handling, entry.value, entry.fault, offer, trigger)
        except DecisionError as error:
            fault = error
        refusal = handling.services.prompts.render(REASK, {"refusal": str(fault)})
        asked += [Message("assistant", entry.raw or "(nothing)"), Message("user", refusal.parts["user"])]
    raise fault


async def judged_now(handling: Handling, value: Json, fault: str, offer: Offer, trigger: Trigger) -> Judged:
    decision = prepared(parsed(value, fault), offer)
    mark = fingerprint(decision, state_of(trigger))
    return judge(decision, await situation_now(handling, offer, mark))


def state_of(trigger: Trigger) -> str:
    """What was known when something was decided, for the repeat limit."""
    return trigger.text + compact(trigger.data)


async def _prompt(handling: Handling, mind: Mind, offer: Offer, trigger: Trigger, custom: JsonObject) -> Prompt:
    plan = handling.plan
    inputs = inputs_for(
        plan,
        instructions=mind.instructions,
        strategy=mind.strategy,
        history=await handling.history(HISTORY_STEPS),
        trigger=trigger,
        custom_context=custom,
        offer=offer,
        spent=await handling.services.store.spent(plan.root_plan_id),
        in_flight=await handling.in_flight(),
    )
    return handling.services.prompts.render(DECIDE, inputs)


@dataclass(frozen=True)
class _Call:
    handling: Handling
    mind: Mind
    offer: Offer
    trigger: Trigger
    prompt: Prompt
    key: JournalKey


async def _ask(call: _Call, messages: Sequence[Message]) -> JournalEntry:
    """Charged on disk before it is sent; settled and journalled, together, when the answer is there."""
    plan, store, reasoner = call.handling.plan, call.handling.services.store, call.mind.reasoner
    prompt, most = estimated_tokens([message.content for message in messages]), reasoner.max_output_tokens
    cost = reasoner.cost_of(prompt, most)
    if cost is None and plan.limits.max_cost_usd is not None:
        raise ConfigError(f"the tree's budget is in US dollars, and the price of {reasoner.model} is not known")
    reserved = Charge(plan.root_plan_id, 1, prompt + most, cost or 0.0)
    await store.reserve(reserved, plan.limits)
    try:
        answer = _kept(await reasoner.ask(Question(tuple(messages), call.offer.schema)))
    except (ModelRefused, ContentFiltered) as declined:
        entry = _entry(call, _nothing(reasoner.model, declined.code), Verdict.DECLINED, str(declined))
        await store.settle(reserved, replace(reserved, tokens=0, cost_usd=0.0), entry)
        return entry
    except Exception:
        await store.settle(reserved, replace(reserved, tokens=0, cost_usd=0.0), None)
        raise
    verdict, refusal = await _verdict(call, answer)
    entry = _entry(call, answer, verdict, refusal)
    paid = reserved.cost_usd if answer.cost_usd is None else answer.cost_usd
    used = Charge(plan.root_plan_id, 1, answer.prompt_tokens + answer.completion_tokens, paid)
    # With its entry it can be written twice: the journal has room for one. Without, it would be given back twice.
    await patiently(call.handling.services.clock, lambda: store.settle(reserved, used, entry))
    return entry


def _kept(answer: ModelAnswer) -> ModelAnswer:
    """As the journal can hold it: an answer that cannot be written down is one that cannot be used."""
    text = answer.text.encode("utf-8", "backslashreplace").decode()
    if is_storable(answer.value):
        return replace(answer, text=text)
    return replace(answer, text=text, value=None, fault=f"the answer cannot be used: {UNSTORABLE}")


async def _verdict(call: _Call, answer: ModelAnswer) -> tuple[Verdict, str]:
    try:
        await judged_now(call.handling, answer.value, answer.fault, call.offer, call.trigger)
    except (DecisionError, LimitExceeded) as refusal:
        return Verdict.REFUSED, str(refusal)
    return Verdict.ACCEPTED, ""


def _nothing(model: str, fault: str) -> ModelAnswer:
    return ModelAnswer("", None, fault, model, 0, 0, None, 0.0)


def _entry(call: _Call, answer: ModelAnswer, verdict: Verdict, refusal: str) -> JournalEntry:
    plan: PlanRecord = call.handling.plan
    return JournalEntry(
        key=call.key,
        plan_id=plan.plan_id,
        root_plan_id=plan.root_plan_id,
        prompt_id=call.prompt.prompt_id,
        prompt_version=call.prompt.version,
        prompt_hash=call.prompt.hash,
        offer_digest=call.offer.digest,
        model=answer.model,
        raw=answer.text,
        value=answer.value,
        fault=answer.fault,
        verdict=verdict,
        refusal=refusal,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost_usd=answer.cost_usd,
        latency_ms=answer.latency_ms,
        at=call.handling.services.clock.now(),
    )
