"""The tables of memos.

`shelf`: its number stands before every word of its memos in the full-text index, so that how often a word occurs is
counted on that shelf alone. `memo_signs` are looked through for each search, `memo_numbers` only for the likeliest.
"""

# The table with a full-text index.
MEMO = "memo"
MEMO_TABLES = """
CREATE TABLE shelf (
    shelf INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    is_shared INTEGER NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT NOT NULL,
    memos INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, user_id, is_shared, kind, agent)
) STRICT;
CREATE TABLE memo (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf INTEGER NOT NULL,
    key TEXT NOT NULL,
    expires REAL,
    body TEXT NOT NULL,
    UNIQUE (shelf, key)
) STRICT;
CREATE INDEX memo_recent ON memo (shelf, seq);
CREATE INDEX memo_expires ON memo (expires) WHERE expires IS NOT NULL;
CREATE TABLE memo_signs (
    shelf INTEGER NOT NULL,
    embedder TEXT NOT NULL,
    seq INTEGER NOT NULL,
    signs BLOB NOT NULL,
    PRIMARY KEY (shelf, embedder, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE memo_numbers (seq INTEGER PRIMARY KEY, embedder TEXT NOT NULL, numbers BLOB NOT NULL) STRICT;
"""
