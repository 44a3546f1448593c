"""Tables of the kernel in their present form; `migrations` brings older files here. Features bring their own. A step
adds rows; no growing row is ever rewritten.

`inbox.state`: one row per (agent, owner) is its head: queued, leased or in doubt; those behind it are blocked and move
up when the head is done or dead. So a claim reads heads only, with any number of stored rows. `ready_at` is the moment
of a head's next claim: the end of its delay when it is queued, the end of its lease when it is leased. `started`: a
handler that must not run twice has begun. `crashes` counts the ends of the process while the row was leased, `redriven`
the returns of a dead letter.

`rest` is a record as JSON without the fields of its row's columns, and without fields at their default; `body` is the
whole record, made of both at every read. `step.data_at`: place of the step's data in its event, instead of here.
`journal.is_raw`: the value is the JSON of the raw text. `same`: flags of the values that equal another column, and are
left out of `rest`; see `kernel.sql.bodies`. `schema_version` is part of the URI of a
schema, of which the row has the other parts.

`agent.revision` is another one after each change of its body.

`memory`: a row with a NULL body is a deleted key. Appended items of a list stand in `memory_item`.

`inbox.holder` is the process of its last lease, with the lease ending at its end. 0: it ends with none, since it is
lent. Below 0: it is lent, without its borrower's word yet about the arrival of that loan.

`plan.place` is another number after each commit that changes the plan's state: its row, values, expectations or steps.
A process beside others reads by it whether a state in its memory is still that of the rows.

`outbox`: a row stays until its event has arrived; `sent_at` is the moment of the bus's acceptance. `store.id`: its name
at a broker.
"""

from soorma_ai.kernel.sql.bodies import EVENT, EXPECTATION, JOURNAL, PLAN, STEP
from soorma_ai.kernel.sql.model_tables import MODEL_TABLES

VERSION = 14
APPLICATION_ID = 0x536F6F72


# Questions, counted by kind and age without a look at their rows: SQLite asks for the status, and row-level security
# for the user.
AGED = """
CREATE INDEX expectation_age ON expectation (tenant, kind, opened_at, status, user_id)
    WHERE status = 'open' AND kind IN ('wait', 'gate', 'doubt')
"""


def statements(script: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in script.split(";") if part.strip())


STATEMENTS = statements(f"""
CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    topic TEXT NOT NULL,
    plan_id TEXT,
    root_plan_id TEXT,
    digest BLOB NOT NULL,
    rest TEXT NOT NULL,
    time REAL NOT NULL DEFAULT 0,
    same INTEGER NOT NULL DEFAULT 0,
    cause_id TEXT,
    schema_version TEXT,
    {EVENT}
) STRICT;
CREATE INDEX event_tenant ON event (tenant, seq);
CREATE INDEX event_tree ON event (root_plan_id, seq) WHERE root_plan_id IS NOT NULL;
CREATE INDEX event_loose ON event (tenant, time) WHERE root_plan_id IS NULL;

CREATE TABLE outbox (event_seq INTEGER PRIMARY KEY, sent_at REAL) STRICT;
CREATE INDEX outbox_unsent ON outbox (event_seq) WHERE sent_at IS NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;

CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    agent TEXT NOT NULL,
    event_seq INTEGER NOT NULL,
    owner TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('blocked', 'queued', 'leased', 'in_doubt', 'done', 'dead')),
    ready_at REAL NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    ended_at REAL,
    started INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    redriven INTEGER NOT NULL DEFAULT 0,
    holder INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    UNIQUE (event_seq, agent)
) STRICT;
CREATE UNIQUE INDEX inbox_head ON inbox (owner, agent) WHERE state IN ('queued', 'leased', 'in_doubt');
CREATE INDEX inbox_ready ON inbox (agent, priority, seq, ready_at) WHERE state IN ('queued', 'leased');
CREATE INDEX inbox_due ON inbox (agent, ready_at) WHERE state IN ('queued', 'leased') AND ready_at > 0;
CREATE INDEX inbox_suspect ON inbox (crashes, seq) WHERE state IN ('queued', 'leased') AND crashes > 1;
CREATE INDEX inbox_blocked ON inbox (owner, agent, seq) WHERE state = 'blocked';
CREATE INDEX inbox_dead ON inbox (seq) WHERE state = 'dead';
CREATE INDEX inbox_goal ON inbox (owner) WHERE priority = 1;

CREATE TABLE timer (id TEXT PRIMARY KEY, due REAL NOT NULL, guards TEXT, body TEXT NOT NULL, series TEXT) STRICT;
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
    rest TEXT NOT NULL,
    task_id TEXT,
    group_id TEXT,
    root_plan_id TEXT,
    user_id TEXT NOT NULL DEFAULT '',
    same INTEGER NOT NULL DEFAULT 0,
    schema_version TEXT,
    {EXPECTATION}
) STRICT;
CREATE INDEX expectation_open_tree ON expectation (root_plan_id, opened_at, id)
    WHERE status = 'open' AND root_plan_id IS NOT NULL;
CREATE INDEX expectation_task ON expectation (task_id, opened_at, id) WHERE task_id IS NOT NULL;
CREATE INDEX expectation_plan ON expectation (plan_id, opened_at, id) WHERE plan_id IS NOT NULL;
CREATE INDEX expectation_open_plan ON expectation (plan_id, opened_at, id) WHERE status = 'open';
CREATE INDEX expectation_open_tenant ON expectation (tenant, opened_at, id) WHERE status = 'open';
CREATE INDEX expectation_offer ON expectation (opened_at, id) WHERE status = 'open' AND kind = 'offer';
CREATE INDEX expectation_met_by ON expectation (met_by) WHERE met_by IS NOT NULL;
CREATE INDEX expectation_group ON expectation (group_id, opened_at, id) WHERE group_id IS NOT NULL;
CREATE INDEX expectation_gate ON expectation (tenant, closed_at)
    WHERE kind = 'gate' AND plan_id IS NULL AND task_id IS NULL;
-- By the deadline, what has none last.
CREATE INDEX expectation_question
    ON expectation (
        tenant, iif(json_valid(rest), ifnull(julianday(json_extract(rest, '$.deadline')), 9e9), 0), opened_at, id
    )
    WHERE status = 'open' AND kind IN ('wait', 'gate', 'doubt');
CREATE INDEX expectation_own
    ON expectation (
        tenant, user_id, iif(json_valid(rest), ifnull(julianday(json_extract(rest, '$.deadline')), 9e9), 0),
        opened_at, id
    )
    WHERE status = 'open' AND kind IN ('wait', 'gate', 'doubt');
CREATE INDEX expectation_held ON expectation (tenant, user_id)
    WHERE status = 'open' AND kind = 'gate' AND agent = 'client';

CREATE TABLE wait_key (
    tenant TEXT NOT NULL,
    event_type TEXT NOT NULL,
    key TEXT NOT NULL,
    expectation_id TEXT NOT NULL,
    PRIMARY KEY (tenant, event_type, key, expectation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wait_key_of ON wait_key (expectation_id);

-- Open questions by the roles that they name as who answers, in the order in which they are listed.
CREATE TABLE asked_role (
    tenant TEXT NOT NULL,
    role TEXT NOT NULL,
    due REAL NOT NULL,
    opened_at REAL NOT NULL,
    expectation_id TEXT NOT NULL,
    PRIMARY KEY (tenant, role, due, opened_at, expectation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX asked_role_of ON asked_role (expectation_id);

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
    rest TEXT NOT NULL,
    session_id TEXT,
    answer_key TEXT,
    user_id TEXT NOT NULL DEFAULT '',
    limits TEXT,
    next_call TEXT,
    {PLAN},
    place INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX plan_tenant ON plan (tenant, seq);
CREATE INDEX plan_user ON plan (tenant, user_id, seq);
CREATE TABLE cancellation (plan_id TEXT PRIMARY KEY, reason TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX plan_status ON plan (status, seq);
CREATE INDEX plan_root ON plan (root_plan_id, seq);
CREATE INDEX plan_ended ON plan (tenant, julianday(json_extract(rest, '$.updated_at')))
    WHERE status IN ('completed', 'failed', 'cancelled') AND plan_id = root_plan_id;
CREATE INDEX plan_session ON plan (tenant, session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX plan_answer ON plan (tenant, answer_key, seq) WHERE answer_key IS NOT NULL;
CREATE INDEX plan_open_agent ON plan (agent) WHERE status NOT IN ('completed', 'failed', 'cancelled');

CREATE TABLE step (
    plan_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    fingerprint TEXT,
    rest TEXT NOT NULL,
    join_id TEXT,
    fires INTEGER NOT NULL DEFAULT 0,
    event_id TEXT,
    data_at TEXT,
    same INTEGER NOT NULL DEFAULT 0,
    {STEP},
    PRIMARY KEY (plan_id, ordinal)
) STRICT;
CREATE INDEX step_repeat ON step (plan_id, fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX step_join ON step (plan_id, join_id, fires) WHERE join_id IS NOT NULL;

CREATE TABLE plan_value (
    plan_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (plan_id, kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE task (
    agent TEXT NOT NULL,
    task_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    root_plan_id TEXT,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (agent, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_tree ON task (root_plan_id) WHERE root_plan_id IS NOT NULL;
CREATE INDEX task_id ON task (task_id);

CREATE TABLE sub_task (
    agent TEXT NOT NULL,
    task_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (agent, task_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory (
    tenant TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    items INTEGER NOT NULL DEFAULT 0,
    body TEXT,
    PRIMARY KEY (tenant, plan_id, key)
) STRICT;

CREATE TABLE memory_item (
    tenant TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    key TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, plan_id, key, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT,
    metadata TEXT NOT NULL,
    created_at REAL NOT NULL,
    last_activity REAL NOT NULL,
    plans INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_recent ON session (tenant, last_activity DESC, session_id);
CREATE INDEX session_user ON session (tenant, user_id, session_id);

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    plan_id TEXT NOT NULL,
    rest TEXT NOT NULL,
    is_raw INTEGER NOT NULL DEFAULT 0,
    same INTEGER NOT NULL DEFAULT 0,
    prompt_id TEXT,
    prompt_version TEXT,
    prompt_hash TEXT,
    offer_digest TEXT,
    raw TEXT,
    {JOURNAL},
    UNIQUE (agent, cause_id, ordinal)
) STRICT;
CREATE INDEX journal_plan ON journal (plan_id, seq);

CREATE TABLE agent (
    agent TEXT PRIMARY KEY,
    tenant TEXT,
    heartbeat REAL NOT NULL,
    has_left INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Bodies are long, and are not read for what stands behind them.
CREATE INDEX agent_now ON agent (tenant, agent, revision, heartbeat, has_left);

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
-- In the order in which agents first took each event: it belongs to the first.
CREATE TABLE taking (
    seq INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    topic TEXT NOT NULL,
    event_name TEXT NOT NULL,
    UNIQUE (agent, topic, event_name)
) STRICT;
CREATE TABLE untaken (
    event_seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    event_type TEXT NOT NULL,
    expires REAL NOT NULL,
    is_over INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX untaken_type ON untaken (event_type, event_seq) WHERE is_over = 0;
CREATE INDEX untaken_tenant ON untaken (tenant, event_seq) WHERE is_over = 0;
CREATE INDEX untaken_expires ON untaken (expires) WHERE is_over = 0;
CREATE INDEX definition_agent ON definition (agent);
CREATE INDEX definition_name ON definition (event_name, topic, version);

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    at REAL NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX audit_tenant ON audit (tenant, seq);
CREATE INDEX audit_age ON audit (tenant, at);
CREATE TABLE store (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), id TEXT NOT NULL) STRICT;

{MODEL_TABLES}
{AGED}
""")


def statements_of(*tables: str) -> tuple[str, ...]:
    """Statements that make these tables and their indexes."""
    return tuple(one for one in STATEMENTS if _table_of(one) in tables)


def _table_of(statement: str) -> str:
    words = statement.partition(" (")[0].split()
    return words[3] if words[1] == "VIRTUAL" else words[-1]
