"""The invariants of every moment. Each check yields the faults it finds."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from machine.audit import Audit
from machine.world import DECISIONS, GOAL, LIMITS, STEP_OF, World
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.schemas import describe, violations
from soorma_ai.kernel.rules.plans.status import TABLE
from soorma_ai.kernel.rules.waits.wakeups import STRANDED

FINAL = tuple(str(status) for status in PlanStatus if status.is_final)
BY_MODEL = ("orders", "buyer")
PLANNERS = (*BY_MODEL, "clerk")
# The allowed ends of a plan, beside completion. Any other end is a bug.
REASONS = ("limit_exceeded", "cancelled", "spent", "unknown_event")

LEGAL = {status: {row[status] for row in TABLE.values() if status in row} for status in PlanStatus}


@dataclass
class Known:
    """Facts known outside and missing in the tables."""

    world: World
    submitted: dict[str, str] = field(default_factory=dict[str, str])  # plan id -> goal's event id
    forged: set[str] = field(default_factory=set[str])  # ids of events sent by no agent of ours
    accepted: dict[str, set[str]] = field(default_factory=dict[str, set[str]])  # wait id -> answer ids


Check = Callable[[Audit, Known], Iterator[str]]


def find_faults(audit: Audit, known: Known) -> list[str]:
    return [wrong for check in CHECKS for wrong in check(audit, known)]


def every_outside_effect_was_right(audit: Audit, known: Known) -> Iterator[str]:
    yield from known.world.wrongs


def every_request_fits_its_receivers_schema(audit: Audit, known: Known) -> Iterator[str]:
    definitions = audit.bodies("SELECT body FROM definition")
    for event in _requests(audit):
        if event["id"] in known.forged:
            continue
        takers = [d for d in definitions if (d["topic"], d["event_name"]) == (event["topic"], event["type"])]
        if not takers:
            yield f"{event['type']} was published, and nobody takes it"
        for taker in takers:
            faults = violations(taker["payload_schema"], event["data"])
            if faults:
                yield f"{event['type']} was published off its schema: {describe(faults)}"


def a_held_request_is_published_only_as_it_was_approved(audit: Audit, known: Known) -> Iterator[str]:
    released: Counter[tuple[str, str]] = Counter()
    for plan_id, body, answer in audit.rows(
        "SELECT plan_id, body, answer FROM expectation WHERE kind = 'gate' AND status = 'met'"
    ):
        if answer is None:
            yield f"a gate of {plan_id} opened without an answer"
            continue
        said = json.loads(answer)
        held = json.loads(body)["ask"]["proposal"]["data"]
        if said["decision"] in ("approve", "edit"):
            data = said["payload"]["data"] if said["decision"] == "edit" else held
            released[plan_id, _same(data)] += 1
    published = Counter(
        (event.get("planid", ""), _same(event.get("data", {})))
        for event in _requests(audit)
        if event["type"] == "payment.charge.requested" and event["id"] not in known.forged
    )
    for (plan_id, data), count in (published - released).items():
        yield f"{plan_id} published {data} {count} times more than people approved"


def an_unrepeatable_call_is_repeated_only_on_a_persons_word(audit: Audit, known: Known) -> Iterator[str]:
    for event_id, runs in known.world.runs_of_once.items():
        (not_done,) = audit.column(
            "SELECT count(*) FROM expectation WHERE kind = 'doubt' AND json_extract(body, '$.task_id') = ? "
            "AND json_extract(answer, '$.payload.outcome') = 'not_done'",
            event_id,
        )
        if runs > 1 + not_done:
            yield f"{event_id} was run {runs} times; people said {not_done} times that it had not been done"


def an_answer_counts_once(audit: Audit, known: Known) -> Iterator[str]:
    recorded = dict(
        audit.rows("SELECT id, json_extract(answer, '$.answer_id') FROM expectation WHERE answer IS NOT NULL")
    )
    for wait_id, answers in known.accepted.items():
        if answers != {recorded.get(wait_id)}:
            yield f"{sorted(answers)} were accepted for {wait_id}, and {recorded.get(wait_id)} is recorded"
    for wait_id, deadline, answered in audit.rows(
        "SELECT id, json_extract(body, '$.deadline'), json_extract(answer, '$.answered_at') "
        "FROM expectation WHERE answer IS NOT NULL"
    ):
        if deadline is not None and answered >= deadline:
            yield f"the answer to {wait_id} was late, and counted"


def a_closed_expectation_never_changes(audit: Audit, known: Known) -> Iterator[str]:
    for change in audit.changes():
        if change.what == "expectation" and change.old_status != "open":
            yield f"expectation {change.id} was {change.old_status} and became {change.new_status}"


def a_plan_moves_by_the_table_one_version_at_a_time(audit: Audit, known: Known) -> Iterator[str]:
    for change in audit.changes():
        if change.what != "plan":
            continue
        if change.old_status is None:
            if change.new_value != "0":
                yield f"plan {change.id} began at version {change.new_value}"
            continue
        old, new = PlanStatus(change.old_status), PlanStatus(change.new_status)
        if old.is_final:
            yield f"plan {change.id} was {old} and changed"
        if new is not old and new not in LEGAL[old]:
            # A handler may pass through 'running' on its way; one transaction shows its first and last state only.
            if old is PlanStatus.PAUSED and new in LEGAL[PlanStatus.RUNNING]:
                continue
            yield f"plan {change.id} went from {old} to {new}"
        if int(change.new_value or 0) != int(change.old_value or 0) + 1:
            yield f"plan {change.id} went from version {change.old_value} to {change.new_value}"


def steps_and_events_are_whole(audit: Audit, known: Known) -> Iterator[str]:
    for plan in audit.plans():
        ordinals = audit.column("SELECT ordinal FROM step WHERE plan_id = ? ORDER BY ordinal", plan["plan_id"])
        if ordinals != list(range(plan["steps"])):
            yield f"plan {plan['plan_id']} counts {plan['steps']} steps and has {ordinals}"
    (doubled,) = audit.column("SELECT count(*) - count(DISTINCT id) FROM event")
    if doubled:
        yield f"{doubled} events are stored twice"
    for table in ("outbox", "inbox"):
        lost = audit.column(f"SELECT event_seq FROM {table} WHERE event_seq NOT IN (SELECT seq FROM event)")
        if lost:
            yield f"the {table} points at events that are not there: {lost}"


def limits_hold(audit: Audit, known: Known) -> Iterator[str]:
    spent = "SELECT root_plan_id, actions, llm_calls + held_calls FROM budget WHERE root_plan_id NOT LIKE 'events:%'"
    for root, actions, calls in audit.rows(spent):
        if actions > (LIMITS.max_actions or 0) or calls > (LIMITS.max_llm_calls or 0):
            yield f"tree {root} used {actions} actions and {calls} calls"
        asked_of_others = sum(
            event.get("rootplanid") == root and event["source"] in PLANNERS and event["id"] not in known.forged
            for event in _requests(audit)
        )
        if asked_of_others > (LIMITS.max_actions or 0) or asked_of_others != actions:
            yield f"tree {root} published {asked_of_others} requests; charged are {actions}"
    for order, calls in known.world.asked_for.items():
        if calls > (LIMITS.max_llm_calls or 0):
            yield f"the model was asked {calls} times about order {order}"


def an_ended_plan_has_one_reply_and_no_open_waits(audit: Audit, known: Known) -> Iterator[str]:
    events = audit.events()
    for plan in audit.plans():
        plan_id, is_final = plan["plan_id"], plan["status"] in FINAL
        told_caller = [
            event
            for event in events
            if (event["type"], event.get("correlationid"), event["source"])
            == (plan["answer_event"], plan["answer_key"], plan["agent"])
        ]
        if len(told_caller) != int(is_final):
            yield f"plan {plan_id} is {plan['status']} and has told its caller {len(told_caller)} times"
        if not is_final:
            continue
        still_open = audit.column("SELECT kind FROM expectation WHERE plan_id = ? AND status = 'open'", plan_id)
        if still_open:
            yield f"plan {plan_id} is {plan['status']} and still waits for {still_open}"
        if audit.rows(
            "SELECT 1 FROM timer WHERE coalesce(json_extract(body, '$.planid'), substr(id, 10)) = ?", plan_id
        ):
            yield f"plan {plan_id} is {plan['status']} and has a timer"
        code = told_caller[0]["data"].get("error", {}).get("code") if told_caller else None
        if code is not None and code not in REASONS:
            yield f"plan {plan_id} ended for a reason that is a bug: {code}: {plan['reason']}"


def a_completed_plan_went_its_whole_route(audit: Audit, known: Known) -> Iterator[str]:
    for plan in audit.plans():
        if plan["status"] != "completed" or plan["agent"] not in BY_MODEL:
            continue
        steps = audit.bodies("SELECT body FROM step WHERE plan_id = ? ORDER BY ordinal", plan["plan_id"])
        decided = [(step["kind"], step.get("name")) for step in steps if step["kind"] in DECISIONS]
        decided = [one for one in decided if one != ("published", "payment.charge.requested")]
        wanted = [STEP_OF[kind] for kind in plan["goal_data"]["route"]]
        if plan["result"]["missing"]:
            wanted = wanted[: len(decided)]
        if decided != wanted:
            yield f"plan {plan['plan_id']} completed after {decided}; its route was {wanted}"


def a_paused_plan_continues_with_a_persons_word(audit: Audit, known: Known) -> Iterator[str]:
    for plan in audit.plans():
        if plan["status"] == "completed" and plan["agent"] not in BY_MODEL and plan["result"]["ribbon"] is None:
            yield f"plan {plan['plan_id']} was completed, and nobody had chosen"


def every_live_plan_has_a_cause_to_continue(audit: Audit, known: Known) -> Iterator[str]:
    for plan in audit.plans():
        if plan["status"] not in FINAL and not _is_on_its_way(audit, plan["plan_id"]) and not _is_awaited(audit, plan):
            yield f"plan {plan['plan_id']} is {plan['status']}, and nothing will ever move it"
    for plan_id, goal_id in known.submitted.items():
        begun = audit.rows("SELECT 1 FROM plan WHERE plan_id = ?", plan_id)
        if not begun and not _is_on_its_way(audit, plan_id) and not _is_unsent(audit, goal_id):
            yield f"goal {goal_id} was taken, and is nowhere"


def a_request_is_answered_once(audit: Audit, known: Known) -> Iterator[str]:
    answers = Counter(
        (event["source"], event["correlationid"])
        for event in audit.events()
        if event["topic"] == "action-results" and event["id"] not in known.forged and "correlationid" in event
    )
    handled_again = set(
        audit.rows("SELECT agent, event.id FROM inbox JOIN event ON event.seq = event_seq WHERE redriven != 0")
    )
    for (agent, request_id), count in answers.items():
        if count > 1 and (agent, request_id) not in handled_again:
            yield f"{agent} answered {request_id} {count} times"


def every_task_has_a_cause_to_continue(audit: Audit, known: Known) -> Iterator[str]:
    tasks = set(audit.rows("SELECT agent, task_id FROM task"))
    timers = set(audit.column("SELECT id FROM timer"))
    waits = audit.rows(
        "SELECT agent, json_extract(body, '$.task_id'), id FROM expectation "
        "WHERE status = 'open' AND kind NOT IN ('doubt', 'client') AND plan_id IS NULL"
    )
    moved = {(agent, task_id) for agent, task_id, wait_id in waits if f"deadline:{wait_id}" in timers}
    moved |= set(audit.rows("SELECT agent, owner FROM inbox WHERE state NOT IN ('done', 'dead')"))
    moved |= set(
        audit.rows(
            "SELECT agent, json_extract(expectation.body, '$.task_id') FROM outbox JOIN event ON event.seq = event_seq "
            "JOIN expectation ON expectation.id = json_extract(event.body, '$.subject')"
        )
    )
    for agent, task_id in tasks - moved:
        yield f"nothing will ever move task {task_id} of {agent}"
    for agent, task_id, wait_id in waits:
        if (agent, task_id) not in tasks:
            yield f"task {task_id} of {agent} has ended and still waits for {wait_id}"


def a_task_counts_its_rows(audit: Audit, known: Known) -> Iterator[str]:
    statuses = "SELECT json_extract(body, '$.status'), json_extract(body, '$.parallel_group_id') FROM sub_task"
    for task in audit.bodies("SELECT body FROM task"):
        parts = audit.rows(f"{statuses} WHERE agent = ? AND task_id = ?", task["agent"], task["task_id"])
        groups = Counter(group for status, group in parts if status == "pending" and group is not None)
        found = (len(parts), sum(status == "pending" for status, _ in parts), groups)
        said = {group["group_id"]: group["pending"] for group in task["groups"]}
        if found != (task["sub_tasks"], task["pending"], said):
            yield f"task {task['task_id']} says of {found} that it is {task['pending']} in all, and {said}"


def the_sweeper_finds_nothing(audit: Audit, known: Known) -> Iterator[str]:
    for event in audit.events():
        if event["type"] == STRANDED and event["id"] not in known.forged:
            yield f"plan {event['planid']} was stranded"


def queues_have_heads(audit: Audit, known: Known) -> Iterator[str]:
    for agent, owner in audit.rows(
        "SELECT DISTINCT agent, owner FROM inbox AS behind WHERE state = 'blocked' AND NOT EXISTS "
        "(SELECT 1 FROM inbox AS head WHERE head.agent = behind.agent AND head.owner = behind.owner "
        "AND head.state IN ('queued', 'leased', 'in_doubt'))"
    ):
        yield f"deliveries of {owner} to {agent} are blocked by nothing"
    for table, column in (("timer", "guards"), ("wait_key", "expectation_id")):
        stale = audit.column(
            f"SELECT {column} FROM {table} JOIN expectation ON expectation.id = {column} WHERE status != 'open'"
        )
        if stale:
            yield f"{table} still holds closed expectations: {stale}"


def the_file_is_sound(audit: Audit, known: Known) -> Iterator[str]:
    yield from (f"the file is damaged: {found}" for found in audit.damage())


CHECKS: tuple[Check, ...] = (
    every_outside_effect_was_right,
    every_request_fits_its_receivers_schema,
    a_held_request_is_published_only_as_it_was_approved,
    an_unrepeatable_call_is_repeated_only_on_a_persons_word,
    an_answer_counts_once,
    a_closed_expectation_never_changes,
    a_plan_moves_by_the_table_one_version_at_a_time,
    steps_and_events_are_whole,
    limits_hold,
    an_ended_plan_has_one_reply_and_no_open_waits,
    a_completed_plan_went_its_whole_route,
    a_paused_plan_continues_with_a_persons_word,
    every_live_plan_has_a_cause_to_continue,
    a_request_is_answered_once,
    every_task_has_a_cause_to_continue,
    a_task_counts_its_rows,
    the_sweeper_finds_nothing,
    queues_have_heads,
    the_file_is_sound,
)


def find_unfinished(audit: Audit, known: Known) -> list[str]:
    """At the very end: return the unfinished work."""
    plans = {plan["plan_id"]: plan for plan in audit.plans()}
    live = [f"{plan_id} is {plan['status']}" for plan_id, plan in plans.items() if plan["status"] not in FINAL]
    never = [f"{plan_id} never began" for plan_id in known.submitted if plan_id not in plans]
    waiting = audit.rows("SELECT agent, state, owner FROM inbox WHERE state NOT IN ('done', 'dead')")
    tasks = [f"task {task_id} of {agent} goes on" for agent, task_id in audit.rows("SELECT agent, task_id FROM task")]
    lines = [f"{agent} has a delivery {state} of {owner}" for agent, state, owner in waiting]
    return [*live, *never, *tasks, *lines]


def _requests(audit: Audit) -> list[dict[str, Any]]:
    """Return requests, including goals from outside."""
    return [event for event in audit.events() if event["topic"] == "action-requests" and event["type"] != GOAL]


def _same(data: Any) -> str:
    return json.dumps(data, sort_keys=True)


def _is_on_its_way(audit: Audit, plan_id: str) -> bool:
    return bool(
        audit.rows(
            "SELECT 1 FROM inbox WHERE owner = ? AND state IN ('queued', 'leased', 'blocked', 'in_doubt') "
            "UNION ALL SELECT 1 FROM outbox JOIN event ON event.seq = event_seq WHERE plan_id = ?",
            plan_id,
            plan_id,
        )
    )


def _is_unsent(audit: Audit, event_id: str) -> bool:
    return bool(audit.rows("SELECT 1 FROM outbox JOIN event ON event.seq = event_seq WHERE id = ?", event_id))


def _is_awaited(audit: Audit, plan: dict[str, Any]) -> bool:
    """Tell whether the plan waits for something, until a deadline with a timer."""
    plan_id = plan["plan_id"]
    waits = audit.column("SELECT id FROM expectation WHERE plan_id = ? AND status = 'open'", plan_id)
    timers = set(audit.column("SELECT id FROM timer"))
    return bool(waits) and bool(timers & {f"deadline:{one}" for one in (plan_id, *waits)})
