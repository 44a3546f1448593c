"""Extension: API keys."""

from soorma_ai.features.identity import statements
from soorma_ai.features.identity.store import SqlKeys
from soorma_ai.features.identity.tables import KEY_TABLES
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.ports import KEYS
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table

EXTENSION = Extension(
    name="identity",
    storage=Storage(
        statements=split(KEY_TABLES),
        tables=(Table("api_key"),),
        parts={KEYS: SqlKeys},
        removal=Removal(begin=statements.revoke_keys_of),
    ),
)
