"""Inquiries to a model: each answer is recorded and judged before anything is done about it."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.errors import (
    ConfigError,
    ContentFiltered,
    DecisionError,
    LimitExceeded,
    ModelRefused,
    NotAllowed,
    Paid,
    SoormaError,
)
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.history import Ending, JournalEntry, JournalKey, PromptPart, Sent, Verdict
from soorma_ai.kernel.domain.limits import UNPRICED_CURES, Charge, Payer, beyond, fill_in, next_call_after
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Message, ModelAnswer, ModelQuestion, Prompt, QuestionFacts, Reasoner, Settlement
from soorma_ai.kernel.rules.decisions.circuit import may_ask_again, needs_other_form, room_after
from soorma_ai.kernel.rules.decisions.prompt import Inputs
from soorma_ai.kernel.rules.decisions.repairs import Repair
from soorma_ai.kernel.rules.decisions.sent import keep, retold_answer, spell_form, write_down
from soorma_ai.kernel.rules.prompting.digests import digest_messages
from soorma_ai.kernel.rules.prompting.fence import fence_quotations
from soorma_ai.kernel.runtime.handling.execute import patiently
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.handling.process.circuits import CircuitCaller
from soorma_ai.kernel.runtime.views.model_calls import largest_cost, repaired, usable

T = TypeVar("T")
_Refusal = DecisionError | LimitExceeded | ModelRefused | ContentFiltered


class Inquiry(Struct, Generic[T], frozen=True):
    """Question to a model, by a `prompt` with `inputs`. `judge` makes its result of the JSON of the answer, or of the
    reason against it; its DecisionError is shown to the model by the prompt `again`. `digest` names the form of the
    answer, `shown` the shown part of the offer. `remembered` is the text from memory. `repair` takes an answer in
    another wrapping. `acts_at_once`: nothing but our own code runs between its answer and the commit of its effects, so
    that commit writes the journal."""

    prompt: Prompt
    inputs: Inputs
    again: str
    schema: JsonObject
    digest: str
    judge: Callable[[Json, str], Awaitable["T | ExtendedInquiry[T]"]]
    shown: Showing | None = None
    show_again: "Callable[[Showing], Inquiry[T]] | None" = None
    acts_at_once: bool = False
    remembered: tuple[JsonObject, ...] = ()
    facts: QuestionFacts = field(default_factory=QuestionFacts)
    repair: Callable[[Json], Repair] = Repair

    def as_it_was(self, shown: Showing | None) -> "Inquiry[T]":
        """Return the inquiry with the showing of an earlier row of the journal: its answer refers to that."""
        return self.show_again(shown) if shown and self.show_again and shown != self.shown else self


class _RefusedAnswers(Struct, frozen=True):
    """Refused answers, by their numbers, each with its reason for the prompt `again`."""

    exchanges: tuple[Message, ...] = ()
    after: tuple[int, ...] = ()
    again: Prompt | None = None

    def then(self, entry: JournalEntry, again: Prompt) -> "_RefusedAnswers":
        told = (Message("assistant", retold_answer(entry)), Message("user", again.parts["user"]))
        return _RefusedAnswers((*self.exchanges, *told), (*self.after, entry.key.ordinal), again)


class _ModelCall(Struct, frozen=True):
    """One call of a model: its row of the journal, the room of its answer, the answers before it that were refused."""

    key: JournalKey
    room: int
    retold: _RefusedAnswers
    other_form: bool = False


class ExtendedInquiry(Struct, Generic[T], frozen=True):
    """Inquiry that shows more, after an answer which asked for that; or which was refused, for want of it."""

    inquiry: Inquiry[T]
    refusal: DecisionError | None = None


async def ask_model(handling: Handling, reasoner: Reasoner, inquiry: Inquiry[T], payer: Payer) -> T:
    """Ask as often as `may_ask_again` allows, each time with the exact fault of the answer before.

    The model is the one in force for the tenant.

    Answers of an earlier handling are taken from the journal, as answers to the showing of that time.

    Raises the last DecisionError, ModelRefused, ContentFiltered, LimitExceeded, ConfigError, ModelBlocked and Outage.
    """
    reasoner = await _reasoner_in_force(handling, reasoner)
    plans = handling.services.store.plans
    journal = await plans.journal(handling.agent, handling.event.id) if handling.is_again else ()
    written = {entry.key: entry for entry in journal}
    shown = await plans.find_shown(payer.plan_id) if written else {}
    retold = _RefusedAnswers()
    unusable: list[Ending] = []
    while True:
        key = JournalKey(handling.agent, handling.event.id, handling.next_call())
        if entry := written.get(key):
            if entry.prompt_id != inquiry.prompt.prompt_id:
                continue  # it was spent on another question
            inquiry = inquiry.as_it_was(shown.get(entry.shown))
            judged = await _judge_again(inquiry, entry)
        else:
            room = room_after(unusable, reasoner.max_output_tokens)
            call = _ModelCall(key, room, retold, needs_other_form(unusable))
            entry, judged = await _ask_by_circuit(handling, reasoner, inquiry, payer, call)
        if isinstance(judged, ExtendedInquiry):
            further = cast("ExtendedInquiry[T]", judged)
            inquiry = further.inquiry
            if further.refusal is None:
                continue
            judged = further.refusal
        if isinstance(judged, LimitExceeded | ModelRefused | ContentFiltered):
            raise judged
        if not isinstance(judged, DecisionError):
            return judged
        unusable.append(entry.ending)
        if not may_ask_again(unusable):
            raise judged
        if entry.ending is not Ending.CUT:
            again = handling.services.prompts.render(inquiry.again, {"refusal": fence_quotations(str(judged))})
            retold = retold.then(entry, again)


async def _reasoner_in_force(handling: Handling, reasoner: Reasoner) -> Reasoner:
    services = handling.services
    if services.choose_model is None:
        return reasoner
    return await services.choose_model(services, handling.working_lineage.tenant_id, reasoner)


async def _ask_by_circuit(
    handling: Handling, reasoner: Reasoner, inquiry: Inquiry[T], payer: Payer, call: _ModelCall
) -> tuple[JournalEntry, T | ExtendedInquiry[T] | _Refusal]:
    asking = partial(_ask, handling, reasoner, inquiry, payer, call)
    asker = CircuitCaller(payer.plan_id, reasoner.model, handling.rests, partial(_resumed_at, handling, payer))
    return await handling.services.circuits.call(reasoner.provider, asker, handling.services.clock, asking)


async def _ask(
    handling: Handling, reasoner: Reasoner, inquiry: Inquiry[T], payer: Payer, call: _ModelCall
) -> tuple[JournalEntry, T | ExtendedInquiry[T] | _Refusal]:
    """Charged on disk before it is sent; judged when the answer is there, and settled and journalled together."""
    messages = _messages(inquiry.prompt, call.retold)
    question = ModelQuestion(messages, inquiry.schema, call.room, inquiry.facts, call.other_form)
    sent, kept = _write_down(handling, inquiry, payer, question, call.retold)
    most = largest_cost(reasoner, question)
    if most.cost_usd is None and payer.limits.max_cost_usd is not None:
        price = f"the price of {reasoner.model} is not known: {UNPRICED_CURES}"
        raise ConfigError(f"the tree's budget is in US dollars, and {price}")
    reserved = await _reserve(handling, payer, _charge(payer.root_plan_id, most))
    sending = _Sending(handling, inquiry, payer, call.key, most, reserved, sent, kept)
    try:
        answer = usable(repaired(await reasoner.ask(question), inquiry.repair))
    except (ModelRefused, ContentFiltered) as declined:
        return await sending.decline(declined, reasoner.model), declined
    except SoormaError as fault:
        await _settle(handling, sending.settlement(fill_in(fault.paid, most)))
        raise
    except Exception:
        await _settle(handling, Settlement(reserved, replace(reserved, tokens=0, cost_usd=0.0)))
        raise
    return await sending.judge(answer)


class _Sending(Struct, Generic[T], frozen=True):
    """One call that is reserved at `most`, with the parts of its row in the journal."""

    handling: Handling
    inquiry: Inquiry[T]
    payer: Payer
    key: JournalKey
    most: Paid
    reserved: Charge
    sent: Sent
    kept: tuple[PromptPart, ...]

    def settlement(self, spent: Paid, entry: JournalEntry | None = None) -> Settlement:
        used = _charge(self.payer.root_plan_id, spent)
        if entry is None:
            return Settlement(self.reserved, used)
        return Settlement(self.reserved, used, entry, self.inquiry.shown, self.kept)

    async def decline(self, declined: ModelRefused | ContentFiltered, model: str) -> JournalEntry:
        spent = fill_in(declined.paid, self.most)
        nothing = ModelAnswer("", None, declined.code, model, *spent[:3], 0.0)
        entry = self._entry(replace(nothing, cached_tokens=spent.cached_tokens))
        entry = replace(entry, verdict=Verdict.DECLINED, refusal=str(declined))
        await _settle(self.handling, self.settlement(spent, entry))
        return entry

    async def judge(self, answer: ModelAnswer) -> tuple[JournalEntry, T | ExtendedInquiry[T] | _Refusal]:
        handling, spent = self.handling, fill_in(answer.paid, self.most)
        entry = self._entry(answer if spent == answer.paid else replace(answer, **spent._asdict()))
        try:
            judged = await _judge(self.inquiry, answer.value, answer.fault)
        except Exception:
            # It is paid, and is judged when this is handled again.
            await _settle(handling, self.settlement(spent, entry))
            raise
        entry = _with_verdict(entry, judged)
        settlement = self.settlement(spent, entry)
        if self.inquiry.acts_at_once and entry.verdict is Verdict.ACCEPTED:
            handling.bill.owe(settlement)
        else:
            # With its entry it can be written twice: the journal has room for one. Without, it would be given back
            # twice.
            await patiently(handling.services.clock, lambda: _settle(handling, settlement))
        return entry, judged

    def _entry(self, answer: ModelAnswer) -> JournalEntry:
        return _entry(self.handling, self.inquiry, self.payer, self.key, answer, self.sent)


async def _resumed_at(handling: Handling, payer: Payer) -> datetime | None:
    plan = await handling.services.store.plans.plan(payer.plan_id)
    return plan.blocked.resumed_at if plan and plan.blocked else None


async def _settle(handling: Handling, settlement: Settlement) -> None:
    await handling.services.store.plans.settle(settlement, handling.delivery)
    if handling.services.observers:
        handling.bill.settled.append(settlement)
    handling.services.signals.tallies.count_settlement(handling.working_lineage.tenant_id, settlement)


def _messages(prompt: Prompt, retold: _RefusedAnswers) -> tuple[Message, ...]:
    return (Message("system", prompt.parts["system"]), Message("user", prompt.parts["user"]), *retold.exchanges)


def _write_down(
    handling: Handling, inquiry: Inquiry[T], payer: Payer, question: ModelQuestion, retold: _RefusedAnswers
) -> tuple[Sent, tuple[PromptPart, ...]]:
    """Return the composition of the question, for the journal, and its texts in common with others."""
    prompt, inputs, tenant_id = inquiry.prompt, inquiry.inputs, handling.working_lineage.tenant_id
    sent, kept = write_down(inputs, tenant_id, payer)
    templates = [one for one in (prompt, retold.again) if one is not None]
    digest = digest_messages([(message.role, message.content) for message in question.messages])
    return (
        replace(sent, digest=digest, again=retold.again.hash if retold.again else "", after=retold.after),
        (
            *(PromptPart(one.hash, one.template, tenant_id=tenant_id) for one in templates),
            keep(inquiry.digest, spell_form(inquiry.schema), inputs, tenant_id, payer),
            *kept,
        ),
    )


async def _reserve(handling: Handling, payer: Payer, needed: Charge) -> Charge:
    """Reserve a call, as far as the lease has not done so; return the reservation."""
    handling.expect_call(payer, next_call_after(needed))
    held = handling.bill.take_hold(payer.root_plan_id)
    more = beyond(needed, held) if held else needed
    if more is None:
        return held or needed
    try:
        await handling.services.store.plans.reserve(more, payer.limits, handling.delivery)
    except BaseException:
        handling.bill.hold = held
        raise
    return held.plus(more) if held else needed


def _charge(root_plan_id: str, spent: Paid) -> Charge:
    """Return the charge of a call; one that cost nothing was none."""
    tokens = spent.prompt_tokens + spent.completion_tokens
    calls = 1 if tokens else 0
    return Charge(root_plan_id, calls, tokens, spent.cost_usd or 0.0, calls if spent.cost_usd is None else 0)


def _entry(
    handling: Handling, inquiry: Inquiry[T], payer: Payer, key: JournalKey, answer: ModelAnswer, sent: Sent
) -> JournalEntry:
    prompt = inquiry.prompt
    return JournalEntry(
        key=key,
        plan_id=payer.plan_id,
        root_plan_id=payer.root_plan_id,
        prompt_id=prompt.prompt_id,
        prompt_version=prompt.version,
        prompt_hash=prompt.hash,
        offer_digest=inquiry.digest,
        model=answer.model,
        raw=answer.text,
        value=answer.value,
        fault=answer.fault,
        verdict=Verdict.ACCEPTED,
        refusal="",
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost_usd=answer.cost_usd,
        latency_ms=answer.latency_ms,
        at=handling.services.clock.now(),
        found=answer.found,
        ending=answer.ending,
        shown=inquiry.shown.digest if inquiry.shown else "",
        cached_tokens=answer.cached_tokens,
        remembered=inquiry.remembered,
        sent=sent,
    )


def _with_verdict(entry: JournalEntry, judged: object) -> JournalEntry:
    match judged:
        case ExtendedInquiry(refusal=None):
            return replace(entry, verdict=Verdict.LOOKED_UP)
        case ExtendedInquiry(refusal=DecisionError() as refusal) | (DecisionError() | LimitExceeded() as refusal):
            return replace(entry, verdict=Verdict.REFUSED, refusal=str(refusal))
        case _:
            return entry


async def _judge(
    inquiry: Inquiry[T], value: Json, fault: str
) -> T | ExtendedInquiry[T] | DecisionError | LimitExceeded:
    try:
        return await inquiry.judge(value, fault)
    except (DecisionError, LimitExceeded) as refusal:
        return refusal


async def _judge_again(inquiry: Inquiry[T], entry: JournalEntry) -> T | ExtendedInquiry[T] | _Refusal:
    """Judge the journal's answers by the present offer. A refused one stays refused: it was asked for again."""
    if declined := _refusal_of(entry):
        return declined
    judged = await _judge(inquiry, entry.value, entry.fault)
    return judged if entry.verdict is not Verdict.REFUSED or _is_refused(judged) else NotAllowed(entry.refusal)


def _is_refused(judged: object) -> bool:
    match judged:
        case DecisionError() | LimitExceeded():
            return True
        case ExtendedInquiry(refusal=refusal):
            return refusal is not None
        case _:
            return False


def _refusal_of(entry: JournalEntry) -> ModelRefused | ContentFiltered | None:
    if entry.verdict is not Verdict.DECLINED:
        return None
    return ContentFiltered(entry.refusal) if entry.fault == ContentFiltered.code else ModelRefused(entry.refusal)
