"""How a file of an older version becomes one of this version. Forward only, each step once."""

import sqlite3

from soorma_ai.adapters.sqlite.file.schema import VERSION, statements

_INBOX = "seq, agent, event_seq, owner, priority, state, ready_at, attempt, fence, reason, ended_at"

# By the version that it starts from. A CHECK cannot be altered, so a table that gets another one is made anew. A row
# that cannot be read stays one, and keeps no other from being brought forward; what an index looks into has to be JSON.
STEPS: dict[int, tuple[str, ...]] = {
    1: statements(f"""
        ALTER TABLE event ADD COLUMN time REAL NOT NULL DEFAULT 0;
        UPDATE event SET time = coalesce(
            (julianday(CASE WHEN json_valid(body) THEN json_extract(body, '$.time') END) - 2440587.5) * 86400.0, 0
        );
        CREATE INDEX event_loose ON event (tenant, time) WHERE root_plan_id IS NULL;
        UPDATE plan SET body = json_object('damaged', hex(body)) WHERE NOT json_valid(body);
        CREATE INDEX plan_ended ON plan (tenant, julianday(json_extract(body, '$.updated_at')))
            WHERE status IN ('completed', 'failed', 'cancelled') AND plan_id = root_plan_id;

        ALTER TABLE outbox ADD COLUMN sent_at REAL;
        CREATE INDEX outbox_unsent ON outbox (event_seq) WHERE sent_at IS NULL;
        CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;

        CREATE TABLE inbox_2 (
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
            UNIQUE (agent, event_seq)
        ) STRICT;
        INSERT INTO inbox_2 ({_INBOX}) SELECT {_INBOX} FROM inbox ORDER BY seq;
        DROP TABLE inbox;
        ALTER TABLE inbox_2 RENAME TO inbox;
        CREATE UNIQUE INDEX inbox_head ON inbox (agent, owner) WHERE state IN ('queued', 'leased', 'in_doubt');
        CREATE INDEX inbox_ready ON inbox (agent, priority, seq, ready_at) WHERE state IN ('queued', 'leased');
        CREATE INDEX inbox_due ON inbox (agent, ready_at) WHERE state IN ('queued', 'leased') AND ready_at > 0;
        CREATE INDEX inbox_suspect ON inbox (crashes, seq) WHERE state IN ('queued', 'leased') AND crashes > 1;
        CREATE INDEX inbox_blocked ON inbox (agent, owner, seq) WHERE state = 'blocked';
        CREATE INDEX inbox_dead ON inbox (seq) WHERE state = 'dead';
        CREATE INDEX inbox_event ON inbox (event_seq);
        CREATE INDEX inbox_owner ON inbox (owner) WHERE state IN ('blocked', 'queued', 'leased', 'in_doubt');
        CREATE INDEX inbox_goal ON inbox (owner) WHERE priority = 1
    """),
    2: statements("""
        ALTER TABLE expectation ADD COLUMN task_id TEXT;
        UPDATE expectation SET task_id = json_extract(body, '$.task_id') WHERE json_valid(body);
        CREATE INDEX expectation_task ON expectation (task_id, opened_at, id) WHERE task_id IS NOT NULL;

        ALTER TABLE timer ADD COLUMN series TEXT;

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

        ALTER TABLE expectation ADD COLUMN group_id TEXT;
        CREATE INDEX expectation_group ON expectation (group_id, opened_at, id) WHERE group_id IS NOT NULL;
        CREATE INDEX expectation_open_type ON expectation (event_type) WHERE status = 'open';

        ALTER TABLE plan ADD COLUMN session_id TEXT;
        ALTER TABLE plan ADD COLUMN answer_key TEXT;
        UPDATE plan SET session_id = json_extract(body, '$.lineage.session_id'),
            answer_key = json_extract(body, '$.answer_key')
            WHERE json_valid(body);
        CREATE INDEX plan_session ON plan (tenant, session_id, seq) WHERE session_id IS NOT NULL;
        CREATE INDEX plan_answer ON plan (tenant, answer_key, seq) WHERE answer_key IS NOT NULL;
        CREATE INDEX plan_open_agent ON plan (agent) WHERE status NOT IN ('completed', 'failed', 'cancelled');

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
        INSERT INTO session (tenant, session_id, user_id, metadata, created_at, last_activity, plans)
            SELECT tenant, session_id, min(json_extract(body, '$.lineage.user_id')), '{}',
                min((julianday(json_extract(body, '$.created_at')) - 2440587.5) * 86400.0),
                max((julianday(json_extract(body, '$.updated_at')) - 2440587.5) * 86400.0), count(*)
            FROM plan WHERE session_id IS NOT NULL GROUP BY tenant, session_id;

        CREATE INDEX definition_agent ON definition (agent);
        CREATE INDEX definition_name ON definition (event_name, topic, version);

        CREATE TABLE plan_value (
            plan_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (plan_id, kind, key)
        ) STRICT, WITHOUT ROWID
    """),
    3: statements("""
        ALTER TABLE step ADD COLUMN join_id TEXT;
        ALTER TABLE step ADD COLUMN fires INTEGER NOT NULL DEFAULT 0;
        UPDATE step SET join_id = substr(fingerprint, length('came:') + 1) WHERE fingerprint LIKE 'came:%';
        UPDATE step SET join_id = substr(fingerprint, length('joined:') + 1), fires = 1
            WHERE fingerprint LIKE 'joined:%';
        UPDATE step SET fingerprint = NULL WHERE join_id IS NOT NULL;
        UPDATE step SET body = json_set(
                body, '$.join_id', join_id, '$.fires', json(iif(fires, 'true', 'false')), '$.fingerprint', NULL
            ) WHERE join_id IS NOT NULL AND json_valid(body);
        CREATE INDEX step_join ON step (plan_id, join_id, fires) WHERE join_id IS NOT NULL
    """),
}


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """One transaction for all steps: a kill in the middle leaves the older file as it was."""
    connection.execute("BEGIN IMMEDIATE")
    for step in range(version, VERSION):
        for statement in STEPS[step]:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
