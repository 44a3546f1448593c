"""Full-text indexes, as rows of words: the number of each word in each row. The order is by BM25, as in the full-text
tables of SQLite."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache

from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.storage import Table, TextIndex

_K1, _B = 1.2, 0.75


def make_index(table: str) -> tuple[str, ...]:
    """Return the statements that make the full-text index of a table: how often each word and mark stands in a row, how
    long the row is, and the sums of all."""
    total = total_table(table)
    return (
        f"""CREATE TABLE {table}_word (
            term TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, hits BIGINT NOT NULL, PRIMARY KEY (term, seq)
        )""",
        f"CREATE INDEX {table}_word_of ON {table}_word (seq)",
        f"CREATE TABLE {table}_length (seq BIGINT PRIMARY KEY, words BIGINT NOT NULL)",
        f"CREATE TABLE {total} (only_row BOOLEAN PRIMARY KEY, memos BIGINT NOT NULL, words BIGINT NOT NULL)",
        f"INSERT INTO {total} VALUES (true, 0, 0)",
    )


def word_tables(index: TextIndex) -> tuple[Table, Table]:
    """Return the tables of an index with rows of tenants."""
    return Table(f"{index.table}_word", "seq", index.tenant), Table(f"{index.table}_length", "seq", index.tenant)


def total_table(table: str) -> str:
    """Return the name of the table with the sums of an index."""
    return f"{table}_total"


def total_from_lengths(table: str) -> str:
    """Return the statement that sums up an index anew."""
    lengths = f"SELECT count(*), coalesce(sum(words), 0) FROM {table}_length"
    return f"UPDATE {total_table(table)} SET (memos, words) = ({lengths})"


@cache
def index_of(table: str) -> "Postings":
    return Postings(table)


class Postings:
    """Full-text index of a table, by postings of words: the `FullTextIndex` of `kernel.sql.connection`."""

    def __init__(self, table: str) -> None:
        word, length, total = f"{table}_word", f"{table}_length", total_table(table)
        these = "term IN (SELECT value FROM json_each(?))"
        self._keep_words = f"INSERT INTO {word} (term, seq, hits) VALUES (?, ?, ?)"
        self._keep_length = f"INSERT INTO {length} (seq, words) VALUES (?, ?)"
        self._add = f"UPDATE {total} SET memos = memos + ?, words = words + ?"
        self._drop_words = f"DELETE FROM {word} WHERE seq = ?"
        self._drop_length = f"DELETE FROM {length} WHERE seq = ? RETURNING words"
        self._counts = f"SELECT term, count(*) FROM {word} WHERE {these} GROUP BY term"
        self._totals = f"SELECT memos, words FROM {total}"
        self._places = f"""
            SELECT {word}.term, {word}.seq, {word}.hits, {length}.words
            FROM {word} JOIN {length} ON {length}.seq = {word}.seq WHERE {word}.{these}
        """
        self._marked = f"SELECT seq FROM {word} WHERE {these}"
        self._at = (
            f"SELECT {table}.seq, {table}.body FROM {table} WHERE seq = :seq AND (expires IS NULL OR expires > :now)"
        )

    def keep(self, db: Connection, seq: int, title: str, content: str, marks: str) -> None:
        counted, length = count_words(title, content, marks)
        db.executemany(self._keep_words, [(term, seq, hits) for term, hits in counted.items()])
        db.execute(self._keep_length, (seq, length))
        db.execute(self._add, (1, length))

    def drop(self, db: Connection, seq: int) -> None:
        db.execute(self._drop_words, (seq,))
        gone = db.execute(self._drop_length, (seq,)).fetchone()
        if gone is not None:
            db.execute(self._add, (-1, -gone[0]))

    def counts(self, db: Reader, words: Sequence[str]) -> dict[str, int]:
        return dict(db.execute(self._counts, (json.dumps([*words]),)).fetchall())

    def likest(
        self, db: Reader, words: Sequence[str], wanted: Sequence[Sequence[str]], now: datetime, limit: int
    ) -> list[tuple[int, str]]:
        marked = self._rows_with(db, wanted)
        rows, total = db.execute(self._totals).fetchone()
        places: list[tuple[str, int, int, int]] = db.execute(self._places, (json.dumps([*words]),)).fetchall()
        ranked = rank(places, rows, total)
        return self._first(db, (seq for seq in ranked if marked is None or seq in marked), now, limit)

    def newest(self, db: Reader, wanted: Sequence[Sequence[str]], now: datetime, limit: int) -> list[tuple[int, str]]:
        return self._first(db, sorted(self._rows_with(db, wanted) or (), reverse=True), now, limit)

    def among(
        self, db: Reader, seqs: Sequence[int], wanted: Sequence[Sequence[str]], now: datetime
    ) -> list[tuple[int, str]]:
        marked = self._rows_with(db, wanted)
        return self._first(db, (seq for seq in seqs if marked is None or seq in marked), now, len(seqs))

    def merge(self, db: Connection, *, is_begun: bool) -> bool:
        """Return False: removed rows leave nothing here; the server removes dead rows in its vacuum."""
        return False

    def _rows_with(self, db: Reader, wanted: Sequence[Sequence[str]]) -> set[int] | None:
        """Return the rows with one spelling of each mark; None where none is wanted."""
        found: set[int] | None = None
        for spellings in wanted:
            having = {int(seq) for (seq,) in db.execute(self._marked, (json.dumps([*spellings]),)).fetchall()}
            found = having if found is None else found & having
        return found

    def _first(self, db: Reader, seqs: Iterable[int], now: datetime, limit: int) -> list[tuple[int, str]]:
        """Return the first of these that have not expired."""
        found: list[tuple[int, str]] = []
        for seq in seqs:
            if len(found) == limit:
                break
            row = db.execute(self._at, {"seq": seq, "now": epoch(now)}).fetchone()
            if row is not None:
                found.append((row[0], row[1]))
        return found


def count_words(title: str, content: str, marks: str) -> tuple[Counter[str], int]:
    """Return how often each word and mark of a row stands there, and how many there are in all."""
    counted = Counter((*title.split(), *content.split(), *marks.split()))
    return counted, counted.total()


def rank(places: Iterable[tuple[str, int, int, int]], rows: int, total: int) -> list[int]:
    """Return rows, the likest first. A place is a word, its row, its number there, and the words of the row; `rows`
    and their words, `total`, are those of the whole index."""
    known_places = list(places)
    known = Counter(term for term, _, _, _ in known_places)
    average = total / rows if rows else 1.0
    likeness: defaultdict[int, float] = defaultdict(float)
    for term, seq, hits, length in known_places:
        rarity = max(math.log((rows - known[term] + 0.5) / (known[term] + 0.5)), 1e-6)
        likeness[seq] += rarity * hits * (_K1 + 1) / (hits + _K1 * (1 - _B + _B * length / (average or 1.0)))
    return sorted(likeness, key=lambda seq: (-likeness[seq], seq))
