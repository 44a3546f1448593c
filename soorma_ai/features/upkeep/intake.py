"""Intake of another database's contents: all of them, compared, in one transaction, or nothing."""

from collections.abc import Iterable
from functools import partial

import psycopg
from psycopg import sql

from soorma_ai.adapters.postgres import row_level_security
from soorma_ai.adapters.postgres.full_text import count_words, total_from_lengths, total_table, word_tables
from soorma_ai.adapters.postgres.migrations import must_be_idle, prepare
from soorma_ai.adapters.postgres.schema import SCHEMA
from soorma_ai.adapters.postgres.sessions import connection_to
from soorma_ai.errors import ConfigError, StoreUnavailable
from soorma_ai.features.upkeep.export import Contents, MovedTable, Row, TableDigest, TableRows
from soorma_ai.kernel.sql.storage import FeatureSet, Table, TextIndex

# Rows that are read back at once.
_BATCH = 2000
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY tablename"
_NUMBERED = """
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = %s AND is_identity = 'YES' AND identity_generation = 'BY DEFAULT'
"""


def take_in(url: str, contents: Contents, features: FeatureSet) -> list[MovedTable]:
    """Make the tables, those of the features too, and fill them. Raise ConfigError for a database with rows or with
    other processes at work, and StoreUnavailable for contents other than the source's; then nothing is kept."""
    with connection_to(url) as made:
        prepare(made, features)
        with made.transaction():
            must_be_idle(made)
            _must_be_empty(made, features)
            words = (table for index in features.text_indexes for table in _words(contents, index))
            moved = [_take(made, table) for table in (*contents.tables, *words)]
            for index in features.text_indexes:
                made.execute(total_from_lengths(index.table).encode())
            for table in (one.name for one in _tables_of(features) if one.tenant):
                made.execute(sql.SQL("UPDATE {} SET whose = ''").format(_name(table)))
            _go_on_numbering(made, contents)
            made.execute("UPDATE meta SET registry = registry + 1")
        for one in moved:
            made.execute(sql.SQL("ANALYZE {}").format(_name(one.table)))
    return moved


def _tables_of(features: FeatureSet) -> Iterable[Table]:
    """Return the tables with rows of tenants. Tables for the search of a tenant are in the order of the search."""
    words = (table for index in features.text_indexes for table in word_tables(index))
    return *row_level_security.TABLES, *features.tables, *words


def _must_be_empty(db: psycopg.Connection, features: FeatureSet) -> None:
    # Rows that a new store has.
    made = {"meta", "access", *(total_table(index.table) for index in features.text_indexes)}
    for (name,) in db.execute(_TABLES, (SCHEMA,)).fetchall():
        if name not in made and db.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(_name(name))).fetchone():
            raise ConfigError(f"the database is not empty: its table {name!r} has rows; give one without a store")


def _take(db: psycopg.Connection, table: TableRows) -> MovedTable:
    sent, found = TableDigest(), TableDigest()
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    with (
        db.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(_name(table.name), columns)) as copy,
    ):
        for row in table.rows():
            spelled = _spell(row)
            sent.add(spelled)
            copy.write_row(spelled)
    with db.cursor(name="taken") as cursor:
        cursor.itersize = _BATCH
        cursor.execute(sql.SQL("SELECT {} FROM {}").format(columns, _name(table.name)))
        for row in cursor:
            found.add(row)
    if (sent.rows, sent.digest) != (found.rows, found.digest):
        raise StoreUnavailable(
            f"table {table.name!r} came otherwise than it was: {sent.rows:,} rows ({sent.digest}) were sent, "
            f"{found.rows:,} ({found.digest}) are there; nothing is stored. Look at the role's rights, and try again"
        )
    return MovedTable(table.name, found.rows, found.digest)


def _spell(row: Row) -> Row:
    """Return a row as `connection.TextDumper` stores it."""
    return tuple(value.replace("\0", "\uffff") if isinstance(value, str) else value for value in row)


def _words(contents: Contents, index: TextIndex) -> tuple[TableRows, TableRows]:
    """Return the tables of a full-text index here, made of the texts there."""
    words, lengths = (table.name for table in word_tables(index))
    return (
        TableRows(words, ("term", "seq", "hits"), partial(_hits, contents, index.table)),
        TableRows(lengths, ("seq", "words"), partial(_lengths, contents, index.table)),
    )


def _hits(contents: Contents, table: str) -> Iterable[Row]:
    for seq, *texts in contents.texts(table):
        counted, _ = count_words(*texts)
        yield from ((term, seq, hits) for term, hits in counted.items())


def _lengths(contents: Contents, table: str) -> Iterable[Row]:
    for seq, *texts in contents.texts(table):
        yield seq, count_words(*texts)[1]


def _go_on_numbering(db: psycopg.Connection, contents: Contents) -> None:
    """Give no number again that was given before, be its row there or not."""
    for table, column in db.execute(_NUMBERED, (SCHEMA,)).fetchall():
        found = db.execute(
            sql.SQL("SELECT coalesce(max({}), 0) FROM {}").format(sql.Identifier(column), _name(table))
        ).fetchone()
        last = max(contents.last.get(table, 0), int(found[0]) if found else 0)
        if last:
            db.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", (f'{SCHEMA}."{table}"', column, last))


def _name(table: str) -> sql.Identifier:
    return sql.Identifier(SCHEMA, table)
