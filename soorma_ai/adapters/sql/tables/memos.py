"""Memos on their shelves, found by full text.

Each word stands behind the number of its shelf, so that no query reaches another shelf, whatever it says, and a word is
as rare as it is there. Marks stand in a column of their own, behind two underscores.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from soorma_ai.adapters.sql.codec import Codec, epoch
from soorma_ai.domain import memos as domain
from soorma_ai.errors import LocalProtocolError

_MEMO = Codec(domain.Memo)
# How many places of words one search looks at, rarer words first.
MOST_LOOKED_AT = 1_000

_PLACE = "tenant = ? AND user_id = ? AND is_shared = ? AND kind = ? AND agent = ?"
_KEPT = "(memo.expires IS NULL OR memo.expires > :now)"
_WORDS = "SELECT value, doc FROM json_each(?) JOIN memo_word ON memo_word.term = value"
# Marks count for nothing in the order. By its `rank`, the index sorts before any memo is read.
FOUND = f"""
    SELECT memo.body FROM memo_text JOIN memo ON memo.seq = memo_text.rowid
    WHERE memo_text MATCH :wanted AND rank MATCH 'bm25(1.0, 1.0, 0.0)' AND {_KEPT}
    ORDER BY memo_text.rank LIMIT :limit
"""
MARKED = f"""
    SELECT memo.body FROM memo_text JOIN memo ON memo.seq = memo_text.rowid
    WHERE memo_text MATCH :wanted AND {_KEPT} ORDER BY memo_text.rowid DESC LIMIT :limit
"""
NEWEST = f"SELECT memo.seq, memo.body FROM memo WHERE shelf = :shelf AND {_KEPT} ORDER BY seq DESC LIMIT :limit"
AT = f"""
    SELECT memo.seq, memo.body FROM memo JOIN json_each(:seqs) ON memo.seq = value
    WHERE {_KEPT} AND (:wanted = '' OR memo.seq IN (SELECT rowid FROM memo_text WHERE memo_text MATCH :wanted))
"""
EXPIRED = "SELECT seq, shelf FROM memo WHERE expires <= ? ORDER BY expires LIMIT ?"


def memo(db: sqlite3.Connection, shelf: domain.Shelf, key: str, now: datetime) -> domain.Memo | None:
    row = db.execute(
        f"SELECT memo.body FROM memo JOIN shelf USING (shelf) WHERE {_PLACE} AND key = ? "
        "AND (expires IS NULL OR expires > ?)",
        (*_place(shelf), key, epoch(now)),
    ).fetchone()
    return _MEMO.record(row[0]) if row else None


def search(db: sqlite3.Connection, query: domain.MemoQuery, now: datetime) -> list[domain.Memo]:
    numbers = _numbers(db, query.shelves)
    values = {"now": epoch(now), "limit": query.limit}
    if not numbers or query.terms == ():
        return []
    if query.terms is None and not query.marks:
        rows = [row for shelf in numbers for row in db.execute(NEWEST, values | {"shelf": shelf})]
        return [_MEMO.record(body) for _, body in sorted(rows, reverse=True)[: query.limit]]
    wanted = _marked(numbers, query.marks)
    if query.terms is not None:
        words = _telling(db, numbers, query)
        if not words:
            return []
        wanted = [f"{{title content}} : ({_any(words)})", *wanted]
    statement = MARKED if query.terms is None else FOUND
    found = db.execute(statement, values | {"wanted": " AND ".join(wanted)}).fetchall()
    return [_MEMO.record(body) for (body,) in found]


def memos_at(db: sqlite3.Connection, seqs: Sequence[int], query: domain.MemoQuery, now: datetime) -> list[domain.Memo]:
    """Return those that meet a query's marks, in the order of `seqs`."""
    wanted = " AND ".join(_marked(_numbers(db, query.shelves), query.marks))
    values = {"seqs": json.dumps([*seqs]), "now": epoch(now), "wanted": wanted}
    found = dict(db.execute(AT, values).fetchall())
    return [_MEMO.record(found[seq]) for seq in seqs if seq in found]


def signs(db: sqlite3.Connection, shelves: Sequence[domain.Shelf], embedder: str) -> list[tuple[int, bytes]]:
    return [
        (seq, found)
        for shelf in _numbers(db, shelves)
        for seq, found in db.execute(
            "SELECT seq, signs FROM memo_signs WHERE shelf = ? AND embedder = ?", (shelf, embedder)
        )
    ]


def numbers(db: sqlite3.Connection, seqs: Sequence[int], embedder: str) -> dict[int, bytes]:
    found = db.execute(
        "SELECT seq, numbers FROM memo_numbers JOIN json_each(?) ON seq = value WHERE embedder = ?",
        (json.dumps([*seqs]), embedder),
    )
    return dict(found.fetchall())


def change(db: sqlite3.Connection, given: domain.MemoChange) -> None:
    match given:
        case domain.KeepMemo():
            _keep(db, given)
        case domain.DropMemo(shelf, key):
            for number in _numbers(db, [shelf]):
                remove(db, _keyed(db, number, key))


def drop_expired(db: sqlite3.Connection, now: datetime, limit: int) -> int:
    found = db.execute(EXPIRED, (epoch(now), limit)).fetchall()
    remove(db, found)
    return len(found)


def remove(db: sqlite3.Connection, rows: Sequence[tuple[int, int]]) -> None:
    """Remove memos by number and shelf, with all by which they are found."""
    for seq, shelf in rows:
        db.execute("DELETE FROM memo WHERE seq = ?", (seq,))
        db.execute("DELETE FROM memo_text WHERE rowid = ?", (seq,))
        row = db.execute("DELETE FROM memo_numbers WHERE seq = ? RETURNING embedder", (seq,)).fetchone()
        if row:
            db.execute("DELETE FROM memo_signs WHERE shelf = ? AND embedder = ? AND seq = ?", (shelf, row[0], seq))
        db.execute("UPDATE shelf SET memos = memos - 1 WHERE shelf = ?", (shelf,))


def _keep(db: sqlite3.Connection, given: domain.KeepMemo) -> None:
    one = given.memo
    shelf = _number(db, one.shelf)
    remove(db, _keyed(db, shelf, one.key))
    ((count,),) = db.execute("SELECT memos FROM shelf WHERE shelf = ?", (shelf,)).fetchall()
    if count >= given.most and not given.is_diary:
        raise LocalProtocolError(
            f"{given.most:,} memos of kind {one.shelf.kind} are kept here already: delete some, or let them expire"
        )
    if count >= given.most:
        oldest = "SELECT seq, shelf FROM memo WHERE shelf = ? ORDER BY seq LIMIT ?"
        remove(db, db.execute(oldest, (shelf, count - given.most + 1)).fetchall())
    expires = None if one.expires_at is None else epoch(one.expires_at)
    seq = db.execute(
        "INSERT INTO memo (shelf, key, expires, body) VALUES (?, ?, ?, ?)", (shelf, one.key, expires, _MEMO.text(one))
    ).lastrowid
    db.execute("UPDATE shelf SET memos = memos + 1 WHERE shelf = ?", (shelf,))
    db.execute(
        "INSERT INTO memo_text (rowid, title, content, marks) VALUES (?, ?, ?, ?)",
        (
            seq,
            _spell(shelf, given.title),
            _spell(shelf, given.content),
            " ".join(f"{shelf}__{mark}" for mark in given.marks),
        ),
    )
    if (vector := given.embedded) is not None:
        db.execute("INSERT INTO memo_signs VALUES (?, ?, ?, ?)", (shelf, vector.embedder, seq, vector.signs))
        db.execute("INSERT INTO memo_numbers VALUES (?, ?, ?)", (seq, vector.embedder, vector.numbers))


def _keyed(db: sqlite3.Connection, shelf: int, key: str) -> list[tuple[int, int]]:
    return db.execute("SELECT seq, shelf FROM memo WHERE shelf = ? AND key = ?", (shelf, key)).fetchall()


def _number(db: sqlite3.Connection, shelf: domain.Shelf) -> int:
    db.execute(
        "INSERT INTO shelf (tenant, user_id, is_shared, kind, agent) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        _place(shelf),
    )
    return _numbers(db, [shelf])[0]


def _numbers(db: sqlite3.Connection, shelves: Iterable[domain.Shelf]) -> list[int]:
    return [
        number
        for shelf in shelves
        for (number,) in db.execute(f"SELECT shelf FROM shelf WHERE {_PLACE}", _place(shelf)).fetchall()
    ]


def _telling(db: sqlite3.Connection, shelves: Sequence[int], query: domain.MemoQuery) -> list[str]:
    """Return the words to look for, the rarest first, as many as there is room for. What has a rare mark is looked at
    whole."""
    words = [f"{shelf}_{term}" for term in query.terms or () if term.isalnum() for shelf in shelves]
    marks = [f"{shelf}__{mark}" for mark in query.marks for shelf in shelves]
    counts: dict[str, int] = dict(db.execute(_WORDS, (json.dumps([*words, *marks]),)).fetchall())
    marked = [sum(counts.get(f"{shelf}__{mark}", 0) for shelf in shelves) for mark in query.marks]
    room = MOST_LOOKED_AT if min(marked, default=MOST_LOOKED_AT + 1) > MOST_LOOKED_AT else None
    telling = list[str]()
    for word in sorted((word for word in words if word in counts), key=lambda word: (counts[word], word)):
        if room is not None:
            room -= counts[word]
            if room < 0 and telling:
                break
        telling.append(word)
    return telling


def _marked(shelves: Sequence[int], marks: Sequence[str]) -> list[str]:
    return [f"marks : ({_any([f'{shelf}__{mark}' for shelf in shelves])})" for mark in marks if mark.isalnum()]


def _any(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def _spell(shelf: int, words: str) -> str:
    return " ".join(f"{shelf}_{word}" for word in words.split())


def _place(shelf: domain.Shelf) -> tuple[str, str, int, str, str]:
    return shelf.tenant_id, shelf.user_id, int(shelf.is_shared), str(shelf.kind), shelf.agent
