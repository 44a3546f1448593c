"""Part of a store for plans: states in hand, histories, waits and budgets."""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Expect, SaveTask
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.history import PromptPart
from soorma_ai.kernel.domain.limits import Charge, Limits, Spent
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.ports import Delivery, Settlement
from soorma_ai.kernel.rules.fold import fold
from soorma_ai.kernel.sql import apply
from soorma_ai.kernel.sql.commit_keys import keys_of_delivery
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.database import StorePart, reading
from soorma_ai.kernel.sql.plan_states import StateInHand, oldest_first
from soorma_ai.kernel.sql.tables import budget, inbox, receivers, tasks
from soorma_ai.kernel.sql.tables import expectations as expected
from soorma_ai.kernel.sql.tables import plans as rows
from soorma_ai.kernel.sql.tenant_scope import of_delivery


class SqlPlans(StorePart):
    plans = reading(rows.plans, of_user=True)
    plan_answering = reading(rows.plan_answered_under, is_single=True)
    steps = reading(rows.steps, is_single=True)
    plan_values = reading(rows.values, is_single=True)
    blocked_plans = reading(rows.blocked_plans)
    blocked_in_tree = reading(rows.blocked_in_tree)
    steps_at = reading(rows.steps_at)
    branches_that_came = reading(rows.branches_that_came)
    cancellation = reading(rows.cancellation, is_single=True)
    goal_of = reading(receivers.goal_of, is_single=True)
    expectation = reading(expected.find, is_single=True)
    expectations = reading(expected.of_plan_or_tenant)
    open_in_tree = reading(expected.open_of_tree)
    was_answered = reading(expected.was_answered)
    task_was_answered = reading(expected.task_was_answered)
    questions = reading(expected.questions)
    count_questions = reading(expected.count_questions)
    ladders = reading(expected.ladders)
    count_held = reading(expected.count_held, of_user=True)
    questions_beginning = reading(expected.questions_beginning)
    expectations_by_id = reading(expected.find_all)
    group = reading(expected.of_group)
    find_met = reading(expected.find_met, is_single=True)
    task = reading(tasks.task)
    sub_tasks = reading(tasks.sub_tasks)
    task_expectations = reading(expected.open_of_task)
    agents_of_task = reading(tasks.agents_of)
    journal = reading(budget.journal)
    decisions = reading(budget.decisions)
    count_decisions = reading(budget.count_decisions)
    find_shown = reading(budget.find_shown)
    prompt_parts = reading(budget.prompt_parts)
    last_shown = reading(budget.last_shown)
    requests_used = reading(budget.requests_used)
    read_spent = reading(budget.read_spent, is_single=True)
    _read_plan = reading(rows.plan, is_single=True)
    _read_status = reading(rows.plan_status, is_single=True)

    async def plan(self, plan_id: str) -> PlanRecord | None:
        # During a commit, rows that are read elsewhere may be ahead of the hand.
        held = self._find_owned(plan_id) if self.database.is_settled else None
        return held.plan.copy() if held else await self._read_plan(plan_id)

    async def plan_status(self, plan_id: str) -> tuple[PlanStatus, str | None] | None:
        held = self._find_owned(plan_id)
        return (held.plan.status, held.plan.cancel_requested) if held else await self._read_status(plan_id)

    async def state(self, plan_id: str, event_id: str = "") -> PlanState | None:
        held = self._find_owned(plan_id)
        if held is None:
            return await self._read_state(plan_id, event_id)
        if event_id and event_id not in held.met and (met := await self.find_met(plan_id, event_id)):
            held = fold(held, [Expect(met)])
        return replace(held, open=oldest_first(held.open), spent=await self._find_spent(held.plan.root_plan_id))

    def _find_owned(self, plan_id: str) -> PlanState | None:
        """Return the state in hand of a plan that no other process changes."""
        states = self.database.states if self.database.is_alone else None
        found = states.find(plan_id) if states is not None else None
        return found.state if found else None

    async def _read_state(self, plan_id: str, event_id: str) -> PlanState | None:
        """Read a state and keep it; beside other processes, take that in hand while its place is that of the row."""
        database, states = self.database, self.database.states
        if states is None:
            found = await database.read(lambda db: rows.state(db, plan_id, event_id), self.acting)
            return replace(found[0].state, spent=found[1]) if found else None
        may_keep = database.is_settled or not database.is_alone
        in_hand, era = states.find(plan_id), states.era

        def read_since(db: Reader) -> tuple[int, tuple[StateInHand, Spent] | None]:
            # The connection may be a new one, to a server of other rows.
            now = states.era
            return now, rows.state_since(db, in_hand if now == era else None, plan_id, event_id)

        is_single = in_hand is not None and (not event_id or event_id in in_hand.state.met)
        read_in, found = await database.read(read_since, self.acting, is_single=is_single)
        if found is None:
            return None
        read, spent = found
        if may_keep and (in_hand is None or read.place != in_hand.place):
            states.keep(replace(read, place=None) if database.is_alone else read, read_in)
        if may_keep and database.is_alone:
            states.keep_spent(read.state.plan.root_plan_id, spent)
        return replace(read.state, spent=spent)

    async def _find_spent(self, root_plan_id: str) -> Spent:
        states = self.database.states
        known = states.find_spent(root_plan_id) if states is not None else None
        if known is not None:
            return known
        is_settled, spent = self.database.is_settled, await self.read_spent(root_plan_id)
        if states is not None and is_settled:
            states.keep_spent(root_plan_id, spent)
        return spent

    async def save_task(self, task: TaskRecord, expected_version: int) -> None:
        await self.database.write(lambda db: tasks.save(db, SaveTask(task, expected_version)))

    async def cancel(self, plan_id: str, reason: str, now: datetime) -> bool:
        is_new, _ = await self.publish(lambda db: apply.stop(db, plan_id, reason, now), now)
        return is_new

    async def resume(self, plan_id: str, now: datetime) -> bool:
        is_held, _ = await self.publish(lambda db: apply.resume(db, plan_id, now), now)
        return is_held

    async def answer(self, wait_id: str, answer: Answer, wake: EventEnvelope, now: datetime) -> bool:
        is_first, _ = await self.publish(lambda db: apply.answer(db, wait_id, answer, wake, now), now)
        return is_first

    async def reserve(self, charge: Charge, limits: Limits, delivery: Delivery) -> None:
        def reserving(db: Connection) -> None:
            inbox.must_stand(db, delivery)
            budget.reserve(db, charge, limits)

        await self.write(reserving, of_delivery(delivery), keys=keys_of_delivery(delivery, charge.root_plan_id))

    async def keep_part(self, part: PromptPart, now: datetime) -> None:
        await self.write(lambda db: budget.keep_part(db, part, now))

    async def settle(self, one: Settlement, delivery: Delivery) -> None:
        def settling(db: Connection) -> None:
            inbox.must_stand(db, delivery)
            budget.settle(db, one)

        await self.write(settling, of_delivery(delivery), keys=keys_of_delivery(delivery, one.reserved.root_plan_id))

    async def sub_tasks_later(self, agent: str, task_id: str) -> Callable[[], list[SubTaskInfo]]:
        texts = await self.database.read_later(lambda db: tasks.sub_task_texts(db, agent, task_id), self.acting)
        return lambda: tasks.parse(texts())
