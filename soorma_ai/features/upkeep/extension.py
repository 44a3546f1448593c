"""Extension: retention and erasure."""

from soorma_ai.features.upkeep import erasure
from soorma_ai.features.upkeep.erasure_restart import keep_forgetting
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.features.upkeep.store import SqlUpkeep
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.schema import statements
from soorma_ai.kernel.sql.storage import Storage, Table

FORGETTING = """
CREATE TABLE forgetting (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    stage TEXT NOT NULL DEFAULT 'trees',
    after_seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID
"""


EXTENSION = Extension(
    name="upkeep",
    storage=Storage(
        statements=statements(FORGETTING),
        tables=(Table("forgetting", seen="{own} AND {users}"),),
        parts={UPKEEP: SqlUpkeep},
        check_users=erasure.must_not_be_forgotten,
        find_leaving=erasure.users,
    ),
    loops={"erasure": keep_forgetting},
)
