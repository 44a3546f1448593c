"""A database of an older version is brought forward to the tables of a new one."""

import psycopg
from postgres_server import Server
from store_kit import NOW, gate, opened, running

from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.sql.people_tables import PEOPLE_TABLES
from soorma_ai.adapters.sql.schema import statements

SHAPE = """
    SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
    WHERE table_schema = 'soorma' UNION ALL
    SELECT tablename, indexname, indexdef, '' FROM pg_indexes WHERE schemaname = 'soorma' ORDER BY 1, 2
"""


def shape(url: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(SHAPE).fetchall()


def made_old(url: str) -> None:
    """Make a database what version 10 left."""
    tables = [one.split()[2] for one in statements(PEOPLE_TABLES) if one.startswith("CREATE TABLE")]
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path TO soorma")
        for table in tables:
            connection.execute(f"DROP TABLE {table}".encode())
        connection.execute("DROP INDEX expectation_answered")
        connection.execute("UPDATE meta SET version = 10")


async def test_a_database_of_version_10_gets_the_tables_of_a_new_one_and_keeps_its_rows(postgres: Server) -> None:
    url = postgres.empty()
    async with opened(PostgresStore(url)) as store:
        await running(store, gate("a-1"))
    new = shape(url)
    made_old(url)
    assert shape(url) != new
    async with opened(PostgresStore(url)) as store:
        assert shape(url) == new
        assert (await store.plans.expectation("a-1")) == gate("a-1")
        assert await store.people.absences("default", NOW) == []
