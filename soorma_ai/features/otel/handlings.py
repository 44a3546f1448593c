"""Spans of a handling: one for each delivery, one for each call of a model, and one for an ended plan.

A wait ends its piece of the trace: the handling of its end is the root of a new trace, linked to the asking span.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from msgspec.structs import replace
from opentelemetry.trace import SpanKind

from soorma_ai.features.otel import names
from soorma_ai.features.otel.trace_context import TraceContext, derived_span_id, derived_trace_id, read_traceparent
from soorma_ai.features.otel.tracer import Attributes, SpanRecord, SpanWriter, nanoseconds
from soorma_ai.kernel.domain.effects import Ack, Disposition, Effect, Expect, Publish, SavePlan
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, ExpectationKind
from soorma_ai.kernel.domain.history import JournalEntry, Verdict
from soorma_ai.kernel.domain.people import Ask
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Delivery, Settlement
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.counters import outcome_of

MOST_CONTENT = 8_000
# CloudEvents attribute beside `traceparent`, and its value in a held request.
TRACE_STATE, HELD = "tracestate", "soorma=held"
# Answered by agents: their handlings lead on to the handling of the answer.
_OF_AGENTS = (ExpectationKind.REPLY, ExpectationKind.CHILD)
T = TypeVar("T")


class TraceWriter:
    """Observer that writes spans after the commit. Faults of the program's SDK are logged, and change nothing."""

    def __init__(self, *, has_content: bool = False, writer: SpanWriter | None = None) -> None:
        self._has_content = has_content
        self._writer = writer or SpanWriter()
        # Of handlings between their `prepare` and their end, by the event: a sampler is asked once.
        self._contexts: WeakKeyDictionary[Handling, dict[str, TraceContext]] = WeakKeyDictionary()

    def prepare(self, handling: Handling, effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        if not self._writer.is_on:
            return effects
        return _guarded(partial(self._prepare, handling, effects), effects)

    def committed(
        self, handling: Handling, disposition: Disposition, effects: Sequence[Effect], bill: Sequence[Settlement]
    ) -> None:
        if self._writer.is_on:
            _guarded(partial(self._write, handling, disposition, effects, bill), None)

    def _prepare(self, handling: Handling, effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        contexts = {one.event.id: self._context(handling, one) for one in handling.deliveries}
        self._contexts[handling] = contexts
        present = contexts[handling.event.id]
        return tuple(_with_context(effect, contexts, present) for effect in effects)

    def _write(
        self, handling: Handling, disposition: Disposition, effects: Sequence[Effect], bill: Sequence[Settlement]
    ) -> None:
        if (contexts := self._contexts.pop(handling, None)) is None:  # of a provider set since then
            return
        for record in self._spans(handling, contexts, disposition, effects, bill):
            self._writer.write(record, names.LINK)

    def _context(self, handling: Handling, delivery: Delivery) -> TraceContext:
        """Return the context of one delivery's span. Its ids derive from the event, the agent and the claim."""
        event = delivery.event
        span_id = derived_span_id(event.id, delivery.agent, str(delivery.redriven), str(delivery.fence))
        if parent := _parent_of(handling, event):
            return TraceContext(parent.trace_id, span_id, parent.is_sampled)
        trace_id = derived_trace_id(event.tenant_id, event.id)
        return TraceContext(trace_id, span_id, self._writer.is_sampled(trace_id, _name_of(event)))

    def _spans(
        self,
        handling: Handling,
        contexts: Mapping[str, TraceContext],
        disposition: Disposition,
        effects: Sequence[Effect],
        bill: Sequence[Settlement],
    ) -> Iterator[SpanRecord]:
        clock = handling.services.clock
        end = nanoseconds(clock.now())
        begin = end - int(max(0.0, clock.monotonic() - handling.begun) * 1e9)
        present = contexts[handling.event.id]
        for delivery in handling.deliveries:
            context = contexts[delivery.event.id]
            if not context.is_sampled:
                continue
            yield SpanRecord(
                _name_of(delivery.event),
                SpanKind.CONSUMER,
                context,
                _parent_of(handling, delivery.event),
                begin,
                end,
                self._attributes(handling, delivery, disposition, effects),
                _links(handling, delivery.event),
                _fault_of(disposition),
            )
        if not present.is_sampled:
            return
        for settlement in bill:
            if settlement.entry is not None:
                yield self._chat(settlement.entry, present, handling)
        for effect in effects:
            if isinstance(effect, SavePlan) and effect.plan.status.is_final and _has_ended_now(handling):
                yield _summary(effect.plan, present, end)

    def _attributes(
        self, handling: Handling, delivery: Delivery, disposition: Disposition, effects: Sequence[Effect]
    ) -> Attributes:
        event = delivery.event
        attributes: Attributes = {
            names.MESSAGING_SYSTEM: names.SYSTEM_NAME,
            names.OPERATION_TYPE: names.PROCESS,
            names.OPERATION_NAME: names.PROCESS,
            names.DESTINATION: str(event.topic),
            names.CONSUMER_GROUP: delivery.agent,
            names.MESSAGE_ID: event.id,
            names.EVENT_TYPE: event.type,
            names.TENANT: handling.working_lineage.tenant_id,
            names.CLAIM: delivery.fence,
            names.OUTCOME: outcome_of(disposition),
        }
        if event.correlation_id:
            attributes[names.CONVERSATION_ID] = event.correlation_id
        if len(handling.deliveries) > 1:
            attributes[names.BATCH_COUNT] = len(handling.deliveries)
        attributes |= _plan_of(handling)
        if question := _question_of(handling, event, effects):
            attributes[names.QUESTION] = question
        if fault := _fault_of(disposition):
            attributes[names.ERROR_TYPE] = fault
        if self._has_content:
            attributes[names.PAYLOAD] = clip(event.to_json(), MOST_CONTENT)
            if not isinstance(disposition, Ack):
                attributes[names.REASON] = clip(disposition.reason, MOST_CONTENT)
        return attributes

    def _chat(self, entry: JournalEntry, parent: TraceContext, handling: Handling) -> SpanRecord:
        key, end = entry.key, nanoseconds(entry.at)
        span_id = derived_span_id(names.CHAT, key.cause_id, key.agent, str(key.ordinal))
        attributes: Attributes = {
            names.GEN_AI_OPERATION: names.CHAT,
            names.GEN_AI_PROVIDER: entry.model.partition("/")[0],
            names.GEN_AI_MODEL: entry.model,
            names.GEN_AI_AGENT: key.agent,
            names.GEN_AI_INPUT_TOKENS: entry.prompt_tokens,
            names.GEN_AI_OUTPUT_TOKENS: entry.completion_tokens,
            names.GEN_AI_CACHED_TOKENS: entry.cached_tokens,
            names.GEN_AI_FINISH: (str(entry.ending),),
            names.TENANT: handling.working_lineage.tenant_id,
            names.PLAN: entry.plan_id,
            names.ROOT_PLAN: entry.root_plan_id,
            names.VERDICT: str(entry.verdict),
        }
        if self._has_content:
            attributes[names.GEN_AI_OUTPUT] = clip(entry.raw, MOST_CONTENT)
        return SpanRecord(
            f"{names.CHAT} {entry.model}",
            SpanKind.CLIENT,
            replace(parent, span_id=span_id),
            parent,
            nanoseconds(entry.at - timedelta(milliseconds=entry.latency_ms)),
            end,
            attributes,
            fault="declined" if entry.verdict is Verdict.DECLINED else "",
        )


def _guarded(work: Callable[[], T], otherwise: T) -> T:
    """Run the code of the program's SDK."""
    try:
        return work()
    except Exception as error:
        warn("trace_failed", bug=error, reason=error)
        return otherwise


def _with_context(effect: Effect, contexts: Mapping[str, TraceContext], present: TraceContext) -> Effect:
    match effect:
        case Publish(event):
            context = contexts.get(event.causation_id or "", present)
            return replace(effect, event=event.model_copy(update={"traceparent": str(context)}))
        case Expect(expectation):
            ask = expectation.ask and _with_held_context(expectation.ask, present)
            return Expect(replace(expectation, traceparent=str(present), ask=ask))
        case _:
            return effect


def _with_held_context(ask: Ask, present: TraceContext) -> Ask:
    """Mark a held request: an approval publishes it as it is, and its handling is a new piece of the trace."""
    held = ask.proposal
    if held is None or held.request is None:
        return ask
    request = held.request.model_copy(update={"traceparent": str(present), TRACE_STATE: HELD})
    return replace(ask, proposal=replace(held, request=request))


def _was_held(event: EventEnvelope) -> bool:
    return (event.model_extra or {}).get(TRACE_STATE) == HELD


def _parent_of(handling: Handling, event: EventEnvelope) -> TraceContext | None:
    """Return the parent of a delivery's span. Only an event of a handling has one: a client's traceparent is a link, so
    that no client writes into the trace of another."""
    if event.source in (CLIENT, SYSTEM) or event.causation_id is None or _was_held(event):
        return None
    met = handling.met.get(event.id)
    return read_traceparent(event.traceparent) if met is None or met.kind in _OF_AGENTS else None


def _links(handling: Handling, event: EventEnvelope) -> list[tuple[TraceContext, str]]:
    """Return the links of a delivery's span. The reply of an agent needs one only after a wait of this agent: without
    it, the asking span is above in the same trace."""
    parent, met = _parent_of(handling, event), handling.met.get(event.id)
    if met is not None:
        asking = read_traceparent(met.traceparent)
        is_above = asking is not None and parent is not None and asking.trace_id == parent.trace_id
        return [(asking, "asked by")] if asking and not is_above else []
    given = read_traceparent(event.traceparent) if parent is None else None
    return [(given, "asked by" if _was_held(event) else "sent by")] if given else []


def _plan_of(handling: Handling) -> Attributes:
    lineage = handling.working_lineage
    plan_id = handling.plan.plan_id if handling.has_plan else lineage.plan_id
    root_plan_id = handling.plan.root_plan_id if handling.has_plan else lineage.root_plan_id
    found = {names.PLAN: plan_id, names.ROOT_PLAN: root_plan_id}
    return {name: one for name, one in found.items() if one}


def _question_of(handling: Handling, event: EventEnvelope, effects: Sequence[Effect]) -> str | None:
    """Return the id of the question to people: the answered one, or the first asked one."""
    met = handling.met.get(event.id)
    if met is not None and met.kind in FOR_PEOPLE:
        return met.id
    asked = (one.expectation for one in effects if isinstance(one, Expect))
    return next((one.id for one in asked if one.kind in FOR_PEOPLE), None)


def _fault_of(disposition: Disposition) -> str:
    return "" if isinstance(disposition, Ack) else outcome_of(disposition)


def _has_ended_now(handling: Handling) -> bool:
    return handling.stored is None or not handling.stored.plan.status.is_final


def _summary(plan: PlanRecord, present: TraceContext, end: int) -> SpanRecord:
    """Return the span of an ended plan, with its true times, in the trace of the summaries of its tree."""
    tenant_id = plan.lineage.tenant_id
    context = TraceContext(
        derived_trace_id(tenant_id, "plan", plan.root_plan_id), derived_span_id("plan", plan.plan_id), True
    )
    attributes: Attributes = {
        names.GEN_AI_OPERATION: names.INVOKE_AGENT,
        names.GEN_AI_AGENT: plan.agent,
        names.TENANT: tenant_id,
        names.PLAN: plan.plan_id,
        names.ROOT_PLAN: plan.root_plan_id,
        names.EVENT_TYPE: plan.goal_event,
        names.STATUS: str(plan.status),
        names.STEPS: plan.steps,
    }
    fault = plan.failure or str(plan.status) if plan.status is PlanStatus.FAILED else ""
    name, begin = f"{names.INVOKE_AGENT} {plan.agent}", nanoseconds(plan.created_at)
    return SpanRecord(name, SpanKind.INTERNAL, context, None, begin, end, attributes, [(present, "ended by")], fault)


def _name_of(event: EventEnvelope) -> str:
    return f"{names.PROCESS} {event.type}"
