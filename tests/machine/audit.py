"""Every change of a plan and of an expectation, in order, recorded by the store itself.

Tables show the present state; triggers record the states in between, in the same transaction.
"""

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TRIGGERS = """
CREATE TABLE row_change (
    seq INTEGER PRIMARY KEY, what TEXT, id TEXT, old_status TEXT, new_status TEXT, old_value TEXT, new_value TEXT
);
CREATE TRIGGER audit_plan_new AFTER INSERT ON plan BEGIN
    INSERT INTO row_change VALUES (NULL, 'plan', NEW.plan_id, NULL, NEW.status, NULL, NEW.version);
END;
CREATE TRIGGER audit_plan AFTER UPDATE ON plan BEGIN
    INSERT INTO row_change VALUES (NULL, 'plan', NEW.plan_id, OLD.status, NEW.status, OLD.version, NEW.version);
END;
CREATE TRIGGER audit_plan_gone AFTER DELETE ON plan BEGIN
    INSERT INTO row_change VALUES (NULL, 'plan', OLD.plan_id, OLD.status, 'deleted', OLD.version, NULL);
END;
CREATE TRIGGER audit_expectation AFTER UPDATE ON expectation BEGIN
    INSERT INTO row_change VALUES (NULL, 'expectation', NEW.id, OLD.status, NEW.status, OLD.answer, NEW.answer);
END;
"""


def install_audit(path: Path) -> None:
    """Record all later writes to this store."""
    db = sqlite3.connect(path)
    db.executescript(_TRIGGERS)
    db.close()


_FOR_PEOPLE = "kind IN ('wait', 'gate', 'doubt')"


@dataclass(frozen=True)
class Change:
    """A change of a plan (the values are its versions) or of an expectation (they are its recorded answers)."""

    what: str
    id: str
    old_status: str | None
    new_status: str
    old_value: str | None
    new_value: str | None


class Audit:
    """Reads committed rows, beside the owner of the file."""

    def __init__(self, path: Path) -> None:
        self._db: Any = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

    def close(self) -> None:
        self._db.close()

    def rows(self, query: str, *values: Any) -> list[Any]:
        return self._db.execute(query, values).fetchall()

    def damage(self) -> list[str]:
        return [found for found in self.column("PRAGMA quick_check") if found != "ok"]

    def column(self, query: str, *values: Any) -> list[Any]:
        return [row[0] for row in self.rows(query, *values)]

    def bodies(self, query: str, *values: Any) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.column(query, *values)]

    def changes(self) -> list[Change]:
        fields = "what, id, old_status, new_status, old_value, new_value"
        return [Change(*row) for row in self.rows(f"SELECT {fields} FROM row_change ORDER BY seq")]

    def plans(self) -> list[dict[str, Any]]:
        return self.bodies("SELECT body FROM plan ORDER BY seq")

    def waits(self) -> list[str]:
        """Return every question ever asked of people."""
        return self.column(f"SELECT id FROM expectation WHERE {_FOR_PEOPLE} ORDER BY opened_at, id")

    def open_waits(self) -> list[str]:
        return self.column(f"SELECT id FROM expectation WHERE status = 'open' AND {_FOR_PEOPLE} ORDER BY id")

    def events(self) -> list[dict[str, Any]]:
        return self.bodies("SELECT body FROM event ORDER BY seq")
