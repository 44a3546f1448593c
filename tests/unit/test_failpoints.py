import pytest
from failpoints import Failpoints, point_of


@pytest.mark.parametrize(
    ("sql", "point"),
    [
        ("BEGIN IMMEDIATE", "sql.begin"),
        ("COMMIT", "sql.commit"),
        ("ROLLBACK TO job", "sql.rollback"),
        ("INSERT INTO event (id) VALUES (1)", "sql.insert.event"),
        ("INSERT OR REPLACE INTO timer (id) VALUES (1)", "sql.insert.timer"),
        ("\n    UPDATE inbox SET state = 'queued' WHERE seq = (SELECT min(seq) FROM inbox)", "sql.update.inbox"),
        ("DELETE FROM outbox WHERE event_seq = 1", "sql.delete.outbox"),
        ("SELECT body FROM event", None),
        ("SAVEPOINT job", None),
        ("PRAGMA user_version", None),
    ],
)
def test_a_writing_statement_is_named_by_its_verb_and_its_table(sql: str, point: str | None) -> None:
    assert point_of(sql) == point


def test_failpoints_are_counted_by_name() -> None:
    points = Failpoints()
    for name in ("paid.before", "paid.after", "paid.before"):
        points.hit(name)
    assert points.passed == {"paid.before": 2, "paid.after": 1}
