"""The tables. A step adds rows; nothing that grows is ever rewritten.

`inbox.state`: one row per (agent, owner) is its head, queued or leased; those behind it are blocked and move up
when the head is done or dead. So a claim reads heads only, however much is stored. `ready_at` is when a head may be
claimed: the end of its delay when it is queued, the end of its lease when it is leased.
"""

VERSION = 1
APPLICATION_ID = 0x536F6F72

_STATEMENTS = """
CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    topic TEXT NOT NULL,
    plan_id TEXT,
    root_plan_id TEXT,
    digest BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX event_tenant ON event (tenant, seq);
CREATE INDEX event_tree ON event (root_plan_id, seq) WHERE root_plan_id IS NOT NULL;

CREATE TABLE outbox (event_seq INTEGER PRIMARY KEY) STRICT;

CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    agent TEXT NOT NULL,
    event_seq INTEGER NOT NULL,
    owner TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('blocked', 'queued', 'leased', 'done', 'dead')),
    ready_at REAL NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    ended_at REAL,
    UNIQUE (agent, event_seq)
) STRICT;
CREATE UNIQUE INDEX inbox_head ON inbox (agent, owner) WHERE state IN ('queued', 'leased');
CREATE INDEX inbox_ready ON inbox (agent, priority, seq, ready_at) WHERE state IN ('queued', 'leased');
CREATE INDEX inbox_due ON inbox (agent, ready_at) WHERE state IN ('queued', 'leased') AND ready_at > 0;
CREATE INDEX inbox_blocked ON inbox (agent, owner, seq) WHERE state = 'blocked';
CREATE INDEX inbox_dead ON inbox (seq) WHERE state = 'dead';
CREATE INDEX inbox_goal ON inbox (owner) WHERE priority = 1;

CREATE TABLE timer (id TEXT PRIMARY KEY, due REAL NOT NULL, guards TEXT, body TEXT NOT NULL) STRICT;
CREATE INDEX timer_due ON timer (due, id);
CREATE INDEX timer_guards ON timer (guards) WHERE guards IS NOT NULL;

CREATE TABLE expectation (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    plan_id TEXT,
    event_type TEXT NOT NULL,
    event_topic TEXT NOT NULL,
    opened_at REAL NOT NULL,
    status TEXT NOT NULL,
    closed_at REAL,
    met_by TEXT,
    answer TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX expectation_plan ON expectation (plan_id, opened_at, id) WHERE plan_id IS NOT NULL;
CREATE INDEX expectation_open_plan ON expectation (plan_id, opened_at, id) WHERE status = 'open';
CREATE INDEX expectation_open_tenant ON expectation (tenant, opened_at, id) WHERE status = 'open';
CREATE INDEX expectation_open_kind ON expectation (kind, opened_at, id) WHERE status = 'open';
CREATE INDEX expectation_met_by ON expectation (met_by) WHERE met_by IS NOT NULL;

CREATE TABLE wait_key (
    tenant TEXT NOT NULL,
    event_type TEXT NOT NULL,
    key TEXT NOT NULL,
    expectation_id TEXT NOT NULL,
    PRIMARY KEY (tenant, event_type, key, expectation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wait_key_of ON wait_key (expectation_id);

CREATE TABLE early (
    tenant TEXT NOT NULL,
    event_type TEXT NOT NULL,
    key TEXT NOT NULL,
    event_seq INTEGER NOT NULL,
    expires REAL NOT NULL,
    PRIMARY KEY (tenant, event_type, key, event_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX early_event ON early (event_seq);
CREATE INDEX early_expires ON early (expires);

CREATE TABLE stray (
    event_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    expectation_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (event_id, reason, expectation_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE plan (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    plan_id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    root_plan_id TEXT NOT NULL,
    goal_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX plan_tenant ON plan (tenant, seq);
CREATE TABLE cancellation (plan_id TEXT PRIMARY KEY, reason TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX plan_status ON plan (status, seq);
CREATE INDEX plan_root ON plan (root_plan_id, seq);

CREATE TABLE step (
    plan_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    fingerprint TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (plan_id, ordinal)
) STRICT;
CREATE INDEX step_repeat ON step (plan_id, fingerprint) WHERE fingerprint IS NOT NULL;

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    plan_id TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (agent, cause_id, ordinal)
) STRICT;
CREATE INDEX journal_plan ON journal (plan_id, seq);

CREATE TABLE budget (
    root_plan_id TEXT PRIMARY KEY,
    actions INTEGER NOT NULL DEFAULT 0,
    llm_calls INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE agent (
    agent TEXT PRIMARY KEY,
    tenant TEXT,
    heartbeat REAL NOT NULL,
    has_left INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE definition (
    tenant TEXT NOT NULL,
    topic TEXT NOT NULL,
    event_name TEXT NOT NULL,
    version TEXT NOT NULL,
    agent TEXT NOT NULL,
    content TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, topic, event_name, version)
) STRICT;
"""

STATEMENTS: tuple[str, ...] = tuple(part.strip() for part in _STATEMENTS.split(";") if part.strip())
