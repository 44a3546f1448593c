"""The state after a soak, compared with one undisturbed order, one parcel and one label.

Lost is a row missing in this comparison, or an event never read by the follower of the log; doubled is a surplus row, a
second outside effect, a second answer, or a lease handed to two processes.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
import psycopg
from callers import CallerRecord
from ledger import Account
from nats.js.errors import NotFoundError
from postgres_server import OWNER, as_role
from trades import EFFECTS, GOALS, NAME

from soorma_ai.kernel.domain.states import PROGRESS
from soorma_ai.testing.crash.comparison import SHOWN, compare_ends

# Moments, and fields of one plan only: its digests, and its number of saves.
_PASSING = frozenset(
    {
        *("at", "time", "opened_at", "closed_at", "created_at", "updated_at", "deadline", "answered_at", "latency_ms"),
        *("expirytime", "traceparent", "digest", "prompt_hash", "fingerprint", "sent", "offer_hash", "parts"),
    }
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# By the root of a row's tree; the data of its goal has the name.
_OF_PLANS = {
    "plan": "SELECT root_plan_id, plan.body FROM plan",
    "event": "SELECT coalesce(event.root_plan_id, plan.root_plan_id), event.body FROM event "
    f"LEFT JOIN plan ON plan.goal_id = event.id WHERE event.type <> '{PROGRESS}' "
    "AND coalesce(event.root_plan_id, plan.root_plan_id) IS NOT NULL",
    "step": "SELECT root_plan_id, step.body FROM step JOIN plan USING (plan_id)",
    "journal": "SELECT root_plan_id, journal.body FROM journal JOIN plan USING (plan_id)",
    "value": "SELECT root_plan_id, json_build_array(kind, key, plan_value.body)::text FROM plan_value "
    "JOIN plan USING (plan_id)",
    "memory": "SELECT root_plan_id, json_build_array(key, memory.body)::text FROM memory JOIN plan USING (plan_id)",
    "actions": "SELECT root_plan_id, actions::text FROM budget WHERE root_plan_id NOT LIKE 'events:%'",
    "task": "SELECT root_plan_id, body FROM task",
    "sub-task": "SELECT root_plan_id, sub_task.body FROM sub_task JOIN task USING (agent, task_id)",
    "expectation": "SELECT root_plan_id, json_build_array(kind, status)::text FROM expectation "
    "WHERE root_plan_id IS NOT NULL",
}
# Requests of clients belong to no plan; their data has the name.
_LOOSE = f"SELECT event.body FROM event WHERE root_plan_id IS NULL AND type LIKE 'label.%' AND type <> '{PROGRESS}'"
# None of these may be left.
_LEFT = {
    "dead letters": "SELECT inbox.agent, event.type, inbox.reason FROM inbox JOIN event ON event.seq = inbox.event_seq "
    "WHERE inbox.state = 'dead'",
    "not handled": "SELECT inbox.agent, event.type, inbox.state FROM inbox JOIN event ON event.seq = inbox.event_seq "
    "WHERE inbox.state NOT IN ('done', 'dead')",
    "not sent": "SELECT event.id, event.type FROM outbox JOIN event ON event.seq = outbox.event_seq",
    "open": "SELECT kind, event_type FROM expectation WHERE status = 'open'",
    "calls that were not charged": "SELECT root_plan_id, llm_calls FROM budget WHERE llm_calls + held_calls < "
    "(SELECT count(*) FROM journal JOIN plan USING (plan_id) WHERE plan.root_plan_id = budget.root_plan_id)",
}
_AT_REST = """
    SELECT (SELECT count(*) FROM plan WHERE status = 'completed' AND plan_id = root_plan_id),
        (SELECT count(*) FROM plan WHERE status IN ('failed', 'cancelled') AND plan_id = root_plan_id),
        (SELECT count(*) FROM outbox) + (SELECT count(*) FROM inbox WHERE state NOT IN ('done', 'dead')),
        (SELECT count(*) FROM event WHERE tenant = 'default'), (SELECT coalesce(sum(attempt), 0) FROM inbox)
"""

Rows = Mapping[str, Counter[str]]


@dataclass(frozen=True)
class Progress:
    """`left`: unfinished deliveries, and events before their arrival. `mark` changes with any progress."""

    completed: int
    failed: int
    left: int
    events: int
    mark: tuple[int, ...]

    def is_over(self, plans: int) -> bool:
        return not self.left and self.completed + self.failed >= plans


@dataclass
class SoakState:
    """The rows of each name, the end of the log, and the faults, in words."""

    rows: dict[str, Rows] = field(default_factory=dict)
    places: frozenset[int] = frozenset()
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)


def connect(url: str) -> psycopg.Connection:
    return psycopg.connect(as_role(url, OWNER), autocommit=True, options="-c search_path=soorma", connect_timeout=10)


def progress(url: str) -> Progress:
    with connect(url) as db:
        row = db.execute(_AT_REST).fetchone()
    assert row is not None
    numbers = tuple(int(number) for number in row)
    return Progress(*numbers[:4], numbers)


def registered(url: str) -> int:
    """Return the number of registered agents."""
    with connect(url) as db:
        row = db.execute("SELECT count(*) FROM agent").fetchone()
    return int(row[0]) if row else 0


def look(url: str) -> SoakState:
    """Read the store."""
    found = SoakState()
    with connect(url) as db:
        names, rows = dict[str, str](), defaultdict[str, defaultdict[str, list[str]]](lambda: defaultdict(list))
        # The plan contains the goal's data.
        for root, body in db.execute("SELECT root_plan_id, plan.body FROM plan WHERE plan_id = root_plan_id"):
            named = NAME.search(body)
            names[root] = named[0] if named else root
        for section, query in _OF_PLANS.items():
            for root, body in db.execute(query.encode()):
                rows[names.get(root, root)][section].append(body)
        for (body,) in db.execute(_LOOSE.encode()):
            named = NAME.search(body)
            rows[named[0] if named else body]["event"].append(body)
        found.places = frozenset(seq for (seq,) in db.execute("SELECT seq FROM event WHERE tenant = 'default'"))
        for what, query in _LEFT.items():
            if left := db.execute(query.encode()).fetchall():
                found.lost.append(f"{what}: {len(left)}, such as {left[0]}"[:SHOWN])
    found.rows = {name: spelled(sections) for name, sections in rows.items()}
    return found


def judge(
    found: SoakState, names: Sequence[str], like: Mapping[str, Rows], told: CallerRecord, account: Account
) -> None:
    """Add the faults. `like` has the undisturbed rows of each kind."""
    for name in names:
        _compare(found, name, like[_kind(name)])
    found.doubled += [f"{name}: nobody asked for it" for name in found.rows.keys() - set(names)]
    _look_at_callers(found, names, told)
    _look_at_effects(found, names, account)


def _compare(found: SoakState, name: str, wanted: Rows) -> None:
    rows = found.rows.get(name, {})
    for one in compare_ends(wanted, rows):
        found.lost += [f"{name}, {line}" for line in [one.missing_line] if line]
        found.doubled += [f"{name}, {line}" for line in [one.surplus_line] if line]


def _look_at_callers(found: SoakState, names: Sequence[str], told: CallerRecord) -> None:
    for name in names:
        plans, replies = told.plans[name], told.replies[name]
        if _kind(name) in GOALS and len(set(plans)) != 1:
            found.doubled.append(f"{name}: who asked twice was given plans {plans}")
        if _kind(name) not in GOALS and replies != [{"name": name}] * 2:
            found.lost.append(f"{name}: who asked twice was told {replies}")
    found.doubled += [f"wait {wait} took the answers of {who}" for wait, who in told.accepted.items() if len(who) > 1]
    last = max(told.seen, default=0)
    unread = found.places - set(told.seen)
    if passed := [place for place in unread if place < last]:
        found.lost.append(f"who followed the log was led past {len(passed)} of {len(found.places)}: {sorted(passed)}")
    if behind := [place for place in unread if place > last]:
        found.lost.append(f"who followed the log came to {last}, with {len(behind)} behind that")
    if again := [place for place, often in Counter(told.seen).items() if often > 1]:
        found.doubled.append(f"who followed the log read {len(again)} twice, such as {min(again)}")


def _look_at_effects(found: SoakState, names: Sequence[str], account: Account) -> None:
    done = Counter((name, json.loads(data)["what"]) for name, data in account.effects.values())
    wanted = Counter((effect, name) for name in names for effect in EFFECTS[_kind(name)])
    found.lost += [f"effect {effect} of {name} is missing" for effect, name in wanted - done]
    found.doubled += [f"effect {effect} of {name} has another key" for effect, name in done - wanted]
    found.doubled += [f"another effect under the same key: {changed}" for changed in account.changed]


async def acknowledged_too_early(url: str, bus_url: str) -> list[str]:
    """Return, once no process works, the events sent and neither in the inbox nor at the bus server."""
    with connect(url) as db:
        found = db.execute("SELECT event.id FROM outbox JOIN event ON event.seq = event_seq WHERE sent_at IS NOT NULL")
        sent = {str(event_id) for (event_id,) in found}
    there = await _events_on(bus_url) if sent else set[str]()
    return [f"{len(sent - there)} events of {len(sent)} were acknowledged before they arrived"] if sent - there else []


async def _events_on(bus_url: str) -> set[str]:
    """Return the ids of the events the bus server still has to deliver."""
    url, _, namespace = bus_url.rpartition("/")
    client = await nats.connect(url)
    found, place = set[str](), 1
    try:
        while True:
            row = await client.jetstream().get_msg(namespace, seq=place, subject=f"{namespace}.>", next=True)
            found.add(json.loads(row.data or b"")["id"])
            place = (row.seq or place) + 1
    except NotFoundError:
        return found
    finally:
        await client.close()


def held_twice(files: Iterable[Path]) -> Iterator[str]:
    """Yield the leases handed to more than one process, or twice to one."""
    leases = Counter[str]()
    for file in files:
        if file.exists():
            leases.update(line for line in file.read_text().split("\n")[:-1])
    for lease, often in leases.items():
        if often > 1:
            delivery, fence = lease.split()
            yield f"delivery {delivery} was handed to {often} under one lease, by fence {fence}"


def kinds_of(found: SoakState) -> dict[str, Rows]:
    """Return the rows of one example of each kind."""
    return {_kind(name): rows for name, rows in found.rows.items()}


def _kind(name: str) -> str:
    return name.partition("-")[0]


def spelled(sections: Mapping[str, Sequence[str]]) -> Rows:
    events = [json.loads(body) for body in sections.get("event", ())]
    names = {event["id"]: f"{event['source']}'s {event['type']}" for event in events}

    def spell(body: str) -> str:
        text = json.dumps(_lasting(json.loads(body)), sort_keys=True, separators=(",", ":"))
        return NAME.sub("NAME", _UUID.sub(lambda id: names.get(id[0], "ID"), text))

    return {section: Counter(map(spell, bodies)) for section, bodies in sections.items()}


def _lasting(value: Any) -> Any:
    match value:
        case dict():
            return {name: _lasting(part) for name, part in value.items() if name not in _PASSING}
        case list():
            return [_lasting(part) for part in value]
        case _:
            return value
