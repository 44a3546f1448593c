"""Plans and their steps."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec.structs import replace
from typing_extensions import Unpack

from soorma_ai.errors import ConfigError, VersionConflict
from soorma_ai.kernel.domain.effects import DropValue, Expect, SavePlan, SaveValue
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import JoinProgress, Step
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plan_state import PlanState, StepMark
from soorma_ai.kernel.domain.plans import Blocked, PlanRecord, PlanStatus, PlanValue, ValueKind
from soorma_ai.kernel.ports.conditions import PlanConditions
from soorma_ai.kernel.rules.fold import fold
from soorma_ai.kernel.sql.codec import CHARGE, EXPECTATION, FAR_AWAY, LIMITS, PLAN, STEP, add_row, member
from soorma_ai.kernel.sql.connection import Connection, Reader, Rows
from soorma_ai.kernel.sql.plan_states import PlanPlace, StateInHand, oldest_first
from soorma_ai.kernel.sql.tables import budget, expectations, memory

_STATE = """
    SELECT 'plan', plan.body, '', '', '', 0.0, seq, place, 0, 0.0, 0, 0, 0, 0.0 FROM plan WHERE plan_id = :plan_id
    UNION ALL
    SELECT 'value', kind, key, body, '', 0.0, {none} FROM plan_value WHERE plan_id = :plan_id
    UNION ALL
    SELECT 'open', expectation.body, '', '', '', 0.0, {none} FROM expectation
    WHERE plan_id = :plan_id AND status = 'open'
    UNION ALL
    SELECT 'met', expectation.body, status, met_by, answer, closed_at, {none} FROM expectation
    WHERE met_by = :event_id AND plan_id = :plan_id
    UNION ALL
    SELECT 'mark', marked.fingerprint, iif(json_valid(step.rest), json_extract(step.rest, '$.note'), ''), '', '', 0.0,
        steps, 0, 0, 0.0, 0, 0, 0, 0.0
    FROM (
        SELECT plan_id, fingerprint, count(*) AS steps, max(ordinal) AS ordinal FROM step
        WHERE plan_id = :plan_id AND fingerprint IS NOT NULL GROUP BY plan_id, fingerprint
    ) AS marked JOIN step ON step.plan_id = marked.plan_id AND step.ordinal = marked.ordinal
    UNION ALL
    SELECT 'came', join_id, '', '', '', 0.0, count(*), 0, 0, 0.0, 0, 0, 0, 0.0 FROM step
    WHERE plan_id = :plan_id AND join_id IS NOT NULL AND fires = 0 GROUP BY join_id
    UNION ALL
    SELECT 'fired', join_id, {step}, '', '', 0.0, {none} FROM step
    WHERE plan_id = :plan_id AND join_id IS NOT NULL AND fires = 1
    UNION ALL
    SELECT 'spent', '', '', '', '', 0.0, {amounts} FROM budget WHERE root_plan_id = (
        SELECT root_plan_id FROM plan WHERE plan_id = :plan_id
    )
"""
_NO_AMOUNTS = "0, 0, 0, 0.0, 0, 0, 0, 0.0"
_PLACE = f"""
    SELECT plan.seq, plan.place, {budget.COLUMNS}
    FROM plan LEFT JOIN budget ON budget.root_plan_id = plan.root_plan_id WHERE plan.plan_id = ?
"""
_SAVE = """
    UPDATE plan SET status = ?, version = ?, rest = ?, next_call = ?, place = place + 1
    WHERE plan_id = ? AND version = ? RETURNING seq, place
"""
_STANDING = "SELECT status, json_extract(rest, '$.cancel_requested') FROM plan WHERE plan_id = ?"
# A whole step, with what stands in its event. What cannot be read there is told of where it is looked at.
_STEP = """
    CASE
        WHEN step.data_at IS NULL THEN step.body
        ELSE substr(step.body, 1, length(step.body) - 1) || ',"data":' || coalesce(
            (
                SELECT CASE WHEN json_valid(event.rest) THEN event.rest -> step.data_at END
                FROM event WHERE event.id = step.event_id
            ), 'null'
        ) || '}'
    END
"""
_OF_JOIN = "FROM step WHERE plan_id = ? AND join_id = ?"


def plan(db: Reader, plan_id: str) -> PlanRecord | None:
    row = db.execute("SELECT plan.body FROM plan WHERE plan_id = ?", (plan_id,)).fetchone()
    return PLAN.record(row[0]) if row else None


def readable(db: Reader, plan_id: str) -> PlanRecord | None:
    """Return the plan; None also for a damaged row."""
    try:
        return plan(db, plan_id)
    except ConfigError:
        return None


def state_since(
    db: Reader, in_hand: StateInHand | None, plan_id: str, event_id: str = ""
) -> tuple[StateInHand, Spent] | None:
    """Return the state in hand, if that is the state of the rows, else read it; with the expectation closed by this
    event, and the amounts of the tree."""
    if in_hand is None:
        return state(db, plan_id, event_id)
    row = db.execute(_PLACE, (plan_id,)).fetchone()
    if row is None:
        return None
    seq, number, *amounts = row
    if in_hand.place != PlanPlace(seq, number):
        return state(db, plan_id, event_id)
    found = in_hand.state
    if event_id and event_id not in found.met and (met := expectations.find_met(db, plan_id, event_id)):
        found = fold(found, [Expect(met)])
    spent = Spent() if amounts[0] is None else budget.read_amounts(amounts)
    return replace(in_hand, state=replace(found, open=oldest_first(found.open))), spent


def state(db: Reader, plan_id: str, event_id: str = "") -> tuple[StateInHand, Spent] | None:
    """Read the state of a plan, with the expectation closed by this event, and the amounts of the tree."""
    statement = _STATE.format(none=_NO_AMOUNTS, amounts=budget.COLUMNS, step=_STEP)
    found: defaultdict[str, list[list[Any]]] = defaultdict(list)
    size = 0
    for what, *row in db.execute(statement, {"plan_id": plan_id, "event_id": event_id}).fetchall():
        found[what].append(row)
        size += sum(len(text or "") for text in row[:3])
    if not found["plan"]:
        return None
    body, _, _, _, _, seq, number, *_ = found["plan"][0]
    opened = (_read_open(row) for row in found["open"])
    closed = (_read_closed(row) for row in found["met"])
    values = (_value(kind, key, body) for kind, key, body, *_ in sorted(found["value"], key=lambda row: row[:2]))
    spent = (budget.read_amounts(row[5:]) for row in found["spent"])
    read = PlanState(
        PLAN.record(body),
        {(one.kind, one.key): one.value for one in values},
        oldest_first({one.id: one for one in opened}),
        {one.met_by: one for one in closed if one.met_by is not None},
        {mark: StepMark(count, note or "") for mark, note, _, _, _, count, *_ in found["mark"]},
        _read_joins(found["came"], found["fired"]),
    )
    return StateInHand(read, size, PlanPlace(seq, number)), next(spent, Spent())


def _read_joins(came: Iterable[Sequence[Any]], fired: Iterable[Sequence[Any]]) -> dict[str, JoinProgress]:
    joins = {join_id: JoinProgress(count) for join_id, _, _, _, _, count, *_ in came}
    for join_id, body, *_ in fired:
        joins[join_id] = replace(joins.get(join_id, JoinProgress()), fired=STEP.record(body))
    return joins


def _read_open(row: Sequence[Any]) -> Expectation:
    return EXPECTATION.record(row[0])


def _read_closed(row: Sequence[Any]) -> Expectation:
    body, status, met_by, answer, at, *_ = row
    return expectations.record([body, status, at, met_by, answer])


def plans(
    db: Reader, *, tenant_id: str | None, limit: int, user_id: str | None = None, **conditions: Unpack[PlanConditions]
) -> list[PlanRecord]:
    wanted = {"tenant": tenant_id, **conditions, "user_id": user_id}
    given = {name: str(value) for name, value in wanted.items() if value is not None}
    where = f"WHERE {' AND '.join(f'{name} = :{name}' for name in given)}" if given else ""
    found = db.execute(f"SELECT plan.body FROM plan {where} ORDER BY seq DESC LIMIT :limit", given | {"limit": limit})
    return [PLAN.record(body) for (body,) in found.fetchall()]


def plan_answered_under(db: Reader, tenant_id: str, answer_key: str) -> PlanRecord | None:
    row = db.execute(
        "SELECT plan.body FROM plan WHERE tenant = ? AND answer_key = ? ORDER BY seq DESC LIMIT 1",
        (tenant_id, answer_key),
    ).fetchone()
    return PLAN.record(row[0]) if row else None


def update(db: Connection, plan: PlanRecord, expected_version: int) -> None:
    values = (str(plan.status), plan.version, PLAN.text(plan), _next_call(plan), plan.plan_id, expected_version)

    def check(rows: Rows) -> None:
        changed = rows.fetchall()
        if not changed:
            raise VersionConflict(f"plan {plan.plan_id} is not at version {expected_version}; read it again")
        db.note_place(plan.plan_id, *changed[0])

    db.write(_SAVE, values, check)
    db.note(plan.plan_id, SavePlan(plan.copy(), expected_version))
    if plan.lineage.session_id is not None:
        memory.active(db, plan)


def _next_call(plan: PlanRecord) -> str | None:
    return CHARGE.text(plan.next_call) if plan.next_call else None


def steps(db: Reader, plan_id: str, first: int = 0) -> list[Step]:
    """Read them as one text: each row that is stepped to may be waited for behind the writing thread."""
    query = f"SELECT group_concat({_STEP}) FROM step WHERE plan_id = ? AND ordinal >= ?"
    (bodies,) = db.execute(query, (plan_id, first)).fetchone()
    return sorted(STEP.records(bodies or ""), key=lambda step: step.ordinal)


def values(db: Reader, plan_id: str) -> list[PlanValue]:
    found = db.execute("SELECT kind, key, body FROM plan_value WHERE plan_id = ? ORDER BY kind, key", (plan_id,))
    return [_value(*row) for row in found.fetchall()]


def _value(kind: str, key: str, body: str) -> PlanValue:
    return PlanValue(ValueKind(kind), key, json.loads(body))


def save_value(db: Connection, effect: SaveValue) -> None:
    body = json.dumps(effect.value)
    db.write(
        "INSERT INTO plan_value (plan_id, kind, key, body) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (plan_id, kind, key) DO UPDATE SET body = excluded.body",
        (effect.plan_id, str(effect.kind), effect.key, body),
    )
    db.note(effect.plan_id, replace(effect, value=json.loads(body)), len(body))


def drop_value(db: Connection, effect: DropValue) -> None:
    db.write(
        "DELETE FROM plan_value WHERE plan_id = ? AND kind = ? AND key = ?",
        (effect.plan_id, str(effect.kind), effect.key),
    )
    db.note(effect.plan_id, effect)


def steps_at(db: Reader, plan_id: str, ordinals: Collection[int]) -> list[Step]:
    found = db.execute(
        f"SELECT ordinal, {_STEP} FROM step "
        "WHERE plan_id = ? AND ordinal IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
        (plan_id, json.dumps(list(ordinals))),
    ).fetchall()
    return [STEP.record(body) for _, body in sorted(found)]


def branches_that_came(db: Reader, plan_id: str, join_id: str) -> list[Step]:
    found = db.execute(f"SELECT {_STEP} {_OF_JOIN} AND fires = 0 ORDER BY ordinal", (plan_id, join_id)).fetchall()
    return [STEP.record(body) for (body,) in found]


def plan_status(db: Reader, plan_id: str) -> tuple[PlanStatus, str | None] | None:
    row = db.execute(_STANDING, (plan_id,)).fetchone()
    return (member(PlanStatus, row[0]), row[1]) if row else None


def planner_of(db: Reader, plan_id: str) -> tuple[str, str] | None:
    """Agent and tenant of the plan."""
    return db.execute("SELECT agent, tenant FROM plan WHERE plan_id = ?", (plan_id,)).fetchone()


def live_of_tree(db: Reader, root_plan_id: str) -> list[PlanRecord]:
    found = db.execute(
        "SELECT plan.body FROM plan WHERE root_plan_id = ? AND status NOT IN ('completed', 'failed', 'cancelled')",
        (root_plan_id,),
    )
    return [PLAN.record(body) for (body,) in found.fetchall()]


def live_children(db: Reader, parent: PlanRecord) -> list[str]:
    found = db.execute(
        "SELECT plan_id FROM plan WHERE root_plan_id = ? AND json_extract(rest, '$.parent_plan_id') = ? "
        "AND status NOT IN ('completed', 'failed', 'cancelled')",
        (parent.root_plan_id, parent.plan_id),
    ).fetchall()
    return [plan_id for (plan_id,) in found]


def forbid(db: Reader, plan_id: str, reason: str) -> None:
    db.execute("INSERT INTO cancellation (plan_id, reason) VALUES (?, ?) ON CONFLICT DO NOTHING", (plan_id, reason))


def cancellation(db: Reader, plan_id: str) -> str | None:
    row = db.execute("SELECT reason FROM cancellation WHERE plan_id = ?", (plan_id,)).fetchone()
    return row[0] if row else None


def status(db: Reader, plan_id: str | None) -> PlanStatus | None:
    row = db.execute("SELECT status FROM plan WHERE plan_id = ?", (plan_id,)).fetchone()
    return member(PlanStatus, row[0]) if row else None


def insert(db: Connection, plan: PlanRecord) -> None:
    rest = PLAN.text(plan)
    done = add_row(
        db,
        "plan",
        "ON CONFLICT (plan_id) DO NOTHING RETURNING seq, place",
        plan_id=plan.plan_id,
        tenant=plan.lineage.tenant_id,
        agent=plan.agent,
        status=str(plan.status),
        root_plan_id=plan.root_plan_id,
        goal_id=plan.goal_id,
        version=plan.version,
        rest=rest,
        session_id=plan.lineage.session_id,
        answer_key=plan.answer_key,
        user_id=plan.owner.user_id,
        limits=LIMITS.text(plan.limits),
        next_call=_next_call(plan),
    )
    made = done.fetchall()
    if not made:
        raise VersionConflict(f"plan {plan.plan_id} exists already; somebody else took its goal first")
    db.note_place(plan.plan_id, *made[0], is_new=True)
    db.note(plan.plan_id, SavePlan(plan.copy(), None), len(rest))
    memory.join_session(db, plan)


# By the index inbox_due, an agent at a time: of its deliveries that wait for a moment, few wait for an operator.
_HELD = f"""
    SELECT plan.body, inbox.reason
    FROM inbox CROSS JOIN plan ON plan.plan_id = inbox.owner AND plan.agent = inbox.agent
    WHERE inbox.agent IN ({{agents}}) AND inbox.state IN ('queued', 'leased') AND inbox.ready_at > 0
        AND inbox.ready_at >= {FAR_AWAY} {{only}}
    LIMIT :limit
"""
# By the plan's tree, each with the delivery that stands first in its line.
_OF_TREE = f"""
    SELECT plan.body, inbox.reason
    FROM plan CROSS JOIN inbox ON inbox.owner = plan.plan_id AND inbox.agent = plan.agent
        AND inbox.state IN ('queued', 'leased', 'in_doubt')
    WHERE plan.root_plan_id = :root AND plan.status NOT IN ('completed', 'failed', 'cancelled')
        AND inbox.state = 'queued' AND inbox.ready_at >= {FAR_AWAY}
    ORDER BY inbox.seq LIMIT :limit
"""


def blocked_plans(
    db: Reader, limit: int, *, agent: str | None = None, tenant_id: str | None = None, user_id: str | None = None
) -> list[PlanRecord]:
    given = {"agent": agent, "tenant": tenant_id, "user": user_id}
    values = {name: value for name, value in given.items() if value is not None}
    agents = ":agent" if agent is not None else "SELECT agent FROM agent"
    by = {"tenant": "AND plan.tenant = :tenant", "user": "AND plan.user_id = :user"}
    only = " ".join(condition for name, condition in by.items() if name in values)
    found = db.execute(_HELD.format(agents=agents, only=only), {**values, "limit": limit}).fetchall()
    return [_blocked(body, reason) for body, reason in found]


def blocked_in_tree(db: Reader, root_plan_id: str, limit: int) -> list[PlanRecord]:
    found = db.execute(_OF_TREE, {"root": root_plan_id, "limit": limit}).fetchall()
    return [_blocked(body, reason) for body, reason in found]


def _blocked(body: str, reason: str | None) -> PlanRecord:
    """Return the plan with the delivery's facts, if another of its events has moved the plan on meanwhile."""
    plan = PLAN.record(body)
    return replace(plan, blocked=plan.blocked or Blocked(plan.plan_id, reason or "", plan.updated_at))
