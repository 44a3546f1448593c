"""Full-text indexes, as tables of FTS5. Each word is one token."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cache

from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

MERGED_PAGES = 500


def make_index(table: str) -> tuple[str, ...]:
    """Return the statements that make the full-text index of a table."""
    return (
        f"""CREATE VIRTUAL TABLE {table}_text USING fts5 (title, content, marks, tokenize = "ascii tokenchars '_'")""",
        f"CREATE VIRTUAL TABLE {table}_word USING fts5vocab ({table}_text, row)",
    )


def text_table(table: str) -> str:
    """Return the name of the table with the words of another one."""
    return f"{table}_text"


@cache
def index_of(table: str) -> "FullText":
    return FullText(table)


class FullText:
    """Full-text index of a table, by FTS5: the `FullTextIndex` of `kernel.sql.connection`. FTS5 merges its words only
    after two changes or more."""

    def __init__(self, table: str) -> None:
        text = text_table(table)
        has_time = f"({table}.expires IS NULL OR {table}.expires > :now)"
        found = f"SELECT {table}.seq, {table}.body FROM {text} JOIN {table} ON {table}.seq = {text}.rowid"
        self._keep = f"INSERT INTO {text} (rowid, title, content, marks) VALUES (?, ?, ?, ?)"
        self._drop = f"DELETE FROM {text} WHERE rowid = ?"
        self._merge = f"INSERT INTO {text} ({text}, rank) VALUES ('merge', ?)"
        self._counts = f"SELECT value, doc FROM json_each(?) JOIN {table}_word ON {table}_word.term = value"
        # Marks count for nothing in the order. By its `rank`, the index sorts before any row is read.
        self._likest = f"""
            {found} WHERE {text} MATCH :wanted AND rank MATCH 'bm25(1.0, 1.0, 0.0)' AND {has_time}
            ORDER BY {text}.rank LIMIT :limit
        """
        self._newest = f"""
            {found} WHERE {text} MATCH :wanted AND {has_time} ORDER BY {text}.rowid DESC LIMIT :limit
        """
        self._among = f"""
            SELECT {table}.seq, {table}.body FROM {table} JOIN json_each(:seqs) ON {table}.seq = value
            WHERE {has_time}
                AND (:wanted = '' OR {table}.seq IN (SELECT rowid FROM {text} WHERE {text} MATCH :wanted))
        """

    def keep(self, db: Connection, seq: int, title: str, content: str, marks: str) -> None:
        db.execute(self._keep, (seq, title, content, marks))

    def drop(self, db: Connection, seq: int) -> None:
        db.execute(self._drop, (seq,))

    def counts(self, db: Reader, words: Sequence[str]) -> dict[str, int]:
        return dict(db.execute(self._counts, (json.dumps([*words]),)).fetchall())

    def likest(
        self, db: Reader, words: Sequence[str], wanted: Sequence[Sequence[str]], now: datetime, limit: int
    ) -> list[tuple[int, str]]:
        asked = " AND ".join([f"{{title content}} : ({_any(words)})", *_marks(wanted)])
        return db.execute(self._likest, {"wanted": asked, "now": epoch(now), "limit": limit}).fetchall()

    def newest(self, db: Reader, wanted: Sequence[Sequence[str]], now: datetime, limit: int) -> list[tuple[int, str]]:
        asked = " AND ".join(_marks(wanted))
        return db.execute(self._newest, {"wanted": asked, "now": epoch(now), "limit": limit}).fetchall()

    def among(
        self, db: Reader, seqs: Sequence[int], wanted: Sequence[Sequence[str]], now: datetime
    ) -> list[tuple[int, str]]:
        asked = {"seqs": json.dumps([*seqs]), "now": epoch(now), "wanted": " AND ".join(_marks(wanted))}
        return db.execute(self._among, asked).fetchall()

    def merge(self, db: Connection, *, is_begun: bool) -> bool:
        pages = MERGED_PAGES if is_begun else -MERGED_PAGES
        ((before,),) = db.execute("SELECT total_changes()").fetchall()
        db.execute(self._merge, (pages,))
        ((after,),) = db.execute("SELECT total_changes()").fetchall()
        return not is_begun or after - before >= 2


def _marks(wanted: Sequence[Sequence[str]]) -> list[str]:
    return [f"marks : ({_any(spellings)})" for spellings in wanted]


def _any(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)
