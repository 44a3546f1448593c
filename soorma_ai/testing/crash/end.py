"""End of a life: the plans, the events and the dead letters of its stores, without ids and moments."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from soorma_ai.kernel.domain.states import PROGRESS
from soorma_ai.testing.crash.comparison import End

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32,64}\b")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")

_PLANS = "SELECT agent, status FROM plan"
_EVENTS = "SELECT body FROM event WHERE topic <> 'system-events'"
_DEAD = (
    "SELECT inbox.agent, event.type, inbox.reason FROM inbox JOIN event ON event.seq = event_seq WHERE state = 'dead'"
)
_LEASES_END = "UPDATE inbox SET ready_at = 0 WHERE state = 'leased'"
NOT_AT_REST = """
    SELECT EXISTS (SELECT 1 FROM outbox WHERE sent_at IS NULL)
        OR EXISTS (SELECT 1 FROM inbox WHERE state = 'leased' OR (state = 'queued' AND ready_at = 0))
"""


def end_of(folder: Path) -> End:
    found: dict[str, list[str]] = {"plans": [], "dead letters": [], "events": []}
    for path in sorted(folder.glob("*.db")):
        with closing(sqlite3.connect(path)) as db:
            found["plans"] += [f"{status} by {agent}" for agent, status in db.execute(_PLANS)]
            found["dead letters"] += [without_ids(f"{e} of {a}: {reason}") for a, e, reason in db.execute(_DEAD)]
            for (body,) in db.execute(_EVENTS):
                event = json.loads(body)
                if event["type"] != PROGRESS:
                    data = json.dumps(event.get("data"), sort_keys=True)
                    found["events"].append(without_ids(f"{event['type']} of {event['source']}: {data}"))
    return found


def end_leases(folder: Path) -> None:
    """End the leases of a dead process, in place of the time until their end."""
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as db:
            db.execute(_LEASES_END)
            db.commit()


def is_at_rest(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return not db.execute(NOT_AT_REST).fetchone()[0]


def without_ids(text: str) -> str:
    return _MOMENT.sub("(moment)", _ID.sub("(id)", text))
