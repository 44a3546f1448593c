"""Extension: API keys."""

from soorma_ai.features.identity import statements
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.ports import KEYS
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table

KEY_TABLES = """
CREATE TABLE api_key (
    key_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    made_at REAL NOT NULL,
    revoked_at REAL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_tenant ON api_key (tenant, made_at, key_id)
"""


class SqlKeys(StorePart):
    add = writing(statements.add_key)
    find = reading(statements.find_key)
    ls = reading(statements.keys)
    revoke = writing(statements.revoke_key)


EXTENSION = Extension(
    name="identity",
    storage=Storage(
        statements=split(KEY_TABLES),
        tables=(Table("api_key"),),
        parts={KEYS: SqlKeys},
        removal=Removal(begin=statements.revoke_keys_of),
    ),
)
