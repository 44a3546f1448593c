"""Row-level security: visible and writable rows of a role, in any statement.

The platform's role sets the scope of a transaction, by `soorma.tenant`, `soorma.user` and `soorma.house`; see
`adapters.sql.acting`. Only a role admitted to serve is believed. Any other sees the rows given to it by `access`, by
its login role, and its own settings have no effect. The owner of the tables and superusers see all.

A row of a table without a tenant has its owner here in `whose`, found by a trigger: the tenant of its parent row. No
statement of the store knows that column.
"""

from collections.abc import Sequence

import psycopg

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.sql.storage import Table

_TENANT_OF_PLAN = "(SELECT plan.tenant FROM plan WHERE plan.plan_id = {row}.plan_id)"
_TENANT_OF_EVENT = "(SELECT event.tenant FROM event WHERE event.seq = {row}.event_seq)"
_TENANT_OF_CANCELLED = f"""coalesce(
    {_TENANT_OF_PLAN},
    (
        SELECT event.tenant FROM inbox JOIN event ON event.seq = inbox.event_seq
        WHERE inbox.owner = {{row}}.plan_id ORDER BY inbox.seq LIMIT 1
    )
)"""
_TENANT_OF_JOURNAL = f"coalesce({_TENANT_OF_PLAN}, (SELECT event.tenant FROM event WHERE event.id = {{row}}.cause_id))"
# What a plan has before its first step is stored.
_TENANT_OF_ROOT = """coalesce(
    (SELECT plan.tenant FROM plan WHERE plan.plan_id = {row}.root_plan_id),
    (SELECT journal.whose FROM journal WHERE journal.plan_id = {row}.root_plan_id LIMIT 1)
)"""
_TENANT_OF_BEGUN = f"""coalesce(
    {_TENANT_OF_PLAN}, (SELECT journal.whose FROM journal WHERE journal.plan_id = {{row}}.plan_id LIMIT 1)
)"""
_TENANT_OF_TASK = """(
    SELECT task.tenant FROM task WHERE task.agent = {row}.agent AND task.task_id = {row}.task_id
)"""
# Its event says it. The envelope leaves out what is as it is by default.
_TENANT_OF_TIMER = "CASE WHEN {row}.body IS JSON THEN coalesce(json_extract({row}.body, '$.tenantid'), 'default') END"
_TENANT_OF_PART = f"CASE WHEN {{row}}.tenant <> '' THEN {{row}}.tenant ELSE {_TENANT_OF_BEGUN} END"

_OF_USER_TOO = "{own} AND {users}"

# All other tables of the kernel. A later one is guarded by the step that makes it; see `guard`. Those of which the
# tenant is found stand in the order in which older rows are filled in.
TABLES = (
    *map(Table, ("event", "wait_key", "asked_role", "early", "untaken", "task", "memory", "memory_item", "audit")),
    *(Table(name, seen=_OF_USER_TOO) for name in ("plan", "expectation", "session")),
    # What tenants read beside their own rows, and do not write.
    Table("agent", shared="tenant IS NULL"),
    Table("definition", shared="tenant = ''"),
    Table("taking", seen="false", shared="EXISTS (SELECT 1 FROM agent WHERE agent.agent = taking.agent)"),
    Table("outbox", "event_seq", _TENANT_OF_EVENT),
    Table("inbox", "event_seq", _TENANT_OF_EVENT),
    Table("timer", "body", _TENANT_OF_TIMER),
    Table("stray", "event_id", "(SELECT event.tenant FROM event WHERE event.id = {row}.event_id)"),
    Table("cancellation", "plan_id", _TENANT_OF_CANCELLED),
    Table("step", "plan_id", _TENANT_OF_PLAN),
    Table("plan_value", "plan_id", _TENANT_OF_PLAN),
    Table("sub_task", "agent, task_id", _TENANT_OF_TASK),
    Table("journal", "plan_id, cause_id", _TENANT_OF_JOURNAL),
    Table("shown", "plan_id", _TENANT_OF_BEGUN),
    Table("budget", "root_plan_id", _TENANT_OF_ROOT),
    # One of a single plan says no tenant.
    Table("prompt_part", "plan_id, tenant", _TENANT_OF_PART),
)
_IS_HOUSE = "(SELECT soorma_is_house())"
_IS_OWN = "tenant = (SELECT soorma_tenant())"
_IS_OF_OWN = "whose = (SELECT soorma_tenant())"
_IS_USERS = "user_id = coalesce((SELECT soorma_user()), user_id)"

# A tenant's own role sees no digests of keys; a user's only what says whose it is.
_HIDDEN = "'api_key'"
_OF_USER = "plan, expectation, session"

_ACCESS = """CREATE TABLE access (
    role NAME PRIMARY KEY,
    tenant TEXT COLLATE "C" CHECK (tenant <> ''),
    user_id TEXT COLLATE "C" CHECK (user_id IS NULL OR (user_id <> '' AND tenant IS NOT NULL))
)"""
# The bodies of these are bound when they are made, so that nothing that a role puts into its path stands in for them.
# Who may call `serve` serves.
_FUNCTIONS = (
    "CREATE FUNCTION soorma_serve() RETURNS void LANGUAGE sql RETURN NULL",
    "REVOKE EXECUTE ON FUNCTION soorma_serve() FROM PUBLIC",
    "CREATE FUNCTION soorma_serves() RETURNS boolean STABLE LANGUAGE sql "
    "RETURN has_function_privilege('soorma_serve()'::regprocedure, 'EXECUTE')",
    """CREATE FUNCTION soorma_given(OUT tenant text, OUT user_id text) STABLE SECURITY DEFINER LANGUAGE sql
        BEGIN ATOMIC SELECT access.tenant, access.user_id FROM access WHERE access.role = session_user; END""",
    """CREATE FUNCTION soorma_tenant() RETURNS text STABLE LANGUAGE sql RETURN CASE
        WHEN soorma_serves() THEN nullif(current_setting('soorma.tenant', true), '')
        ELSE (SELECT given.tenant FROM soorma_given() AS given)
    END""",
    """CREATE FUNCTION soorma_user() RETURNS text STABLE LANGUAGE sql RETURN CASE
        WHEN soorma_serves() THEN nullif(current_setting('soorma.user', true), '')
        ELSE (SELECT given.user_id FROM soorma_given() AS given)
    END""",
    """CREATE FUNCTION soorma_is_house() RETURNS boolean STABLE LANGUAGE sql
        RETURN soorma_serves() AND current_setting('soorma.house', true) = 'on'""",
)
_ADMIT = f"""CREATE FUNCTION admit(role_name text, only_tenant text DEFAULT NULL, only_user text DEFAULT NULL)
    RETURNS void LANGUAGE plpgsql SET search_path = soorma, pg_temp AS $$
    DECLARE named text;
    BEGIN
        IF (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = role_name) THEN
            RAISE EXCEPTION 'role % bypasses row-level security: admit one that is no superuser, with NOBYPASSRLS',
                role_name;
        END IF;
        IF pg_has_role(role_name, (SELECT relowner FROM pg_class WHERE oid = 'event'::regclass), 'MEMBER') THEN
            RAISE EXCEPTION 'role % owns the tables, or is a member of who does: admit another', role_name;
        END IF;
        INSERT INTO access VALUES (role_name, only_tenant, only_user)
            ON CONFLICT (role) DO UPDATE SET tenant = excluded.tenant, user_id = excluded.user_id;
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA soorma FROM %I', role_name);
        EXECUTE format('REVOKE EXECUTE ON FUNCTION soorma_serve() FROM %I', role_name);
        EXECUTE format('GRANT USAGE ON SCHEMA soorma TO %I', role_name);
        IF only_tenant IS NULL THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA soorma TO %I', role_name);
            EXECUTE format('REVOKE ALL ON access FROM %I', role_name);
            EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON meta FROM %I', role_name);
            EXECUTE format('GRANT UPDATE (registry) ON meta TO %I', role_name);
            EXECUTE format('GRANT EXECUTE ON FUNCTION soorma_serve() TO %I', role_name);
        ELSIF only_user IS NULL THEN
            FOR named IN SELECT relname FROM pg_class WHERE relnamespace = 'soorma'::regnamespace
                AND relkind = 'r' AND relrowsecurity AND relname NOT IN ({_HIDDEN}) LOOP
                EXECUTE format('GRANT SELECT ON %I TO %I', named, role_name);
            END LOOP;
        ELSE
            EXECUTE format('GRANT SELECT ON {_OF_USER} TO %I', role_name);
        END IF;
    END $$"""
# Roles that are gone from the server are forgotten.
ADMIT_AGAIN = """
    DELETE FROM access WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = role);
    SELECT admit(role, tenant, user_id) FROM access
"""


_STANDING = """
    SELECT current_user, rolsuper, rolbypassrls, row_security_active('soorma.event'), soorma.soorma_serves()
    FROM pg_roles WHERE rolname = current_user
"""


def make() -> tuple[str, ...]:
    """Return the statements that guard the tables of the kernel, which may hold rows already."""
    return (_ACCESS, *_FUNCTIONS, _ADMIT, "REVOKE EXECUTE ON FUNCTION admit FROM PUBLIC", *guard(TABLES))


def guard(tables: Sequence[Table]) -> tuple[str, ...]:
    """Return the statements that guard these tables, which may hold rows already."""
    found = [table for table in tables if table.tenant]
    columns = (one for table in found for one in _find_tenant(table))
    filled = (f"UPDATE {table.name} SET whose = ''" for table in found)
    return (*columns, *filled, *(one for table in tables for one in _police(table)))


def _police(table: Table) -> tuple[str, ...]:
    """Return the statements for a tenant's reads and writes of its own rows of a table."""
    condition = table.seen.format(own=_IS_OF_OWN if table.tenant else _IS_OWN, users=_IS_USERS)
    seen = f"({condition}) OR {_IS_HOUSE}"
    made = (
        f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY own ON {table.name} USING ({seen}) WITH CHECK ({seen})",
    )
    return (*made, f"CREATE POLICY shared ON {table.name} FOR SELECT USING ({table.shared})") if table.shared else made


def why_open(connection: psycopg.Connection) -> str:
    """Return why no rows are kept from the role that is connected; nothing where they are. Raise ConfigError for a role
    that may not serve."""
    row = connection.execute(_STANDING).fetchone()
    assert row is not None
    role, is_super, bypasses, is_guarded, serves = row
    if is_guarded and not serves:
        raise ConfigError(
            f"role {role!r} sees no rows, since it was not admitted to serve: "
            f"run SELECT soorma.admit('{role}') as the role that owns the tables"
        )
    if is_guarded:
        return ""
    is_so = "is a superuser" if is_super else "has BYPASSRLS" if bypasses else "owns the tables"
    return (
        f"row-level security is not in force, because role {role!r} {is_so}: let another serve, by "
        "CREATE ROLE ... LOGIN NOBYPASSRLS and SELECT soorma.admit('...'), and give its URL"
    )


def _find_tenant(table: Table) -> tuple[str, ...]:
    """Return the statements of a trigger on new rows, and on changes of their parent."""
    name = table.name
    return (
        f"""ALTER TABLE {name} ADD COLUMN whose TEXT COLLATE "C" NOT NULL DEFAULT ''""",
        f"""CREATE FUNCTION find_tenant_of_{name}() RETURNS trigger
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = soorma, pg_temp AS $$ BEGIN
                NEW.whose := coalesce({table.tenant.format(row="NEW")}, soorma_tenant(), '');
                RETURN NEW;
            END $$""",
        f"CREATE TRIGGER find_tenant BEFORE INSERT OR UPDATE OF {table.columns}, whose ON {name} "
        f"FOR EACH ROW EXECUTE FUNCTION find_tenant_of_{name}()",
    )
