"""Words of memos as rows: the number of each in each memo. The order is by BM25, as in the full-text table of
SQLite."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

_K1, _B = 1.2, 0.75

_KEPT = "(memo.expires IS NULL OR memo.expires > :now)"
_PLACES = """
    SELECT memo_word.term, memo_word.seq, memo_word.hits, memo_length.words
    FROM memo_word JOIN memo_length ON memo_length.seq = memo_word.seq
    WHERE memo_word.term IN (SELECT value FROM json_each(?))
"""
_AT = f"SELECT memo.seq, memo.body FROM memo WHERE memo.seq = :seq AND {_KEPT}"
_MARKED = "SELECT seq FROM memo_word WHERE term IN (SELECT value FROM json_each(?))"


class Postings:
    """Full text of memos, by postings of words: the `FullTextIndex` of `kernel.sql.connection`."""

    def keep(self, db: Connection, seq: int, title: str, content: str, marks: str) -> None:
        counted, length = count_words(title, content, marks)
        rows = [(term, seq, hits) for term, hits in counted.items()]
        db.executemany("INSERT INTO memo_word (term, seq, hits) VALUES (?, ?, ?)", rows)
        db.execute("INSERT INTO memo_length (seq, words) VALUES (?, ?)", (seq, length))
        db.execute("UPDATE memo_total SET memos = memos + 1, words = words + ?", (length,))

    def drop(self, db: Connection, seq: int) -> None:
        db.execute("DELETE FROM memo_word WHERE seq = ?", (seq,))
        gone = db.execute("DELETE FROM memo_length WHERE seq = ? RETURNING words", (seq,)).fetchone()
        if gone is not None:
            db.execute("UPDATE memo_total SET memos = memos - 1, words = words - ?", (gone[0],))

    def counts(self, db: Reader, words: Sequence[str]) -> dict[str, int]:
        found = db.execute(
            "SELECT term, count(*) FROM memo_word WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term",
            (json.dumps([*words]),),
        )
        return dict(found.fetchall())

    def likest(
        self, db: Reader, words: Sequence[str], wanted: Sequence[Sequence[str]], now: datetime, limit: int
    ) -> list[tuple[int, str]]:
        marked = _memos_with(db, wanted)
        memos, total = db.execute("SELECT memos, words FROM memo_total").fetchone()
        places: list[tuple[str, int, int, int]] = db.execute(_PLACES, (json.dumps([*words]),)).fetchall()
        ranked = rank(places, memos, total)
        return _first(db, (seq for seq in ranked if marked is None or seq in marked), now, limit)

    def newest(self, db: Reader, wanted: Sequence[Sequence[str]], now: datetime, limit: int) -> list[tuple[int, str]]:
        return _first(db, sorted(_memos_with(db, wanted) or (), reverse=True), now, limit)

    def among(
        self, db: Reader, seqs: Sequence[int], wanted: Sequence[Sequence[str]], now: datetime
    ) -> list[tuple[int, str]]:
        marked = _memos_with(db, wanted)
        return _first(db, (seq for seq in seqs if marked is None or seq in marked), now, len(seqs))

    def merge(self, db: Connection, *, is_begun: bool) -> bool:
        """Return False: removed rows leave nothing here; the server removes dead rows in its vacuum."""
        return False


def count_words(title: str, content: str, marks: str) -> tuple[Counter[str], int]:
    """Return how often each word and mark of a memo stands there, and how many there are in all."""
    counted = Counter((*title.split(), *content.split(), *marks.split()))
    return counted, counted.total()


def rank(places: Iterable[tuple[str, int, int, int]], memos: int, total: int) -> list[int]:
    """Return memos, the likest first, of places (word, memo, how often it stands there, words of the memo), out of so
    many memos that have so many words in all."""
    rows = list(places)
    known = Counter(term for term, _, _, _ in rows)
    average = total / memos if memos else 1.0
    likeness: defaultdict[int, float] = defaultdict(float)
    for term, seq, hits, length in rows:
        rarity = max(math.log((memos - known[term] + 0.5) / (known[term] + 0.5)), 1e-6)
        likeness[seq] += rarity * hits * (_K1 + 1) / (hits + _K1 * (1 - _B + _B * length / (average or 1.0)))
    return sorted(likeness, key=lambda seq: (-likeness[seq], seq))


def _memos_with(db: Reader, wanted: Sequence[Sequence[str]]) -> set[int] | None:
    """Return the memos that have one spelling of each mark; None where none is wanted."""
    found: set[int] | None = None
    for spellings in wanted:
        having = {int(seq) for (seq,) in db.execute(_MARKED, (json.dumps([*spellings]),)).fetchall()}
        found = having if found is None else found & having
    return found


def _first(db: Reader, seqs: Iterable[int], now: datetime, limit: int) -> list[tuple[int, str]]:
    """Return the first of these that have not expired."""
    found: list[tuple[int, str]] = []
    for seq in seqs:
        if len(found) == limit:
            break
        row = db.execute(_AT, {"seq": seq, "now": epoch(now)}).fetchone()
        if row is not None:
            found.append((row[0], row[1]))
    return found
