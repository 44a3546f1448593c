"""What a program left behind, compared with what the run left that nobody killed."""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ledger import Account
from life import STORE

# Sections of rows, without moments and latencies, each sorted.
End = Mapping[str, list[str]]

_MOMENTS = {
    "at",
    "time",
    "opened_at",
    "closed_at",
    "created_at",
    "updated_at",
    "deadline",
    "answered_at",
    "latency_ms",
    "expirytime",
    "traceparent",
}

_BODIES = {
    "plans": "SELECT body FROM plan",
    "steps": "SELECT body FROM step",
    "events": "SELECT body FROM event",
    "journal": "SELECT body FROM journal",
    "tasks": "SELECT body FROM task",
    "sub-tasks": "SELECT body FROM sub_task",
}

_ROWS = {
    "actions": "SELECT root_plan_id, actions FROM budget",
    "expectations": "SELECT id, kind, status, met_by FROM expectation",
    "wait keys": "SELECT key, event_type, expectation_id FROM wait_key",
    "came early": "SELECT event_seq FROM early",
    "strays": "SELECT event_id, reason, expectation_id FROM stray",
    "timers": "SELECT id, guards FROM timer",
    "agents": "SELECT agent, has_left FROM agent",
    "dead letters": "SELECT inbox.agent, event.id, inbox.reason FROM inbox JOIN event ON event.seq = inbox.event_seq "
    "WHERE inbox.state = 'dead'",
    "not handled": "SELECT inbox.agent, event.id, inbox.state FROM inbox JOIN event ON event.seq = inbox.event_seq "
    "WHERE inbox.state NOT IN ('done', 'dead')",
    "not sent": "SELECT event.id FROM outbox JOIN event ON event.seq = outbox.event_seq",
}

_CHARGED = """
    SELECT root_plan_id, llm_calls, (SELECT count(*) FROM journal WHERE plan_id = root_plan_id) FROM budget
"""

SHOWN = 240


def end_of(folder: Path, account: Account) -> End:
    try:
        return _end_of(folder, account)
    except sqlite3.DatabaseError as error:
        return {"integrity": [str(error)]}


def _end_of(folder: Path, account: Account) -> End:
    with closing(sqlite3.connect(folder / STORE)) as db:
        damage = [row[0] for row in db.execute("PRAGMA integrity_check")]
        if damage != ["ok"]:
            return {"integrity": damage}
        bodies = {
            name: sorted(_spelled(_lasting(json.loads(body))) for (body,) in db.execute(query))
            for name, query in _BODIES.items()
        }
        rows = {name: sorted(_spelled(list(row)) for row in db.execute(query)) for name, query in _ROWS.items()}
    effects = sorted(_spelled([key, *effect]) for key, effect in account.effects.items())
    return {"integrity": damage, **bodies, **rows, "effects": effects}


def differences(expected: End, found: End) -> Iterator[str]:
    if found["integrity"] != expected["integrity"]:
        yield f"the file is damaged: {found['integrity'][0]}"
        return
    for name in expected:
        missing = _without(expected[name], found.get(name, []))
        surplus = _without(found.get(name, []), expected[name])
        if missing:
            yield f"{name}: {len(missing)} missing, such as {missing[0][:SHOWN]}"
        if surplus:
            yield f"{name}: {len(surplus)} too many, such as {surplus[0][:SHOWN]}"


def broken_promises(folder: Path, account: Account, disturbances: int | None) -> Iterator[str]:
    """What the ledger shows. Each kill or error may repeat what was in flight, once; None is any number of them."""
    yield from (f"another effect under the same key: {changed}" for changed in account.changed)
    accepted: dict[str, set[str]] = {}
    for answer in account.notes("answered"):
        if answer["outcome"] == "accepted":
            accepted.setdefault(answer["wait"], set()).add(answer["who"])
    yield from (f"wait {wait} took the answers of {sorted(who)}" for wait, who in accepted.items() if len(who) > 1)
    if disturbances is not None:
        yield from _repeats(folder, account, disturbances)


def _repeats(folder: Path, account: Account, disturbances: int) -> Iterator[str]:
    most = 1 + disturbances
    yield from (f"{key} was called {n} times, most {most}" for key, n in account.calls.items() if n > most)
    asked = [row["asked"] for row in account.notes("model")]
    for name in sorted(set(asked)):
        if asked.count(name) > most:
            yield f"question {name} was asked {asked.count(name)} times, most {most}"
    with closing(sqlite3.connect(folder / STORE)) as db:
        budgets = db.execute(_CHARGED).fetchall()
    # A call is charged before it is made; the one of each plan that was in flight may be charged again.
    for plan, charged, answered in budgets:
        if not answered <= charged <= answered + disturbances:
            yield f"plan {plan}: {charged} calls of the model charged, {answered} answers journalled"
    if len(asked) > sum(charged for _, charged, _ in budgets):
        yield f"{len(asked)} calls of the model made, fewer charged: {budgets}"


def journalled(folder: Path) -> frozenset[str]:
    """The questions whose answers are on disk. Looked up in a copy, so that the program itself has to recover."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        copy = Path(name, STORE)
        for suffix in ("", "-wal"):
            if (found := folder / f"{STORE}{suffix}").exists():
                shutil.copyfile(found, f"{copy}{suffix}")
        with closing(sqlite3.connect(copy)) as db, suppress(sqlite3.DatabaseError):  # damage shows in the end
            entries = [json.loads(body) for (body,) in db.execute("SELECT body FROM journal")]
            return frozenset(entry["value"]["reasoning"] for entry in entries)
    return frozenset()


def _without(rows: list[str], others: list[str]) -> list[str]:
    return [row for row in rows if row not in others]


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _lasting(value: Any) -> Any:
    match value:
        case dict():
            return {name: _lasting(part) for name, part in value.items() if name not in _MOMENTS}
        case list():
            return [_lasting(part) for part in value]
        case _:
            return value
