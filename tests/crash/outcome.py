"""The state a program left behind, compared with the state after an undisturbed run."""

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ledger import Account
from life import STORE
from open_reader import Find, open_reader

from soorma_ai import EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.states import PROGRESS
from soorma_ai.settings import is_postgres, sqlite_path
from soorma_ai.testing.crash.comparison import End, compare_ends

# Moments, and fields of one run only.
_PASSING = {
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

# Fields that depend on the order of results, beside the ids.
_ORDER = {"causationid", "ordinal", "version", "prompt_hash", "sent", "share", "fires"}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_EVENTS = "SELECT event.body FROM event"
_JOURNAL = "SELECT journal.body FROM journal"

_BODIES = {
    "plans": "SELECT plan.body FROM plan",
    "steps": "SELECT step.body FROM step",
    "journal": "SELECT journal.body FROM journal",
    "tasks": "SELECT task.body FROM task",
    "sub-tasks": "SELECT sub_task.body FROM sub_task",
}

_ROWS = {
    "values": "SELECT plan_id, kind, key, body FROM plan_value",
    "memory": "SELECT plan_id, key, body FROM memory",
    "actions": "SELECT root_plan_id, actions FROM budget",
    "expectations": "SELECT id, kind, status, met_by FROM expectation",
    "wait keys": "SELECT key, event_type, expectation_id FROM wait_key",
    "came early": "SELECT event.id FROM early JOIN event ON event.seq = early.event_seq",
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
    SELECT root_plan_id, llm_calls + held_calls,
        (SELECT count(*) FROM journal JOIN plan USING (plan_id) WHERE plan.root_plan_id = budget.root_plan_id)
    FROM budget
"""


def end_of(url: str, account: Account, *, any_order: bool = False) -> End:
    """Return the contents of a store and of the ledger, without moments and latencies, each section sorted.

    With `any_order`, fields that depend on the last of several results are left out, and events are known by their
    content: their ids derive from their causes.
    """
    try:
        with open_reader(url) as find:
            return _end_of(find, _damage(url, find), account, any_order)
    except sqlite3.DatabaseError as error:
        return {"integrity": [str(error)]}


def _damage(url: str, find: Find) -> list[str]:
    """Report no damage: a server looks after its files by itself."""
    return ["ok"] if is_postgres(url) else [str(row[0]) for row in find("PRAGMA integrity_check")]


def _end_of(find: Find, damage: list[str], account: Account, any_order: bool) -> End:
    if damage != ["ok"]:
        return {"integrity": damage}
    events = [json.loads(body) for (body,) in find(_EVENTS)]
    told = [event for event in events if event["type"] == PROGRESS]
    bodies = {name: [json.loads(body) for (body,) in find(query)] for name, query in _BODIES.items()}
    bodies["events"] = [event for event in events if event["type"] != PROGRESS]
    rows = {name: [list(row) for row in find(query)] for name, query in _ROWS.items()}
    rows["values"] = [[*row[:-1], _without_moment(row[1], row[-1])] for row in rows["values"]]
    effects = [[key, *effect] for key, effect in sorted(account.effects.items())]
    passing = _PASSING | _ORDER if any_order else _PASSING
    names = _names(events, rows["expectations"]) if any_order else {}
    end = {
        **{name: sorted(_spelled(_lasting(body, passing), names) for body in found) for name, found in bodies.items()},
        **{name: sorted(_spelled(row, names) for row in found) for name, found in rows.items()},
        "effects": sorted(_spelled(effect[1:] if any_order else effect, names) for effect in effects),
    }
    # A report is published at once, so a handler without an end publishes it again.
    reports = {_spelled(_lasting(event, passing | {"id"}), names) for event in told}
    return {"integrity": damage, **end, "progress": sorted(reports)}


def differences(expected: End, found: End) -> Iterator[str]:
    if found["integrity"] != expected["integrity"]:
        yield f"the file is damaged: {found['integrity'][0]}"
        return
    for one in compare_ends(expected, found):
        yield from one.lines


def broken_promises(url: str, account: Account, disturbances: int | None) -> Iterator[str]:
    """Yield the violations in the ledger. Each kill or error may repeat the calls in flight once; None allows any
    number."""
    yield from (f"another effect under the same key: {changed}" for changed in account.changed)
    accepted: dict[str, set[str]] = {}
    for answer in account.notes("answered"):
        if answer["outcome"] == "accepted":
            accepted.setdefault(answer["wait"], set()).add(answer["who"])
    yield from (f"wait {wait} took the answers of {sorted(who)}" for wait, who in accepted.items() if len(who) > 1)
    if disturbances is not None:
        yield from _repeats(url, account, disturbances)


def _repeats(url: str, account: Account, disturbances: int) -> Iterator[str]:
    most = 1 + disturbances
    yield from (f"{key} was called {n} times, most {most}" for key, n in account.calls.items() if n > most)
    asked = [row["asked"] for row in account.notes("model")]
    for name in sorted(set(asked)):
        if asked.count(name) > most:
            yield f"question {name} was asked {asked.count(name)} times, most {most}"
    with open_reader(url) as find:
        budgets = find(_CHARGED)
    # A call is charged before it is made; the call in flight of each plan may be charged again.
    for plan, charged, answered in budgets:
        if not answered <= charged <= answered + disturbances:
            yield f"plan {plan}: {charged} calls of the model charged, {answered} answers journalled"
    if len(asked) > sum(charged for _, charged, _ in budgets):
        yield f"{len(asked)} calls of the model made, fewer charged: {budgets}"


def journalled_questions(url: str) -> frozenset[str]:
    """Return the questions with stored answers."""
    path = sqlite_path(url) if not is_postgres(url) else None
    if path is not None:
        return _questions_in_copy(path.parent)
    with open_reader(url) as find:
        return _questions([row[0] for row in find(_JOURNAL)])


def _questions_in_copy(folder: Path) -> frozenset[str]:
    """Read from a copy, so the program itself has to recover."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        copy = Path(name, STORE)
        for suffix in ("", "-wal"):
            if (found := folder / f"{STORE}{suffix}").exists():
                shutil.copyfile(found, f"{copy}{suffix}")
        with closing(sqlite3.connect(copy)) as db, suppress(sqlite3.DatabaseError):  # the end shows any damage
            return _questions([row[0] for row in db.execute(_JOURNAL)])
    return frozenset()


def _questions(journal: Iterable[str]) -> frozenset[str]:
    return frozenset(json.loads(body)["value"]["reasoning"] for body in journal)


def _names(events: Iterable[Mapping[str, Any]], expectations: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Return names for events and joins by their ids. A name leaves out which result was the cause."""
    results = EventTopic.ACTION_RESULTS
    joins = {id: "a join" for id, kind, *_ in expectations if kind == ExpectationKind.JOIN}
    return joins | {e["id"]: "a result" if e["topic"] == results else f"{e['source']}'s {e['type']}" for e in events}


def _spelled(value: Any, names: Mapping[str, str]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return _UUID.sub(lambda id: names.get(id[0], id[0]), text) if names else text


def _without_moment(kind: str, body: str) -> str:
    """Return a body without the moment of a transition between phases, its names in one order."""
    told = json.loads(body) if kind == "phase" else None
    if not isinstance(told, dict):
        return body
    return json.dumps({name: value for name, value in told.items() if name != "timestamp"}, sort_keys=True)


def _lasting(value: Any, passing: Set[str]) -> Any:
    match value:
        case dict():
            return {name: _lasting(part, passing) for name, part in value.items() if name not in passing}
        case list():
            return [_lasting(part, passing) for part in value]
        case _:
            return value
