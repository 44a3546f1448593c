"""The table of API keys. `revoked_at` is a column, so that no key is read to end it."""

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
