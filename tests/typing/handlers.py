"""Checked by pyright, never run: the arguments of handlers, as users write them."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from datetime import timedelta
from typing import Any, assert_type

from pydantic import BaseModel, JsonValue

from soorma_ai import (
    Agent,
    Approval,
    DiscoveredAgent,
    EventDecision,
    EventDefinition,
    EventEnvelope,
    EventSelector,
    EventToolkit,
    EventTopic,
    InvocationContext,
    PlatformContext,
    Reject,
    Retry,
    SessionSummary,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.context_parts.progress import ActionStatus
from soorma_ai.context_parts.toolkit import Toolkit
from soorma_ai.kernel.domain.registry import Discovery


class Order(BaseModel):
    order_id: str
    amount: float


class Receipt(BaseModel):
    receipt: str


payments = Tool(
    "payments",
    "Takes money.",
    version="1.2.0",
    max_in_flight=8,
    events_produced=["payment.made"],
    handler_timeout=timedelta(minutes=5),
)
carrier = Worker("carrier")
watch = Agent("watch")


@payments.on_invoke(
    "payment.charge.requested",
    approval=Approval(when="payload.amount > 5000.0", approvers=("manager",), timeout=timedelta(days=2)),
    irreversible=True,
)
async def charge(request: InvocationContext[Order], context: PlatformContext) -> Receipt:
    assert_type(request.data, Order)
    assert_type(request.data.amount, float)
    assert_type(request.attempt, int)
    assert_type(request.response_topic, EventTopic)
    if request.data.amount > 1_000_000:
        raise Reject("too much", code="limit")
    if request.attempt == 1:
        raise Retry("the line is busy", after=timedelta(seconds=5))
    assert_type(await context.bus.announce("payment.made", {"order_id": request.data.order_id}), str)
    return Receipt(receipt=request.idempotency_key)


async def call_unchanged(request: InvocationContext[Order], context: PlatformContext) -> Receipt:
    """The decorator returns the function unchanged, so it can be called with the same types."""
    given_back = payments.on_invoke("payment.refund.requested")(call_unchanged)
    receipt = await given_back(request, context)
    assert_type(receipt, Receipt)
    assert_type(await charge(request, context), Receipt)
    return receipt


@payments.on_invoke("payment.status.asked", payload_schema=Order, response_schema=Receipt)
async def untyped(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
    assert_type(request, InvocationContext[dict[str, Any]])
    assert_type(request.data, dict[str, Any])
    return {"receipt": request.data["order_id"]}


@payments.on_invoke("payment.quote.asked", payload_schema={"type": "object"})
def plain(request: InvocationContext[Order], context: PlatformContext) -> Receipt:
    return Receipt(receipt=request.data.order_id)


@carrier.on_task("shipment.requested", approval="always")
async def ship(task: TaskContext[Order], context: PlatformContext) -> None:
    assert_type(task.data, Order)
    assert_type(task.plan_id, str | None)
    if not task.data.order_id:
        await task.fail("no order", code="empty")
    await task.complete(Receipt(receipt="r"))


@carrier.on_task("shipment.asked", retry_on=(LookupError, ValueError), attempts=3)
async def look(task: TaskContext, context: PlatformContext) -> None:
    assert_type(task.data, dict[str, Any])
    await task.complete({"days": 4})


@watch.on_event("payment.made", topic=EventTopic.BUSINESS_FACTS)
async def note(event: EventEnvelope, context: PlatformContext) -> None:
    assert_type(event.type, str)
    assert_type(event.event_type, str)
    assert_type(context.tenant_id, str)
    reply_key = await context.bus.request("payment.status.asked", {"order_id": "A1"}, "status.came")
    assert_type(reply_key, str)


@watch.on_event("*", topic="notification-events", retry_on=OSError)
async def note_all(event: EventEnvelope, context: PlatformContext) -> None:
    await context.bus.publish("billing-events", "noted", {"id": event.id})


@watch.on_startup
async def begin() -> None: ...


paid = EventDefinition(
    event_name="payment.made",
    topic="business-facts",
    payload_schema=Order,
    response_schema={"type": "object"},
    approval="payload.amount > 10.0",
    correlate={"/order_id": "goal_data.order_id"},
)
assert_type(paid.topic, EventTopic)
assert_type(paid.payload_schema, dict[str, JsonValue])
assert_type(paid.approval, Approval | None)


def type_errors() -> None:
    EventDefinition(topic="business-facts")  # pyright: ignore[reportCallIssue]
    EventDefinition(event_name="payment.made", payload_schema=3)  # pyright: ignore[reportArgumentType]
    payments.on_invoke("payment.made", aproval="always")  # pyright: ignore[reportCallIssue]


@watch.on_event("order.*", EventTopic.BUSINESS_FACTS)
@watch.on_event(topic="business-facts", event_type="stock.counted")
async def remembers(event: EventEnvelope, context: PlatformContext) -> None:
    assert_type(await context.memory.keys(), list[str])
    assert_type(await context.memory.delete("key"), bool)
    assert_type(await context.memory.list_sessions(), list[SessionSummary])
    assert_type(await context.registry.find("stock"), DiscoveredAgent | None)
    assert_type(await context.registry.discover(["stock"]), Discovery)
    assert_type((await context.tracker.plan_progress("plan")).counts, dict[ActionStatus, int])
    await context.memory.increment("key", by="1")  # type: ignore[arg-type]


watch.on_event("order.placed")  # type: ignore[call-arg]


@watch.on_event("mail.received", topic="business-facts")
async def route(event: EventEnvelope, context: PlatformContext) -> None:
    selector = EventSelector(context, "action-requests", model="openai/gpt-4o", max_llm_calls=5)
    chosen = await selector.select_event(event.data)
    assert_type(chosen, EventDecision)
    assert_type(chosen.data, dict[str, JsonValue])
    assert_type(await selector.publish_decision(chosen, response_event="mail.answered"), str)
    assert_type(context.toolkit, Toolkit)
    toolkit: Toolkit = EventToolkit(context.registry)
    assert_type(await toolkit.discover_events(), list[EventDefinition])
    found = await context.toolkit.find_events("answer a mail", most=3)
    assert_type(found, list[EventDefinition])
    assert_type(context.toolkit.format_as_prompt_text(found), str)
    assert_type(await context.toolkit.create_payload("mail.answer", {"to": "ada"}), dict[str, JsonValue])
    EventSelector(context, modell="openai/gpt-4o")  # type: ignore[call-arg]
