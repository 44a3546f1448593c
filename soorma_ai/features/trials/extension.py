"""Extension: trials of recorded decisions, and of upgrades."""

from soorma_ai.features.trials.ports import CONTRACTS, Taking
from soorma_ai.kernel.domain.registry import Registration
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.codec import registration
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.database import StorePart, reading
from soorma_ai.kernel.sql.storage import Storage
from soorma_ai.kernel.sql.tables.open_work import find_open_work


def find_registrations(db: Reader, tenant_id: str) -> tuple[list[Registration], list[Taking]]:
    found = db.execute(
        "SELECT body FROM agent WHERE tenant IS NULL OR tenant = ? ORDER BY agent", (tenant_id,)
    ).fetchall()
    takings = db.execute("SELECT agent, topic, event_name FROM taking ORDER BY seq").fetchall()
    return [registration(body) for (body,) in found], [(agent, topic, name) for agent, topic, name in takings]


class SqlContracts(StorePart):
    registrations = reading(find_registrations)
    open_work = reading(find_open_work)


EXTENSION = Extension(name="trials", storage=Storage(parts={CONTRACTS: SqlContracts}))
