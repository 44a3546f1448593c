"""Tables of calls of models in trials, of cases, of replaced models, and of shadows.

`trial_call`: one row for each call, of the user of its plan. `review`: an edited or rejected approval without a case so
far. `decision_case.name`: the set of the case. `model_replacement`: one row for each model with another in its place.
`shadow`: one row for each decision asked again by a shadow; without a `body` it has no outcome. `shadow_budget`: US
dollars of a day. `body`: JSON.
"""

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
CREATE INDEX trial_call_age ON trial_call (tenant, at);

CREATE TABLE review (
    expectation_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    plan_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX review_user ON review (tenant, user_id);

CREATE TABLE decision_case (
    case_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    at REAL NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_case_name ON decision_case (tenant, name, at, case_id);
CREATE INDEX decision_case_user ON decision_case (tenant, user_id);

CREATE TABLE model_replacement (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE shadow (
    decision_id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    planner TEXT NOT NULL,
    at REAL NOT NULL,
    body TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX shadow_planner ON shadow (tenant, planner, at);
CREATE INDEX shadow_user ON shadow (tenant, user_id);
CREATE INDEX shadow_age ON shadow (tenant, at);

CREATE TABLE shadow_budget (
    tenant TEXT NOT NULL,
    planner TEXT NOT NULL,
    day TEXT NOT NULL,
    at REAL NOT NULL,
    usd REAL NOT NULL,
    PRIMARY KEY (tenant, planner, day)
) STRICT, WITHOUT ROWID
"""
