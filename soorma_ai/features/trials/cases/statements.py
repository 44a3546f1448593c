"""Statements for cases."""

from collections.abc import Sequence

from soorma_ai.features.trials.cases.records import DecisionCase, Review
from soorma_ai.kernel.sql.codec import Codec, add_row, epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

_CASE = Codec(DecisionCase)

# A closed question with the answer of a person.
CLOSING = (
    """
    INSERT INTO review (expectation_id, tenant, user_id, plan_id)
    SELECT id, tenant, user_id, plan_id FROM expectation
    WHERE id = ? AND kind = 'gate' AND plan_id IS NOT NULL
        AND iif(json_valid(answer), json_extract(answer, '$.decision'), '') IN ('edit', 'reject')
    ON CONFLICT (expectation_id) DO NOTHING
    """,
)
OF_QUESTIONS = ("DELETE FROM review WHERE expectation_id IN (SELECT value FROM json_each(:ids))",)
OF_PERSON = ("DELETE FROM review WHERE tenant = :tenant AND user_id = :user",)
SOME_OF_PERSON = (
    """
    DELETE FROM decision_case WHERE case_id IN (
        SELECT case_id FROM decision_case WHERE tenant = :tenant AND user_id = :user LIMIT :limit
    )
    """,
)


def find_cases(db: Reader, tenant_id: str, name: str, limit: int) -> list[DecisionCase]:
    query = "SELECT body FROM decision_case WHERE tenant = :tenant AND (CAST(:name AS TEXT) = '' OR name = :name)"
    values = {"tenant": tenant_id, "name": name, "limit": limit}
    rows = db.execute(f"{query} ORDER BY name, at, case_id LIMIT :limit", values).fetchall()
    return [_CASE.record(body) for (body,) in rows]


def keep_cases(db: Connection, cases: Sequence[DecisionCase]) -> int:
    return sum(_keep(db, case) for case in cases)


def _keep(db: Connection, case: DecisionCase) -> bool:
    """Keep a case; tell whether it is new. The case of another tenant stays."""
    lineage = case.plan.lineage
    query = "SELECT 1 FROM decision_case WHERE case_id = ? AND tenant = ?"
    is_new = db.execute(query, (case.case_id, lineage.tenant_id)).fetchone() is None
    add_row(
        db,
        "decision_case",
        "ON CONFLICT (case_id) DO UPDATE SET body = excluded.body, at = excluded.at "
        "WHERE decision_case.tenant = excluded.tenant",
        case_id=case.case_id,
        tenant=lineage.tenant_id,
        user_id=lineage.user_id,
        name=case.name,
        at=epoch(case.made_at),
        body=_CASE.text(case),
    )
    return is_new


def remove_case(db: Connection, tenant_id: str, case_id: str) -> bool:
    query = "DELETE FROM decision_case WHERE case_id = ? AND tenant = ?"
    return db.execute(query, (case_id, tenant_id)).rowcount == 1


def find_reviews(db: Reader, limit: int, tenant_id: str | None = None) -> list[Review]:
    query = """
        SELECT expectation_id, tenant, plan_id FROM review
        WHERE CAST(:tenant AS TEXT) IS NULL OR tenant = :tenant ORDER BY expectation_id LIMIT :limit
    """
    return [Review(*row) for row in db.execute(query, {"tenant": tenant_id, "limit": limit}).fetchall()]


def end_review(db: Connection, review: Review, case: DecisionCase | None) -> None:
    query = "DELETE FROM review WHERE expectation_id = ?"
    if db.execute(query, (review.expectation_id,)).rowcount == 1 and case is not None:
        _keep(db, case)
