"""Steps that make a file of an older version one of this version. Forward only, each step once."""

import sqlite3

from soorma_ai.adapters.sqlite.file.full_text import make_index
from soorma_ai.kernel.sql.agent_keys import KEY, name_by_key
from soorma_ai.kernel.sql.bodies import COLUMNS_OF_SPARSE, SPARSE, WHOLE
from soorma_ai.kernel.sql.model_tables import RESERVED
from soorma_ai.kernel.sql.schema import AGED, APPLICATION_ID, STATEMENTS, VERSION, statements, statements_of
from soorma_ai.kernel.sql.storage import FeatureSet

_KEPT = "seq, agent, event_seq, owner, priority, state, ready_at, attempt, fence, reason, ended_at"
_ALL = f"{_KEPT}, started, crashes, redriven"
# A body between two steps.
_UNREAD = "body TEXT GENERATED ALWAYS AS (rest) VIRTUAL"
_INBOX, *_INBOX_INDEXES = statements_of("inbox")

# By the version that it starts from. A CHECK cannot be altered, so a table that gets another one is made anew. A row
# that cannot be read stays one, and keeps no other from being brought forward; what an index looks into has to be JSON.
# Tables are made as `schema` has them now: a step that changes one of them writes out here what it was before. Those
# of features came by steps 6, 7 and 10; they are made behind all steps.
STEPS: dict[int, tuple[str, ...]] = {
    1: (
        *statements("""
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

            ALTER TABLE inbox RENAME TO inbox_1
        """),
        _INBOX,
        f"INSERT INTO inbox ({_KEPT}) SELECT {_KEPT} FROM inbox_1 ORDER BY seq",
        "DROP TABLE inbox_1",
        *_INBOX_INDEXES,
    ),
    2: (
        *statements_of("task", "sub_task", "memory", "memory_item", "plan_value"),
        *statements("""
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

            ALTER TABLE expectation ADD COLUMN task_id TEXT;
            UPDATE expectation SET task_id = json_extract(body, '$.task_id') WHERE json_valid(body);
            CREATE INDEX expectation_task ON expectation (task_id, opened_at, id) WHERE task_id IS NOT NULL;

            ALTER TABLE timer ADD COLUMN series TEXT;

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

            INSERT INTO session (tenant, session_id, user_id, metadata, created_at, last_activity, plans)
                SELECT tenant, session_id, min(json_extract(body, '$.lineage.user_id')), '{}',
                    min((julianday(json_extract(body, '$.created_at')) - 2440587.5) * 86400.0),
                    max((julianday(json_extract(body, '$.updated_at')) - 2440587.5) * 86400.0), count(*)
                FROM plan WHERE session_id IS NOT NULL GROUP BY tenant, session_id;

            CREATE INDEX definition_agent ON definition (agent);
            CREATE INDEX definition_name ON definition (event_name, topic, version)
        """),
    ),
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
    4: (
        *statements_of("taking"),
        *statements("""
            CREATE TABLE untaken (
                event_seq INTEGER PRIMARY KEY,
                tenant TEXT NOT NULL,
                event_type TEXT NOT NULL,
                expires REAL NOT NULL,
                is_over INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE INDEX untaken_type ON untaken (event_type, event_seq) WHERE is_over = 0;
            CREATE INDEX untaken_expires ON untaken (expires) WHERE is_over = 0
        """),
        *statements("""
            INSERT OR IGNORE INTO taking (agent, topic, event_name)
                SELECT agent, topic, event_name FROM definition ORDER BY rowid;
            CREATE INDEX expectation_gate ON expectation (tenant, closed_at)
                WHERE kind = 'gate' AND plan_id IS NULL AND task_id IS NULL
        """),
        *statements("""
            ALTER TABLE expectation ADD COLUMN root_plan_id TEXT;
            UPDATE expectation SET root_plan_id = json_extract(body, '$.root_plan_id')
                WHERE status = 'open' AND json_valid(body);
            CREATE INDEX expectation_open_tree ON expectation (root_plan_id, opened_at, id)
                WHERE status = 'open' AND root_plan_id IS NOT NULL
        """),
        *statements("""
            INSERT INTO plan_value (plan_id, kind, key, body) SELECT plan_id, 'pause', 'came', body FROM plan_value
                WHERE kind = 'state' AND key = 'paused_on' AND json_valid(body)
                    AND json_type(body, '$.type') = 'text' AND json_type(body, '$.data') = 'object';
            DELETE FROM plan_value WHERE kind = 'state' AND key = 'paused_on' AND EXISTS (
                SELECT 1 FROM plan_value AS kept
                WHERE kept.plan_id = plan_value.plan_id AND kept.kind = 'pause' AND kept.key = 'came'
            );
            INSERT INTO plan_value (plan_id, kind, key, body) SELECT plan_id, 'pause', 'reason', body FROM plan_value
                WHERE kind = 'state' AND key = 'pause_reason'
        """),
    ),
    5: (
        *statements_of("shown"),
        *statements("""
            ALTER TABLE agent ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
            CREATE INDEX agent_now ON agent (tenant, agent, revision, heartbeat, has_left);
            CREATE INDEX untaken_tenant ON untaken (tenant, event_seq) WHERE is_over = 0;
            CREATE INDEX expectation_question
                ON expectation (
                    tenant,
                    iif(json_valid(body), ifnull(julianday(json_extract(body, '$.deadline')), 9e9), 0),
                    opened_at, id
                )
                WHERE status = 'open' AND kind IN ('wait', 'gate', 'doubt');
            CREATE INDEX expectation_held
                ON expectation (
                    tenant, iif(json_valid(body), json_extract(body, '$.ask.proposal.request.user_id'), NULL)
                )
                WHERE status = 'open' AND kind = 'gate' AND agent = 'client'
        """),
    ),
    6: (
        *statements_of("audit", "asked_role"),
        *statements("""
            ALTER TABLE plan ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
            UPDATE plan SET user_id = ifnull(json_extract(body, '$.lineage.user_id'), 'local') WHERE json_valid(body);
            CREATE INDEX plan_user ON plan (tenant, user_id, seq);
            CREATE INDEX session_user ON session (tenant, user_id, session_id);

            ALTER TABLE expectation ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
            UPDATE expectation SET user_id = coalesce(
                (SELECT plan.user_id FROM plan WHERE plan.plan_id = expectation.plan_id),
                (
                    SELECT ifnull(json_extract(event.body, '$.userid'), 'local') FROM event
                    WHERE event.id IN (expectation.task_id, expectation.id) AND json_valid(event.body) LIMIT 1
                ),
                json_extract(body, '$.ask.proposal.request.user_id'),
                iif(json_extract(body, '$.ask.proposal.request') IS NULL, '', 'local')
            ) WHERE (status = 'open' OR kind = 'client' OR group_id IS NOT NULL) AND json_valid(body);
            CREATE INDEX expectation_own
                ON expectation (
                    tenant,
                    user_id,
                    iif(json_valid(body), ifnull(julianday(json_extract(body, '$.deadline')), 9e9), 0),
                    opened_at, id
                )
                WHERE status = 'open' AND kind IN ('wait', 'gate', 'doubt');

            INSERT OR IGNORE INTO asked_role (tenant, role, due, opened_at, expectation_id)
                SELECT tenant, role.value,
                    ifnull((julianday(json_extract(body, '$.deadline')) - 2440587.5) * 86400.0, 9e18),
                    expectation.opened_at, expectation.id
                FROM expectation, json_each('["approvers", "escalate_to"]') AS whose,
                    json_each(iif(json_valid(body), json_extract(body, '$.ask.' || whose.value), '[]')) AS role
                WHERE status = 'open' AND expectation.kind IN ('wait', 'gate', 'doubt')
                    AND iif(json_valid(body), json_extract(body, '$.ask.approvers'), '[]') <> '[]'
        """),
        *(f"ALTER TABLE {table} RENAME COLUMN body TO rest" for table in WHOLE),
        *statements("""
            ALTER TABLE plan ADD COLUMN limits TEXT;
            ALTER TABLE plan ADD COLUMN next_call TEXT;
            UPDATE plan SET limits = json_extract(rest, '$.limits'), next_call = json_extract(rest, '$.next_call')
                WHERE json_valid(rest);
            ALTER TABLE step ADD COLUMN event_id TEXT;
            ALTER TABLE step ADD COLUMN data_at TEXT;
            UPDATE step SET event_id = json_extract(rest, '$.event_id') WHERE json_valid(rest);
            ALTER TABLE journal ADD COLUMN is_raw INTEGER NOT NULL DEFAULT 0
        """),
        *(f"ALTER TABLE {table} ADD COLUMN {_UNREAD if table in SPARSE else WHOLE[table]}" for table in WHOLE),
        *statements("""
            DROP INDEX expectation_open_kind;
            DROP INDEX expectation_open_type;
            DROP INDEX expectation_held;
            CREATE INDEX expectation_held ON expectation (tenant, user_id)
                WHERE status = 'open' AND kind = 'gate' AND agent = 'client';
            CREATE INDEX expectation_offer ON expectation (opened_at, id) WHERE status = 'open' AND kind = 'offer';
            ALTER TABLE inbox RENAME TO inbox_6
        """),
        _INBOX,
        f"INSERT INTO inbox ({_ALL}) SELECT {_ALL} FROM inbox_6 ORDER BY seq",
        "DROP TABLE inbox_6",
        *_INBOX_INDEXES,
    ),
    7: (),
    8: statements_of("prompt_part"),
    9: statements_of("store"),
    10: (
        "ALTER TABLE inbox RENAME TO inbox_10",
        _INBOX,
        f"INSERT INTO inbox ({_ALL}) SELECT {_ALL} FROM inbox_10 ORDER BY seq",
        "DROP TABLE inbox_10",
        *_INBOX_INDEXES,
    ),
    11: (
        "ALTER TABLE inbox RENAME TO inbox_11",
        _INBOX,
        f"INSERT INTO inbox ({_ALL}, holder) SELECT {_ALL}, holder FROM inbox_11 ORDER BY seq",
        "DROP TABLE inbox_11",
        *_INBOX_INDEXES,
        *statements(RESERVED),
        *statements(AGED),
        *name_by_key(
            lambda document, field, value: f"json_set({document}, '$.{field}', {value})",
            f"""(
            SELECT json_group_array(coalesce(
                (
                    SELECT {KEY} FROM agent
                    WHERE agent.agent = named.value AND coalesce(agent.tenant, expectation.tenant) = expectation.tenant
                ), named.value
            )) FROM json_each(rest, '$.producers') AS named
        )""",
        ),
    ),
    12: ("ALTER TABLE plan ADD COLUMN place INTEGER NOT NULL DEFAULT 0",),
    # A virtual column stands in no row, so that none is rewritten.
    13: (
        *(f"ALTER TABLE {table} DROP COLUMN body" for table in SPARSE),
        *statements(COLUMNS_OF_SPARSE),
        *(f"ALTER TABLE {table} ADD COLUMN {WHOLE[table]}" for table in SPARSE),
    ),
}


def migrate(connection: sqlite3.Connection, version: int, features: FeatureSet) -> None:
    """Bring the schema forward, and make the missing tables of these features, in one transaction: a kill in the middle
    leaves the file as it was. 0 is an empty one."""
    made = (*STATEMENTS, f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("BEGIN IMMEDIATE")
    for step in [made] if version == 0 else [STEPS[number] for number in range(version, VERSION)]:
        for statement in step:
            connection.execute(statement)
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    for statement in (*features.missing(there), *features.missing_text_indexes(there, make_index)):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
