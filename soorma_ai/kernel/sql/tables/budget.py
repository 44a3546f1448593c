"""Spending of a plan's tree, and the answers it was spent on."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from operator import add
from typing import Any, cast

from soorma_ai.errors import ConfigError, LimitExceeded, VersionConflict
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.effects import Spend
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.history import JournalEntry, PromptPart
from soorma_ai.kernel.domain.limits import Charge, Limits, Reserved, Spent, room_to_hold
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.ports import Settlement
from soorma_ai.kernel.sql.codec import CHARGE, JOURNAL, LIMITS, SHOWING, epoch, write_row
from soorma_ai.kernel.sql.connection import Connection, Reader, Rows
from soorma_ai.kernel.sql.rests import journal_columns

# Columns of a plan with a next call to hold, by the place of its id.
NEXT_CALL = """
    SELECT {} FROM plan
    WHERE plan_id = {} AND status NOT IN ('completed', 'failed', 'cancelled') AND next_call IS NOT NULL
"""
_NEXT_CALL = NEXT_CALL.format("next_call, limits", "?")
# As `read_amounts` reads them.
COLUMNS = "actions, llm_calls, tokens, cost_usd, unpriced_calls, held_calls, held_tokens, held_usd"
_ADD = f"""
    INSERT INTO budget (root_plan_id, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (root_plan_id) DO UPDATE SET
    {", ".join(f"{one} = budget.{one} + excluded.{one}" for one in COLUMNS.split(", "))}
    RETURNING {COLUMNS}
"""
_HOLD = f"""
    INSERT INTO budget (root_plan_id, {COLUMNS}) VALUES (:root, 0, 0, 0, 0.0, 0, :calls, :tokens, :usd)
    ON CONFLICT (root_plan_id) DO UPDATE SET
    {", ".join(f"{one} = budget.{one} + excluded.{one}" for one in ("held_calls", "held_tokens", "held_usd"))}
    WHERE budget.llm_calls + budget.held_calls + excluded.held_calls <= :most_calls
        AND budget.tokens + budget.held_tokens + excluded.held_tokens <= :most_tokens
        AND budget.cost_usd + budget.held_usd + excluded.held_usd <= :most_usd
    RETURNING {COLUMNS}
"""
_USED = """
    SELECT llm_calls + held_calls, tokens + held_tokens, cost_usd + held_usd FROM budget WHERE root_plan_id = ?
"""
_ALL = 2**62
_LATEST_EVENTS = 2_000
# Amounts in the order of `COLUMNS`.
_Sums = tuple[int, int, int, float, int, int, int, float]
# Most calls, tokens and dollars of a tree.
_Room = tuple[float, float, float]
_KEEP = """
    INSERT INTO prompt_part (plan_id, tenant, digest, used_at, body) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (plan_id, tenant, digest) DO UPDATE SET used_at = excluded.used_at
    WHERE prompt_part.used_at < excluded.used_at
"""

_KEEP_NEWER = """
    INSERT INTO prompt_part (plan_id, tenant, digest, used_at, body) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (plan_id, tenant, digest) DO UPDATE SET used_at = excluded.used_at, body = excluded.body
"""


def read_spent(db: Reader, root_plan_id: str) -> Spent:
    row = db.execute(f"SELECT {COLUMNS} FROM budget WHERE root_plan_id = ?", (root_plan_id,)).fetchone()
    return read_amounts(row) if row else Spent()


def read_amounts(row: Sequence[Any]) -> Spent:
    """Read `COLUMNS`. Sums of dollars leave a dust behind that is no reservation."""
    actions, calls, tokens, usd, unpriced, held_calls, held_tokens, held_usd = row
    if held_calls > 0 or held_tokens > 0 or held_usd > 0:
        reserved = Reserved(max(0, held_calls), max(0, held_tokens), round(max(0, held_usd), 9))
    else:
        reserved = Reserved()
    if unpriced:
        return Spent(actions, calls, tokens, None, usd, reserved)
    return Spent(actions, calls, tokens, usd, reserved=reserved)


def charge(db: Connection, bill: Sequence[Settlement], spends: Sequence[Spend] = ()) -> None:
    """Settle calls and spend actions, by one statement for each tree. Raise VersionConflict for actions over their
    limit."""
    sums: dict[str, _Sums] = {}
    for one in bill:
        spent = one.actual
        settled = (0, spent.llm_calls, spent.tokens, spent.cost_usd, spent.unpriced_calls, *_minus(one.reserved))
        _sum(sums, one.reserved.root_plan_id, settled)
    for spend in spends:
        _sum(sums, spend.root_plan_id, (spend.actions, 0, 0, 0.0, 0, 0, 0, 0.0))
    for root_plan_id, sum_of_tree in sums.items():
        of_tree = [one for one in spends if one.root_plan_id == root_plan_id]
        _add(db, root_plan_id, sum_of_tree, partial(_check_actions, of_tree))


def _sum(sums: dict[str, _Sums], root_plan_id: str, more: _Sums) -> None:
    known = sums.get(root_plan_id)
    sums[root_plan_id] = more if known is None else cast("_Sums", tuple(map(add, known, more)))


def _check_actions(spends: Sequence[Spend], total: int) -> None:
    """Check each limit against the actions up to its spending; `total` are those after the last."""
    for spend in reversed(spends):
        before = total - spend.actions
        if spend.at_most is not None and total > spend.at_most:
            tree, most = spend.root_plan_id, spend.at_most
            raise VersionConflict(f"plan tree {tree} has taken {before} actions by now, of {most}")
        total = before


def reserve(db: Connection, charge: Charge, limits: Limits) -> None:
    """Raise LimitExceeded for a call without room."""
    if _hold(db, charge, _room_of(limits)):
        return
    row = db.execute(_USED, (charge.root_plan_id,)).fetchone() or (0, 0, 0.0)
    most = (limits.max_llm_calls, limits.max_tokens, limits.max_cost_usd)
    wanted = zip(("max_llm_calls", "max_tokens", "max_cost_usd"), row, _amounts(charge), most, strict=True)
    for name, already, needed, limit in wanted:
        if limit is not None and already + needed > limit:
            raise LimitExceeded(name, f"{already:,} of {limit:,} used, this call may take {needed:,}")
    _add(db, charge.root_plan_id, (0, 0, 0, 0.0, 0, *_amounts(charge)))  # a dust of dollars made the difference


def hold(db: Connection, plan_id: str) -> Charge | None:
    """Reserve the next call of a plan as `hold_next`."""
    row = db.execute(_NEXT_CALL, (plan_id,)).fetchone()
    if row is None:
        return None
    db.must_hold(plan_id)
    return hold_next(db, *row)


def hold_next(db: Connection, next_call: str | None, limits: str | None) -> Charge | None:
    """Reserve the next call of a plan, as far as it is known and there is ample room for it. A plan that cannot be read
    has none, and is told of where it is needed."""
    wanted = _holding(next_call, limits)
    return wanted[0] if wanted and _hold(db, *wanted) else None


def hold_beside(db: Connection, next_call: str | None, limits: str | None, note: Callable[[Charge], None]) -> None:
    """Reserve the next call of a plan as `hold_next`, at the latest with the commit; `note` gets what is reserved."""
    wanted = _holding(next_call, limits)
    if wanted is None:
        return
    charge, room = wanted

    def note_held(rows: Rows) -> None:
        if _note_amounts(db, charge, rows):
            note(charge)

    if (values := _values_of(charge, room)) is not None:
        db.write_beside(_HOLD, values, note_held)


def _holding(next_call: str | None, limits: str | None) -> tuple[Charge, _Room] | None:
    if next_call is None or limits is None:
        return None
    try:
        return CHARGE.record(next_call), _room_to_hold(limits)
    except ConfigError:
        return None


@lru_cache(maxsize=256)
def _room_to_hold(limits: str) -> _Room:
    return _room_of(room_to_hold(LIMITS.record(limits)))


def _room_of(limits: Limits) -> _Room:
    calls, tokens, usd = limits.max_llm_calls, limits.max_tokens, limits.max_cost_usd
    return _most(calls), _most(tokens), _most(usd)


def _most(limit: float | None) -> float:
    return _ALL if limit is None else min(limit, _ALL)


def _hold(db: Connection, charge: Charge, room: _Room) -> bool:
    """Reserve a call within this room; tell whether there was enough."""
    values = _values_of(charge, room)
    return values is not None and _note_amounts(db, charge, db.execute(_HOLD, values))


def _values_of(charge: Charge, room: _Room) -> dict[str, object] | None:
    """Return the values of `_HOLD`; None for a call that no tree has room for."""
    calls, tokens, usd = _amounts(charge)
    most_calls, most_tokens, most_usd = room
    if calls > most_calls or tokens > most_tokens or usd > most_usd:
        return None
    values: dict[str, object] = {"root": charge.root_plan_id, "calls": calls, "tokens": tokens, "usd": usd}
    return values | {"most_calls": most_calls, "most_tokens": most_tokens, "most_usd": most_usd}


def _note_amounts(db: Connection, charge: Charge, rows: Rows) -> bool:
    """Note the amounts of the tree; tell whether the call is held."""
    held = rows.fetchall()
    for row in held:
        db.note_spent(charge.root_plan_id, read_amounts(row))
    return bool(held)


def _amounts(charge: Charge) -> tuple[int, int, float]:
    return charge.llm_calls, charge.tokens, charge.cost_usd


def let_go(db: Connection, held: Charge) -> None:
    """Hold it no more."""
    _add(db, held.root_plan_id, (0, 0, 0, 0.0, 0, *_minus(held)))


def settle(db: Connection, one: Settlement) -> None:
    write_down(db, one)
    charge(db, [one])


def write_down(db: Connection, one: Settlement) -> None:
    """Write the answer of a call, with its texts. Raise VersionConflict for an answered call."""
    entry, showing = one.entry, one.showing
    if entry is None:
        return
    _write_entry(db, entry)
    at = epoch(entry.at)
    if showing is not None and not db.has_part(("shown", entry.plan_id, "", showing.digest), at):
        row = (entry.plan_id, showing.digest, SHOWING.text(showing))
        db.write("INSERT INTO shown (plan_id, digest, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)
    _keep(db, one.kept, at)


def _keep(db: Connection, kept: Iterable[PromptPart], at: float) -> None:
    """Write parts not known to be stored. A part of all plans gets the time of its use now and then."""
    for part in kept:
        if not db.has_part((part.plan_id, part.tenant_id, part.digest), at):
            db.write(_KEEP, (part.plan_id, part.tenant_id, part.digest, at, part.body))


def keep_part(db: Connection, part: PromptPart, now: datetime) -> None:
    """Write a text over an older one under its name."""
    db.execute(_KEEP_NEWER, (part.plan_id, part.tenant_id, part.digest, epoch(now), part.body))


def prompt_parts(db: Reader, tenant_id: str, plan_id: str, digests: Collection[str]) -> dict[str, str]:
    found = db.execute(
        "SELECT digest, body FROM prompt_part WHERE digest IN (SELECT value FROM json_each(?)) "
        "AND plan_id IN ('', ?) AND tenant IN ('', ?)",
        (compact([*digests]), plan_id, tenant_id),
    )
    return dict(found.fetchall())


def journal(db: Reader, agent: str, cause_id: str) -> list[JournalEntry]:
    found = db.execute(
        "SELECT journal.body FROM journal WHERE agent = ? AND cause_id = ? ORDER BY ordinal", (agent, cause_id)
    ).fetchall()
    return [JOURNAL.record(body) for (body,) in found]


def decisions(db: Reader, plan_id: str, first: int = 0, limit: int = _ALL) -> list[JournalEntry]:
    seqs = "SELECT seq FROM journal WHERE plan_id = ? ORDER BY seq LIMIT ? OFFSET ?"
    found = db.execute(
        f"SELECT journal.body FROM journal WHERE seq IN ({seqs}) ORDER BY seq", (plan_id, limit, first)
    ).fetchall()
    return [JOURNAL.record(body) for (body,) in found]


def count_decisions(db: Reader, plan_id: str) -> int:
    (count,) = db.execute("SELECT count(*) FROM journal WHERE plan_id = ?", (plan_id,)).fetchone()
    return count


def find_shown(db: Reader, plan_id: str) -> dict[str, Showing]:
    found = db.execute("SELECT digest, body FROM shown WHERE plan_id = ?", (plan_id,)).fetchall()
    return {digest: SHOWING.record(body) for digest, body in found}


def last_shown(db: Reader, plan_id: str, cause_id: str, prompt_id: str) -> Showing | None:
    row = db.execute(
        "SELECT shown.body FROM journal JOIN shown "
        "ON shown.plan_id = journal.plan_id AND shown.digest = json_extract(journal.rest, '$.shown') "
        "WHERE journal.plan_id = ? AND journal.cause_id <> ? "
        "AND coalesce(journal.prompt_id, json_extract(journal.rest, '$.prompt_id')) = ? "
        "ORDER BY journal.seq DESC LIMIT 1",
        (plan_id, cause_id, prompt_id),
    ).fetchone()
    return SHOWING.record(row[0]) if row else None


def requests_used(db: Reader, tenant_id: str) -> tuple[str, ...]:
    found = db.execute(
        "SELECT type, count(*) AS uses FROM (SELECT type, topic FROM event WHERE tenant = ? ORDER BY seq DESC LIMIT ?) "
        "AS latest WHERE topic = ? GROUP BY type ORDER BY uses DESC, type",
        (tenant_id, _LATEST_EVENTS, EventTopic.ACTION_REQUESTS),
    )
    return tuple(name for name, _ in found.fetchall())


def _write_entry(db: Connection, entry: JournalEntry) -> None:
    key, (rest, is_raw, same) = entry.key, journal_columns(entry)

    def check(done: Rows) -> None:
        if done.rowcount == 0:
            raise VersionConflict(
                f"call {key.ordinal} of {key.agent} on {key.cause_id} is in the journal already; read it again"
            )

    write_row(
        db,
        "journal",
        "ON CONFLICT DO NOTHING",
        check,
        agent=key.agent,
        cause_id=key.cause_id,
        ordinal=key.ordinal,
        plan_id=entry.plan_id,
        rest=rest,
        is_raw=is_raw,
        same=same,
        prompt_id=entry.prompt_id,
        prompt_version=entry.prompt_version,
        prompt_hash=entry.prompt_hash,
        offer_digest=entry.offer_digest,
        raw=entry.raw,
    )


def _minus(held: Charge) -> tuple[int, int, float]:
    return -held.llm_calls, -held.tokens, -held.cost_usd


def _add(db: Connection, root_plan_id: str, more: _Sums, check: Callable[[int], None] = lambda actions: None) -> None:
    """Add to the amounts of a tree. `check` gets the actions that are spent by then."""

    def check_amounts(rows: Rows) -> None:
        (row,) = rows.fetchall()
        by_now = read_amounts(row)
        db.note_spent(root_plan_id, by_now)
        check(by_now.actions)

    db.write(_ADD, (root_plan_id, *more), check_amounts)
