"""Whole records of rows with a `rest`, as SQL. A flag in `same` names a value equal to another column: `rests` leaves
it out, and `body` has it again."""

# Of an event.
TIME = 1
KEY_OF_ID = 2
KEY_OF_PLAN = 4
KEY_OF_CAUSE = 8
ANSWERS_CAUSE = 16
ORIGIN_OF_ROOT = 32
GOAL_OF_CAUSE = 64
COMPLETION = 128

# Of an expectation.
OPENED_AT = 1
SUBJECT = 2

# Of a step.
EXPECTATION_OF_EVENT = 1

# Of a journalled answer.
ROOT_OF_PLAN = 1
ACCEPTED = 2


def _unless(condition: str, name: str, value: str) -> str:
    return f"CASE WHEN {condition} THEN '' ELSE ',\"{name}\":' || {value} END"


def _if_same(flag: int, name: str, value: str) -> str:
    return _unless(f"same & {flag} = 0", name, value)


def _spell_moment(column: str) -> str:
    micros = f"CAST(round({column} * 1000000) AS BIGINT)"
    seconds = f"strftime('%Y-%m-%dT%H:%M:%S', {micros} / 1000000, 'unixepoch')"
    spelled = f"""'"' || {seconds} || '.' || substr('' || ({micros} % 1000000 + 1000000), 2) || 'Z"'"""
    return f"coalesce({spelled}, 'null')"


def _spell_schema(topic: str, event_type: str) -> str:
    return f"json_quote('soorma:' || {topic} || '/' || {event_type} || '/' || schema_version)"


# The whole record of each table that keeps a `rest`.
EVENT = f"""body TEXT GENERATED ALWAYS AS (
    '{{"id":' || json_quote(id) || ',"type":' || json_quote(type) || ',"topic":' || json_quote(topic)
    || ',"tenantid":' || json_quote(tenant) || ',"planid":' || json_quote(plan_id)
    || ',"rootplanid":' || json_quote(root_plan_id)
    || {_unless("cause_id IS NULL", "causationid", "json_quote(cause_id)")}
    || {_if_same(TIME, "time", _spell_moment("time"))}
    || {_if_same(KEY_OF_ID, "correlationid", "json_quote(id)")}
    || {_if_same(KEY_OF_PLAN, "correlationid", "json_quote(plan_id)")}
    || {_if_same(KEY_OF_CAUSE, "correlationid", "json_quote(cause_id)")}
    || {_if_same(ANSWERS_CAUSE, "answers", "json_quote(cause_id)")}
    || {_if_same(ORIGIN_OF_ROOT, "origin", "json_quote(root_plan_id)")}
    || {_if_same(GOAL_OF_CAUSE, "goalid", "json_quote(cause_id)")}
    || {_if_same(COMPLETION, "responsetopic", "json_quote('action-results')")}
    || {_if_same(COMPLETION, "responseevent", "json_quote(type || '.completed')")}
    || {_unless("schema_version IS NULL", "dataschema", _spell_schema("topic", "type"))}
    || ',' || substr(rest, 2)
) VIRTUAL"""
_ASKED = "substr(event_type, 1, length(event_type) - 10)"
EXPECTATION = f"""body TEXT GENERATED ALWAYS AS (
    '{{"id":' || json_quote(id) || ',"kind":' || json_quote(kind) || ',"agent":' || json_quote(agent)
    || ',"tenant_id":' || json_quote(tenant) || ',"plan_id":' || json_quote(plan_id)
    || ',"root_plan_id":' || json_quote(root_plan_id) || ',"event_type":' || json_quote(event_type)
    || ',"event_topic":' || json_quote(event_topic) || ',"task_id":' || json_quote(task_id)
    || ',"group_id":' || json_quote(group_id) || ',"user_id":' || json_quote(user_id)
    || {_if_same(OPENED_AT, "opened_at", _spell_moment("opened_at"))}
    || {_if_same(SUBJECT, "subject", f"json_quote({_ASKED})")}
    || {_unless("schema_version IS NULL", "dataschema", _spell_schema("'action-requests'", _ASKED))}
    || ',' || substr(rest, 2)
) VIRTUAL"""
PLAN = """body TEXT GENERATED ALWAYS AS (
    '{"plan_id":' || json_quote(plan_id) || ',"agent":' || json_quote(agent) || ',"status":' || json_quote(status)
    || ',"root_plan_id":' || json_quote(root_plan_id) || ',"goal_id":' || json_quote(goal_id)
    || ',"version":' || version || ',"answer_key":' || json_quote(answer_key)
    || ',"limits":' || ifnull(limits, 'null') || ',"next_call":' || ifnull(next_call, 'null')
    || ',' || substr(rest, 2)
) VIRTUAL"""
STEP = f"""body TEXT GENERATED ALWAYS AS (
    '{{"plan_id":' || json_quote(plan_id) || ',"ordinal":' || ordinal || ',"fingerprint":' || json_quote(fingerprint)
    || ',"join_id":' || json_quote(join_id) || ',"fires":' || iif(fires, 'true', 'false')
    || ',"event_id":' || json_quote(event_id)
    || {_if_same(EXPECTATION_OF_EVENT, "expectation_id", "json_quote(event_id)")} || ',' || substr(rest, 2)
) VIRTUAL"""
_ACCEPTED = '\'"accepted","fault":"","refusal":""\''
JOURNAL = f"""body TEXT GENERATED ALWAYS AS (
    '{{"key":{{"agent":' || json_quote(agent) || ',"cause_id":' || json_quote(cause_id) || ',"ordinal":' || ordinal
    || '}},"plan_id":' || json_quote(plan_id)
    || {_if_same(ROOT_OF_PLAN, "root_plan_id", "json_quote(plan_id)")}
    || {_if_same(ACCEPTED, "verdict", _ACCEPTED)}
    || {_unless("raw IS NULL", "prompt_id", "json_quote(prompt_id)")}
    || {_unless("raw IS NULL", "prompt_version", "json_quote(prompt_version)")}
    || {_unless("raw IS NULL", "prompt_hash", "json_quote(prompt_hash)")}
    || {_unless("raw IS NULL", "offer_digest", "json_quote(offer_digest)")}
    || {_unless("raw IS NULL", "raw", "json_quote(raw)")}
    || iif(is_raw AND json_valid(rest), ',"value":' || coalesce(raw, json_extract(rest, '$.raw')), '')
    || ',' || substr(rest, 2)
) VIRTUAL"""
WHOLE = {"event": EVENT, "expectation": EXPECTATION, "plan": PLAN, "step": STEP, "journal": JOURNAL}

# Tables whose rows leave out what equals another column, and the columns that say so.
SPARSE = ("event", "expectation", "step", "journal")
COLUMNS_OF_SPARSE = """
ALTER TABLE event ADD COLUMN same INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN cause_id TEXT;
ALTER TABLE event ADD COLUMN schema_version TEXT;
ALTER TABLE expectation ADD COLUMN same INTEGER NOT NULL DEFAULT 0;
ALTER TABLE expectation ADD COLUMN schema_version TEXT;
ALTER TABLE step ADD COLUMN same INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN same INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN prompt_id TEXT;
ALTER TABLE journal ADD COLUMN prompt_version TEXT;
ALTER TABLE journal ADD COLUMN prompt_hash TEXT;
ALTER TABLE journal ADD COLUMN offer_digest TEXT;
ALTER TABLE journal ADD COLUMN raw TEXT
"""
