"""Tables of prompts, and of the costs of model calls.

`prompt_part`: text of questions to models, of a plan or, if `plan_id` is empty, of all plans of a tenant; `used_at` is
the last use of such a one, within a day.

`budget`: amounts spent by a tree, settled. `held_*` is reserved for calls without an answer yet; limits count both.
`unpriced_calls` are those of unknown price: `cost_usd` is that of the others.
"""

MODEL_TABLES = """
CREATE TABLE shown (plan_id TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (plan_id, digest))
    STRICT, WITHOUT ROWID;
CREATE TABLE prompt_part (
    plan_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    used_at REAL NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (plan_id, tenant, digest)
) STRICT;

CREATE TABLE budget (
    root_plan_id TEXT PRIMARY KEY,
    actions INTEGER NOT NULL DEFAULT 0,
    llm_calls INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    unpriced_calls INTEGER NOT NULL DEFAULT 0,
    held_calls INTEGER NOT NULL DEFAULT 0,
    held_tokens INTEGER NOT NULL DEFAULT 0,
    held_usd REAL NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
"""

# What the columns of a budget held before counts as settled.
RESERVED = """
ALTER TABLE budget ADD COLUMN unpriced_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budget ADD COLUMN held_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budget ADD COLUMN held_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budget ADD COLUMN held_usd REAL NOT NULL DEFAULT 0
"""
