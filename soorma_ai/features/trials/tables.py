"""Table of calls of models in trials: one row for each call, of the user of its plan. `body`: JSON."""

TRIAL_TABLES = """
CREATE TABLE trial_call (
    call_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    question TEXT NOT NULL,
    model TEXT NOT NULL,
    at REAL NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX trial_call_question ON trial_call (tenant, question, model, at);
CREATE INDEX trial_call_user ON trial_call (tenant, user_id);
CREATE INDEX trial_call_age ON trial_call (tenant, at)
"""
