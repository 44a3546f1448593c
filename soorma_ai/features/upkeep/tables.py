"""The table of users who are being forgotten.

`forgetting`: a user whose rows are being removed, until none is left, and the place to which that has come.
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
