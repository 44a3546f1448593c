"""The table of erasures in progress.

`forgetting`: a user, and the place of the removal of their rows. The row is removed last.
"""

FORGETTING = """
CREATE TABLE forgetting (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    stage TEXT NOT NULL DEFAULT 'trees',
    after_seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID
"""
