"""Expectations: one row each, opened once, closed once by the first."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from typing_extensions import Unpack

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain.effects import Expect
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plan_state import Closed
from soorma_ai.kernel.domain.values import copy_json
from soorma_ai.kernel.ports.conditions import QuestionConditions
from soorma_ai.kernel.rules.arrival.matching import names_of
from soorma_ai.kernel.sql.codec import ANSWER, EXPECTATION, Codec, add_row, behind, epoch, member, moment, write_row
from soorma_ai.kernel.sql.connection import Connection, Reader, Rows
from soorma_ai.kernel.sql.rests import expectation_columns, expectation_row

_SELECT = "SELECT expectation.body, status, closed_at, met_by, answer FROM expectation"
# CROSS: the event is looked up first, and not all that the agent ever got.
_WITH_RECEIPT = """
    SELECT expectation.body, status, closed_at, met_by, answer, EXISTS (
        SELECT 1 FROM event CROSS JOIN inbox ON inbox.event_seq = event.seq
        WHERE event.id = expectation.id AND inbox.agent = ?
    )
    FROM expectation WHERE id = ?
"""

_WAITING = """
    WHERE expectation.status = 'open' AND expectation.id IN (
        SELECT expectation_id FROM wait_key
        WHERE tenant = ? AND event_type = ? AND key IN (SELECT value FROM json_each(?))
    ) ORDER BY expectation.opened_at, expectation.id
"""

_BEGINNING = """
    WHERE id >= :first AND id < :behind AND tenant = :tenant
        AND kind IN (SELECT value FROM json_each(:kinds))
    ORDER BY status <> 'open', id LIMIT :limit
"""

# To the letter as the indexes expectation_question and expectation_own have it.
_DEADLINE = "iif(json_valid(rest), ifnull(julianday(json_extract(rest, '$.deadline')), 9e9), 0)"
_ASKED = "status = 'open' AND kind IN ('wait', 'gate', 'doubt') AND tenant = :tenant"
_NAMED_ROLE = "tenant = :tenant AND role IN (SELECT value FROM json_each(:roles))"
_IN_ORDER = f"ORDER BY {_DEADLINE} {{way}}, opened_at {{way}}, id {{way}} LIMIT :limit"
_QUESTIONS = f"WHERE {_ASKED} {{kind}} {{from_here}} {_IN_ORDER}"
# Those of a user, and those that name a role.
_OWN_QUESTIONS = f"""
    WHERE id IN (
        SELECT id FROM (
            SELECT id FROM expectation WHERE {_ASKED} {{kind}} AND user_id = :user {{from_here}} {_IN_ORDER}
        ) AS own
        UNION ALL
        SELECT expectation_id FROM (
            SELECT expectation_id FROM asked_role WHERE {_NAMED_ROLE} {{named_from_here}}
            ORDER BY due {{way}}, opened_at {{way}}, expectation_id {{way}} LIMIT :limit
        ) AS named
    ) {{kind}} {_IN_ORDER}
"""
# Places in these two orders.
_FROM_HERE = {
    "from_here": f"AND ({_DEADLINE}, opened_at, id) {{beyond}} (:deadline, :opened, :id)",
    "named_from_here": "AND (due, opened_at, expectation_id) {beyond} (:due, :opened, :id)",
}
_HERE = f"SELECT {_DEADLINE}, opened_at, id, expectation.body FROM expectation WHERE id = ?"
_COUNT = f"SELECT count(*) FROM expectation WHERE {_ASKED}"
_OWN_COUNT = f"""
    SELECT count(*) FROM (
        SELECT id FROM expectation WHERE {_ASKED} AND user_id = :user
        UNION SELECT expectation_id FROM asked_role WHERE {_NAMED_ROLE}
    ) AS own
"""
# A payload may say the same; so these are read before anything is made of them.
_LADDERS = f"""
    WHERE id IN (SELECT expectation_id FROM asked_role WHERE {_NAMED_ROLE})
        AND status = 'open' AND user_id <> :user AND instr(rest, '"escalate_to":["') > 0 LIMIT :limit
"""
_HELD = """
    SELECT count(*) FROM (
        SELECT 1 FROM expectation
        WHERE status = 'open' AND kind = 'gate' AND agent = 'client' AND tenant = ? AND user_id = ? LIMIT ?
    )
"""

# By the events that answers led to: tasks that have ended are no rows any more.
_ANSWERED = """
    SELECT 1 FROM event CROSS JOIN expectation ON expectation.met_by = event.id
    WHERE event.root_plan_id = ? AND CASE WHEN json_valid(answer) THEN json_extract(answer, '$.answer_id') END = ?
    LIMIT 1
"""
# By the index expectation_task.
_TASK_ANSWERED = """
    SELECT 1 FROM expectation
    WHERE task_id = ? AND CASE WHEN json_valid(answer) THEN json_extract(answer, '$.answer_id') END = ? LIMIT 1
"""

_NEVER = 9e18
_UNLESS_THERE = "ON CONFLICT (id) DO NOTHING"
_WHOLE = Codec(Expectation)

# With whether it has timers: few do.
_CLOSE = """
    UPDATE expectation SET status = ?, closed_at = ?, met_by = ?, answer = ? WHERE id = ? AND status = 'open'
    RETURNING kind, plan_id, EXISTS (SELECT 1 FROM timer WHERE guards = ?)
"""


def find(db: Reader, expectation_id: str) -> Expectation | None:
    return next(_find(db, "WHERE id = ?", (expectation_id,)), None)


def find_with_receipt(
    db: Reader, expectation_id: str, agent: str, topic: EventTopic | None = None
) -> tuple[Expectation, bool] | None:
    """Return an expectation, and whether this agent got the event of its id; with a `topic`, only one for events
    there."""
    only, values = ("", ()) if topic is None else ("AND event_topic = ?", (str(topic),))
    row = db.execute(f"{_WITH_RECEIPT} {only}", (agent, expectation_id, *values)).fetchone()
    return (record(row[:-1]), bool(row[-1])) if row else None


def find_met(db: Reader, owner: str, event_id: str) -> Expectation | None:
    """Return the expectation met by an event. A gate outside of a plan wakes nothing: the event published by its answer
    may meet another of the same owner."""
    rest = "WHERE met_by = ? AND coalesce(plan_id, task_id) = ? AND (kind <> 'gate' OR plan_id IS NOT NULL)"
    return next(_find(db, rest, (event_id, owner)), None)


def status_of(db: Reader, expectation_id: str) -> ExpectationStatus | None:
    row = db.execute("SELECT status FROM expectation WHERE id = ?", (expectation_id,)).fetchone()
    return member(ExpectationStatus, row[0]) if row else None


def of_plan_or_tenant(
    db: Reader, *, plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True
) -> list[Expectation]:
    """Expectations, oldest first."""
    wanted = {"plan_id": plan_id, "tenant": tenant_id}
    conditions = [f"{name} = :{name}" for name, value in wanted.items() if value is not None]
    # The status is spelled out, so that the indexes of open rows serve.
    where = " AND ".join([*conditions, "status = 'open'" if only_open else "true"])
    return list(_find(db, f"WHERE {where} ORDER BY opened_at, id", wanted))


def questions(
    db: Reader, tenant_id: str, limit: int, *, user_id: str | None = None, **conditions: Unpack[QuestionConditions]
) -> list[Expectation]:
    """Open questions to people, the most urgent first."""
    kind, beyond, roles = conditions.get("kind"), conditions.get("beyond"), _list(conditions.get("roles", ()))
    wanted: dict[str, object] = {"tenant": tenant_id, "limit": limit, "user": user_id, "roles": roles}
    is_back = beyond is not None and beyond.is_back
    parts = {"way": "DESC" if is_back else "ASC", "kind": "", "from_here": "", "named_from_here": ""}
    if kind is not None:
        wanted["kind"], parts["kind"] = str(kind), "AND +kind = :kind"
    if beyond is not None:
        here = db.execute(_HERE, (beyond.id,)).fetchone()
        if here is None:
            return []
        deadline, opened, id, body = here
        wanted |= {"deadline": deadline, "opened": opened, "id": id, "due": _due(EXPECTATION.record(body).deadline)}
        parts |= {name: text.format(beyond="<" if is_back else ">") for name, text in _FROM_HERE.items()}
    found = list(_find(db, (_QUESTIONS if user_id is None else _OWN_QUESTIONS).format(**parts), wanted))
    return found[::-1] if is_back else found


def count_questions(db: Reader, tenant_id: str, *, user_id: str | None = None, roles: Collection[str] = ()) -> int:
    wanted = {"tenant": tenant_id, "user": user_id, "roles": _list(roles)}
    return int(db.execute(_COUNT if user_id is None else _OWN_COUNT, wanted).fetchone()[0])


def ladders(db: Reader, tenant_id: str, user_id: str, roles: Collection[str], limit: int) -> list[Expectation]:
    wanted = {"tenant": tenant_id, "user": user_id, "roles": _list(roles), "limit": limit}
    return [one for one in _find(db, _LADDERS, wanted) if one.ask and one.ask.escalate_to]


def _list(names: Collection[str]) -> str:
    return json.dumps(sorted(names))


def count_held(db: Reader, tenant_id: str, user_id: str, at_most: int) -> int:
    return db.execute(_HELD, (tenant_id, user_id, at_most)).fetchone()[0]


def open_of_tree(db: Reader, root_plan_id: str) -> list[Expectation]:
    return list(_find(db, "WHERE status = 'open' AND root_plan_id = ? ORDER BY opened_at, id", (root_plan_id,)))


def was_answered(db: Reader, root_plan_id: str, answer_id: str) -> bool:
    return db.execute(_ANSWERED, (root_plan_id, answer_id)).fetchone() is not None


def task_was_answered(db: Reader, task_id: str, answer_id: str) -> bool:
    return db.execute(_TASK_ANSWERED, (task_id, answer_id)).fetchone() is not None


def questions_beginning(db: Reader, tenant_id: str, letters: str, limit: int) -> list[Expectation]:
    wanted = {
        "first": letters,
        "behind": behind(letters),
        "tenant": tenant_id,
        "kinds": json.dumps(FOR_PEOPLE),
        "limit": limit,
    }
    return list(_find(db, _BEGINNING, wanted))


def open_of_task(db: Reader, agent: str, task_id: str) -> list[Expectation]:
    rest = "WHERE status = 'open' AND task_id = ? AND agent = ? ORDER BY opened_at, id"
    return list(_find(db, rest, (task_id, agent)))


def find_all(db: Reader, ids: Sequence[str]) -> list[Expectation]:
    return list(_find(db, "WHERE id IN (SELECT value FROM json_each(?))", (json.dumps([*ids]),)))


def of_group(db: Reader, group_id: str) -> list[Expectation]:
    return list(_find(db, "WHERE group_id = ? ORDER BY opened_at, id", (group_id,)))


def without_offer(db: Reader) -> list[Expectation]:
    """Return those open until there is a matching offer, oldest first."""
    return list(_find(db, "WHERE status = 'open' AND kind = 'offer' ORDER BY opened_at, id", ()))


def insert(db: Connection, expectation: Expectation) -> None:
    """Raise VersionConflict where there is one of its id."""

    def check(done: Rows) -> None:
        if done.rowcount == 0:
            raise VersionConflict(f"expectation {expectation.id} exists already; somebody else opened it first")

    row = expectation_row(expectation)
    write_row(db, "expectation", _UNLESS_THERE, check, **row)
    _note_open(db, expectation, len(row["rest"]))


def open_first(db: Connection, expectation: Expectation) -> bool:
    """Return False where there is one of its id, which stands."""
    row = expectation_row(expectation)
    if add_row(db, "expectation", _UNLESS_THERE, **row).rowcount == 0:
        return False
    _note_open(db, expectation, len(row["rest"]))
    return True


def _note_open(db: Connection, expectation: Expectation, size: int) -> None:
    """Note a row that is inserted, and insert the names by which it is found."""
    db.opened[expectation.id] = expectation.event_topic
    _note(db, expectation, size)
    _insert_roles(db, expectation)
    _insert_keys(db, expectation)


def _insert_keys(db: Connection, expectation: Expectation) -> None:
    """Insert the names by which an outside event finds a wait."""
    tenant_id, expectation_id = expectation.tenant_id, expectation.id
    for event_type, key in names_of(expectation):
        row = {"tenant": tenant_id, "event_type": event_type, "key": key, "expectation_id": expectation_id}
        write_row(db, "wait_key", "ON CONFLICT DO NOTHING", None, **row)


def _insert_roles(db: Reader, expectation: Expectation) -> None:
    """Insert the roles that a question with approvers is put to."""
    ask = expectation.ask
    if ask is None or not ask.approvers:
        return
    due, opened_at = _due(expectation.deadline), epoch(expectation.opened_at)
    db.executemany(
        "INSERT INTO asked_role (tenant, role, due, opened_at, expectation_id) VALUES (?, ?, ?, ?, ?)",
        [(expectation.tenant_id, role, due, opened_at, expectation.id) for role in {*ask.approvers, *ask.escalate_to}],
    )


def _due(deadline: datetime | None) -> float:
    return epoch(deadline) if deadline else _NEVER


def move(db: Connection, expectation_id: str, deadline: datetime | None) -> None:
    """Give an open one a later deadline, or none."""
    found = find(db, expectation_id)
    if found is None:
        return
    change(db, replace(found, deadline=deadline))
    db.execute("UPDATE asked_role SET due = ? WHERE expectation_id = ?", (_due(deadline), expectation_id))


def change(db: Connection, expectation: Expectation) -> None:
    """Write an open one anew; its columns stay."""
    text, _, same, version = expectation_columns(expectation)
    values = (text, same, version, expectation.id)
    db.execute("UPDATE expectation SET rest = ?, same = ?, schema_version = ? WHERE id = ?", values)
    if expectation.status is ExpectationStatus.OPEN:
        _note(db, expectation, len(text))
    elif expectation.plan_id is not None:
        db.note_other_change(expectation.plan_id)


def _note(db: Connection, expectation: Expectation, size: int) -> None:
    """Note a copy: the values of a question or a join belong to others."""
    if expectation.ask is not None or expectation.join is not None:
        expectation = _WHOLE.record(_WHOLE.text(expectation))
    db.note(expectation.plan_id, Expect(expectation), size)


def close(
    db: Connection,
    expectation_id: str,
    status: ExpectationStatus,
    now: datetime,
    *,
    met_by: str | None = None,
    answer: Answer | None = None,
) -> ExpectationKind | None:
    """Close it, by compare and set: None for a closed or unknown one; else its former state."""
    changed = db.execute(
        _CLOSE,
        (str(status), epoch(now), met_by, ANSWER.text(answer) if answer else None, expectation_id, expectation_id),
    ).fetchall()
    if not changed:
        return None
    # It needs its timers no more, nor the names it was found by.
    kind_name, plan_id, has_timers = changed[0]
    kind = member(ExpectationKind, kind_name)
    copied = replace(answer, payload=copy_json(answer.payload)) if answer else None
    db.note(plan_id, Closed(expectation_id, status, now, met_by, copied))
    if has_timers:
        db.execute("DELETE FROM timer WHERE guards = ?", (expectation_id,))
    if kind in FOR_PEOPLE:
        db.execute("DELETE FROM asked_role WHERE expectation_id = ?", (expectation_id,))
        for statement in db.features.closing:
            db.execute(statement, (expectation_id,))
    if kind is ExpectationKind.WAIT:
        db.execute("DELETE FROM wait_key WHERE expectation_id = ?", (expectation_id,))
    return kind


def replace_met(db: Connection, expectation_id: str, was: str, met_by: str) -> bool:
    query = "UPDATE expectation SET met_by = ? WHERE id = ? AND met_by = ? RETURNING plan_id"
    changed = db.execute(query, (met_by, expectation_id, was)).fetchone()
    if changed is not None and changed[0] is not None:
        db.note_other_change(changed[0])
    return changed is not None


def has_met_wait(db: Reader, event_id: str) -> bool:
    found = db.execute("SELECT 1 FROM expectation WHERE met_by = ? AND kind = 'wait'", (event_id,)).fetchone()
    return found is not None


def open_waits(db: Reader, tenant_id: str, event_type: str, keys: Sequence[str]) -> list[Expectation]:
    """Open waits under these keys, oldest first."""
    return list(_find(db, _WAITING, (tenant_id, event_type, json.dumps(list(keys)))))


def _find(db: Reader, rest: str, values: Sequence[object] | Mapping[str, object]) -> Iterator[Expectation]:
    return map(record, db.execute(f"{_SELECT} {rest}", values).fetchall())


def record(row: Sequence[Any]) -> Expectation:
    """Return the expectation of a row's body, its opened form, and columns, its outcome."""
    body, status, closed_at, met_by, answer = row
    opened = EXPECTATION.record(body)
    if status == ExpectationStatus.OPEN:
        return opened
    return replace(
        opened,
        status=member(ExpectationStatus, status),
        closed_at=None if closed_at is None else moment(closed_at),
        met_by=met_by,
        answer=None if answer is None else ANSWER.record(answer),
    )
