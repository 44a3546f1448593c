"""Words of memos in a full-text table, each as one token."""

import json
from collections.abc import Sequence
from datetime import datetime

from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

MERGED_PAGES = 500

_KEPT = "(memo.expires IS NULL OR memo.expires > :now)"
_WORDS = "SELECT value, doc FROM json_each(?) JOIN memo_word ON memo_word.term = value"
# Marks count for nothing in the order. By its `rank`, the index sorts before any memo is read.
FOUND = f"""
    SELECT memo.seq, memo.body FROM memo_text JOIN memo ON memo.seq = memo_text.rowid
    WHERE memo_text MATCH :wanted AND rank MATCH 'bm25(1.0, 1.0, 0.0)' AND {_KEPT}
    ORDER BY memo_text.rank LIMIT :limit
"""
MARKED = f"""
    SELECT memo.seq, memo.body FROM memo_text JOIN memo ON memo.seq = memo_text.rowid
    WHERE memo_text MATCH :wanted AND {_KEPT} ORDER BY memo_text.rowid DESC LIMIT :limit
"""
AT = f"""
    SELECT memo.seq, memo.body FROM memo JOIN json_each(:seqs) ON memo.seq = value
    WHERE {_KEPT} AND (:wanted = '' OR memo.seq IN (SELECT rowid FROM memo_text WHERE memo_text MATCH :wanted))
"""


class FullText:
    """Full text of memos, by FTS5: the `FullTextIndex` of `kernel.sql.connection`. FTS5 merges its words only after
    two changes or more."""

    def keep(self, db: Connection, seq: int, title: str, content: str, marks: str) -> None:
        db.execute(
            "INSERT INTO memo_text (rowid, title, content, marks) VALUES (?, ?, ?, ?)", (seq, title, content, marks)
        )

    def drop(self, db: Connection, seq: int) -> None:
        db.execute("DELETE FROM memo_text WHERE rowid = ?", (seq,))

    def counts(self, db: Reader, words: Sequence[str]) -> dict[str, int]:
        return dict(db.execute(_WORDS, (json.dumps([*words]),)).fetchall())

    def likest(
        self, db: Reader, words: Sequence[str], wanted: Sequence[Sequence[str]], now: datetime, limit: int
    ) -> list[tuple[int, str]]:
        asked = " AND ".join([f"{{title content}} : ({_any(words)})", *_marks(wanted)])
        return db.execute(FOUND, {"wanted": asked, "now": epoch(now), "limit": limit}).fetchall()

    def newest(self, db: Reader, wanted: Sequence[Sequence[str]], now: datetime, limit: int) -> list[tuple[int, str]]:
        asked = " AND ".join(_marks(wanted))
        return db.execute(MARKED, {"wanted": asked, "now": epoch(now), "limit": limit}).fetchall()

    def among(
        self, db: Reader, seqs: Sequence[int], wanted: Sequence[Sequence[str]], now: datetime
    ) -> list[tuple[int, str]]:
        asked = {"seqs": json.dumps([*seqs]), "now": epoch(now), "wanted": " AND ".join(_marks(wanted))}
        return db.execute(AT, asked).fetchall()

    def merge(self, db: Connection, *, is_begun: bool) -> bool:
        pages = MERGED_PAGES if is_begun else -MERGED_PAGES
        ((before,),) = db.execute("SELECT total_changes()").fetchall()
        db.execute("INSERT INTO memo_text (memo_text, rank) VALUES ('merge', ?)", (pages,))
        ((after,),) = db.execute("SELECT total_changes()").fetchall()
        return not is_begun or after - before >= 2


def _marks(wanted: Sequence[Sequence[str]]) -> list[str]:
    return [f"marks : ({_any(spellings)})" for spellings in wanted]


def _any(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)
