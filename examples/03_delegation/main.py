"""A worker has an order fulfilled by others: one after the other, or all at once. A failure undoes the steps before it.

python examples/03_delegation/main.py                              stock, then payment, then carrier
python examples/03_delegation/main.py --parallel                   all three at once, and joined when all have answered
python examples/03_delegation/main.py --card expired               the payment fails: the goods go back
python examples/03_delegation/main.py --quantity 500 --parallel    the goods fail: payment and carrier are undone
"""

import argparse
import asyncio
import os
import sys
from decimal import Decimal
from typing import Any

from agents import shop
from pydantic import BaseModel

from soorma_ai import (
    DelegationSpec,
    GoalContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    Reject,
    ResultContext,
    TaskContext,
    TransitionContext,
    Worker,
)
from soorma_ai.features.tracking.story import print_trace

RESERVE, CHARGE, BOOK = "inventory.reserve.requested", "payment.charge.requested", "shipment.book.requested"
RESERVED, CHARGED, BOOKED, UNDONE = "inventory.reserved", "payment.charged", "shipment.booked", "part.undone"

# US dollars.
PRICE = Decimal("80.00")
UNDO = {RESERVE: "inventory.release.requested", CHARGE: "payment.refund.requested", BOOK: "shipment.cancel.requested"}


class Order(BaseModel):
    order_id: str
    sku: str
    quantity: int
    amount: Decimal
    card: str

    @property
    def goods(self) -> dict[str, Any]:
        return {"order_id": self.order_id, "sku": self.sku, "quantity": self.quantity}

    @property
    def payment(self) -> dict[str, Any]:
        return {"order_id": self.order_id, "amount": self.amount, "card": self.card}

    @property
    def parcel(self) -> dict[str, Any]:
        return {"order_id": self.order_id}


def fulfilment(*, parallel: bool) -> Worker:
    worker = Worker("fulfilment")
    if parallel:
        all_at_once(worker)
    else:
        one_after_the_other(worker)
    undoing(worker)
    return worker


def one_after_the_other(worker: Worker) -> None:
    @worker.on_task("order.fulfil.requested", description="Have an order reserved, paid and shipped.")
    async def reserve(task: TaskContext[Order], context: PlatformContext) -> None:
        await task.report_progress(0.0, "reserving the goods")
        await task.delegate(RESERVE, task.data.goods, RESERVED)
        await task.save()

    @worker.on_result(RESERVED)
    async def charge(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if not result.success:
            await call_off(task, result.error)
            return
        await task.report_progress(1 / 3, "charging the customer")
        task.state["warehouse"] = result.result["warehouse"]
        await task.delegate(CHARGE, task.data.payment, CHARGED)
        await task.save()

    @worker.on_result(CHARGED)
    async def ship(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if not result.success:
            await call_off(task, result.error)
            return
        await task.report_progress(2 / 3, "booking a carrier")
        task.state["receipt"] = result.result["receipt"]
        await task.delegate(BOOK, task.data.parcel, BOOKED)
        await task.save()

    @worker.on_result(BOOKED)
    async def finish(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if not result.success:
            await call_off(task, result.error)
            return
        await task.complete({"status": "shipped", **task.state, **result.result})


def all_at_once(worker: Worker) -> None:
    @worker.on_task("order.fulfil.requested", description="Have an order reserved, paid and shipped.")
    async def ask(task: TaskContext[Order], context: PlatformContext) -> None:
        await task.report_progress(0.0, "asking stock, payments and carrier")
        order = task.data
        task.state["group"] = await task.delegate_parallel(
            [
                DelegationSpec(RESERVE, order.goods, RESERVED),
                DelegationSpec(CHARGE, order.payment, CHARGED),
                DelegationSpec(BOOK, order.parcel, BOOKED),
            ]
        )
        await task.save()

    @worker.on_result(RESERVED)
    @worker.on_result(CHARGED)
    @worker.on_result(BOOKED)
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        task.update_sub_task_result(result.sub_task_id, result.data)
        replies = await task.aggregate_parallel_results(task.state["group"])
        if replies is None:
            answered = sum(part.has_ended for part in task.sub_tasks.values())
            await task.report_progress(answered / 3, f"{answered} of 3 have answered")
            await task.save()
            return
        if failed := [reply["error"]["message"] for reply in replies.values() if not reply["success"]]:
            await call_off(task, "; ".join(failed))
            return
        results = {name: value for reply in replies.values() for name, value in reply["result"].items()}
        await task.complete({"status": "shipped", **results})


async def call_off(task: TaskContext[Order], why: str | None) -> None:
    """Undo the finished steps, all at once; the task ends after that."""
    task.state["why"] = why
    done = [part.event_type for part in task.sub_tasks.values() if part.status == "completed"]
    if not done:
        await task.complete({"status": "cancelled", "why": why})
        return
    await task.report_progress(2 / 3, f"{why}, so what was done is undone")
    task.state["group"] = await task.delegate_parallel(
        [DelegationSpec(UNDO[event_type], task.data.parcel, UNDONE) for event_type in done]
    )
    await task.save()


def undoing(worker: Worker) -> None:
    @worker.on_result(UNDONE)
    async def undone(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        replies = await task.aggregate_parallel_results(task.state["group"])
        if replies is None:
            return
        if all(reply["success"] for reply in replies.values()):
            await task.complete({"status": "cancelled", "why": task.state["why"]})
        else:
            await task.fail(f"{task.state['why']}, and not everything could be undone", code="not_undone")


def desk() -> Planner:
    """Takes orders, and hands each to the fulfilment worker."""
    planner = Planner("desk")

    @planner.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await goal.dispatch("order.fulfil.requested", goal.data, "order.fulfilled")

    @planner.on_transition()
    async def end(transition: TransitionContext, context: PlatformContext) -> None:
        if not transition.event.data.get("success"):
            raise Reject(f"{transition.what_happened} {transition.data or ''}")
        await transition.plan.finalize(transition.data)

    return planner


async def run(store_url: str, order: Order, *, parallel: bool) -> int:
    async with Platform(store_url) as platform:
        await platform.start(desk(), fulfilment(parallel=parallel), *shop())
        plan = await platform.submit("order.received", order.model_dump())
        async for event in plan.events():
            if event.type == "task.progress":
                print(f"{event.data['progress']:4.0%}  {event.data['message']}")
        try:
            print(f"result: {await plan.result()}")
        except PlanFailed as failure:
            print(f"no result: {failure.reason}")
        print_trace(await platform.trace(plan.plan_id))
    return 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--parallel", action="store_true", help="ask all at once")
    options.add_argument("--card", choices=("valid", "expired"), default="valid")
    options.add_argument("--quantity", type=int, default=2, help="more than 100 are not in stock")
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///fulfilment.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    given = options.parse_args()
    order = Order(order_id="A1", sku="lamp", quantity=given.quantity, amount=PRICE * given.quantity, card=given.card)
    return asyncio.run(run(given.store, order, parallel=given.parallel))


if __name__ == "__main__":
    sys.exit(main())
