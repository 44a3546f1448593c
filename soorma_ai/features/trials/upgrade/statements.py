"""Statements of upgrade checks."""

from soorma_ai.features.trials.upgrade.ports import Taking
from soorma_ai.kernel.domain.registry import Registration
from soorma_ai.kernel.sql.codec import registration
from soorma_ai.kernel.sql.connection import Reader


def find_registrations(db: Reader, tenant_id: str) -> tuple[list[Registration], list[Taking]]:
    found = db.execute(
        "SELECT body FROM agent WHERE tenant IS NULL OR tenant = ? ORDER BY agent", (tenant_id,)
    ).fetchall()
    takings = db.execute("SELECT agent, topic, event_name FROM taking ORDER BY seq").fetchall()
    return [registration(body) for (body,) in found], [(agent, topic, name) for agent, topic, name in takings]
