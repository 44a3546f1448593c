"""The step after which rows name an agent by its key, `name@tenant`, and not by its name alone."""

from collections.abc import Callable

# Tables that name an agent, those first by which others find whose they are.
_TABLES = ("inbox", "expectation", "plan", "journal", "task", "sub_task", "definition", "taking")
# A name that holds what now stands before the tenant.
_NAME = "replace(agent.agent, '@', '＠')"
KEY = f"{_NAME} || coalesce('@' || agent.tenant, '')"
_CHANGED = f"agent.agent <> {KEY}"


# Documents that name it too. The `rest` of a row that an old version wrote is the whole record.
_DOCUMENTS = (
    ("task", "body", "agent"),
    ("expectation", "rest", "agent"),
    ("plan", "rest", "agent"),
    ("journal", "rest", "key.agent"),
)


def name_by_key(set_json: Callable[[str, str, str], str], list_keys: str) -> tuple[str, ...]:
    """Return the statements. `set_json` spells a document with a changed field, `list_keys` the list of the keys of an
    expectation's producers."""
    documents = (
        f"UPDATE {table} SET {column} = {set_json(column, field, _find(KEY, table))} "
        f"WHERE json_valid({column}) AND json_extract({column}, '$.{field}') IS NOT NULL AND {_is_renamed(table)}"
        for table, column, field in _DOCUMENTS
    )
    renamed = (f"UPDATE {table} SET agent = {_find(KEY, table)} WHERE {_is_renamed(table)}" for table in _TABLES)
    return (
        # Its planner schedules it again as it starts.
        "DELETE FROM timer WHERE id LIKE 'every:%' AND json_valid(body) AND json_extract(body, '$.target') IN "
        f"(SELECT agent FROM agent WHERE {_CHANGED})",
        f"UPDATE expectation SET rest = {set_json('rest', 'producers', list_keys)} "
        "WHERE status = 'open' AND json_valid(rest) AND EXISTS (SELECT 1 FROM agent "
        f"""WHERE {_CHANGED} AND json_extract(rest, '$.producers') LIKE '%"' || agent.agent || '"%')""",
        *documents,
        *renamed,
        f"UPDATE agent SET body = {set_json('body', 'agent', _NAME)} WHERE agent LIKE '%@%' AND json_valid(body)",
        f"UPDATE agent SET agent = {KEY} WHERE {_CHANGED}",
    )


def _find(what: str, table: str) -> str:
    return f"(SELECT {what} FROM agent WHERE agent.agent = {table}.agent)"


def _is_renamed(table: str) -> str:
    return f"EXISTS (SELECT 1 FROM agent WHERE agent.agent = {table}.agent AND {_CHANGED})"
