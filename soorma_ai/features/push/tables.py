"""Table of pushes.

`due`: end of the claim, or a distant future for a done push. `fence`: number of the last claim. `body`: JSON.
"""

PUSH_TABLES = """
CREATE TABLE task_push (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    push_id TEXT NOT NULL,
    gateway TEXT NOT NULL,
    due REAL NOT NULL,
    fence INTEGER NOT NULL,
    at REAL NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, task_id, push_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_push_due ON task_push (gateway, due);
CREATE INDEX task_push_age ON task_push (tenant, at)
"""
