"""Memos on their shelves, found by full text.

Each word stands behind the number of its shelf, so no query reaches another shelf, with any text, and a word is as rare
as it is there. Marks stand in a column of their own, behind two underscores.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.knowledge import records as domain
from soorma_ai.features.knowledge.tables import MEMO
from soorma_ai.kernel.sql.codec import Codec, epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

_MEMO = Codec(domain.Memo)
# How many places of words one search looks at, rarer words first, and of how many words. By measure: with more, a
# search among ten thousand takes more than five milliseconds; with less, it finds less than BM25 over all words.
MOST_LOOKED_AT = 500
MOST_WORDS = 24

_PLACE = "tenant = ? AND user_id = ? AND is_shared = ? AND kind = ? AND agent = ?"
NEWEST = """
    SELECT memo.seq, memo.body FROM memo WHERE shelf = :shelf AND (memo.expires IS NULL OR memo.expires > :now)
    ORDER BY seq DESC LIMIT :limit
"""
EXPIRED_AT_ONCE = 1_000
EXPIRED = "SELECT seq, shelf FROM memo WHERE expires <= ? ORDER BY expires LIMIT ?"

_OF_USER = """
    SELECT memo.seq, memo.shelf FROM shelf JOIN memo USING (shelf)
    WHERE tenant = :tenant AND user_id = :user AND is_shared = 0 LIMIT :limit
"""
OF_PERSON = ("DELETE FROM shelf WHERE tenant = :tenant AND user_id = :user AND is_shared = 0",)


def memo(db: Reader, shelf: domain.Shelf, key: str, now: datetime) -> domain.Memo | None:
    row = db.execute(
        f"SELECT memo.body FROM memo JOIN shelf USING (shelf) WHERE {_PLACE} AND key = ? "
        "AND (expires IS NULL OR expires > ?)",
        (*_place(shelf), key, epoch(now)),
    ).fetchone()
    return _MEMO.record(row[0]) if row else None


def search(db: Reader, query: domain.MemoQuery, now: datetime) -> list[domain.Memo]:
    numbers = _numbers(db, query.shelves)
    values = {"now": epoch(now), "limit": query.limit}
    if not numbers or query.terms == ():
        return []
    if query.terms is None and not query.marks:
        rows = [row for shelf in numbers for row in db.execute(NEWEST, values | {"shelf": shelf})]
        return [_MEMO.record(body) for _, body in sorted(rows, reverse=True)[: query.limit]]
    wanted = _spellings(numbers, query.marks)
    if query.terms is None:
        found = db.words(MEMO).newest(db, wanted, now, query.limit)
    elif words := _rarest(db, numbers, query):
        found = db.words(MEMO).likest(db, words, wanted, now, query.limit)
    else:
        return []
    return [_MEMO.record(body) for _, body in found]


def memos_at(db: Reader, seqs: Sequence[int], query: domain.MemoQuery, now: datetime) -> list[domain.Memo]:
    """Return those with a query's marks, in the order of `seqs`."""
    wanted = _spellings(_numbers(db, query.shelves), query.marks)
    found = dict(db.words(MEMO).among(db, seqs, wanted, now))
    return [_MEMO.record(found[seq]) for seq in seqs if seq in found]


def signs(db: Reader, shelves: Sequence[domain.Shelf], embedder: str) -> list[tuple[int, bytes]]:
    return [
        (seq, found)
        for shelf in _numbers(db, shelves)
        for seq, found in db.execute(
            "SELECT seq, signs FROM memo_signs WHERE shelf = ? AND embedder = ?", (shelf, embedder)
        )
    ]


def numbers(db: Reader, seqs: Sequence[int], embedder: str) -> dict[int, bytes]:
    found = db.execute(
        "SELECT seq, numbers FROM memo_numbers JOIN json_each(?) ON seq = CAST(value AS BIGINT) WHERE embedder = ?",
        (json.dumps([*seqs]), embedder),
    )
    return dict(found.fetchall())


def change(db: Connection, given: domain.MemoChange) -> None:
    match given:
        case domain.KeepMemo():
            _keep(db, given)
        case domain.DropMemo(shelf, key):
            for number in _numbers(db, [shelf]):
                remove(db, _memos_at(db, number, key))


def drop_expired(db: Connection, now: datetime, limit: int = EXPIRED_AT_ONCE) -> int:
    found = db.execute(EXPIRED, (epoch(now), limit)).fetchall()
    remove(db, found)
    return len(found)


def remove(db: Connection, rows: Sequence[tuple[int, int]]) -> None:
    """Remove memos by number and shelf, with all their terms."""
    for seq, shelf in rows:
        db.execute("DELETE FROM memo WHERE seq = ?", (seq,))
        db.words(MEMO).drop(db, seq)
        row = db.execute("DELETE FROM memo_numbers WHERE seq = ? RETURNING embedder", (seq,)).fetchone()
        if row:
            db.execute("DELETE FROM memo_signs WHERE shelf = ? AND embedder = ? AND seq = ?", (shelf, row[0], seq))
        db.execute("UPDATE shelf SET memos = memos - 1 WHERE shelf = ?", (shelf,))


def remove_of_user(db: Connection, tenant_id: str, user_id: str, limit: int) -> int:
    """Remove up to so many memos of a user, and return how many."""
    rows = db.execute(_OF_USER, {"tenant": tenant_id, "user": user_id, "limit": limit}).fetchall()
    remove(db, rows)
    return len(rows)


def merge_words(db: Connection, is_begun: bool) -> bool:
    """Remove words for good from the index, a piece at a time; False when nothing is left."""
    return db.words(MEMO).merge(db, is_begun=is_begun)


def _keep(db: Connection, given: domain.KeepMemo) -> None:
    one = given.memo
    shelf = _number(db, one.shelf)
    remove(db, _memos_at(db, shelf, one.key))
    ((count,),) = db.execute("SELECT memos FROM shelf WHERE shelf = ?", (shelf,)).fetchall()
    if count >= given.most and not given.is_diary:
        raise LocalProtocolError(
            f"{given.most:,} memos of kind {one.shelf.kind} are kept here already: delete some, or let them expire"
        )
    if count >= given.most:
        oldest = "SELECT seq, shelf FROM memo WHERE shelf = ? ORDER BY seq LIMIT ?"
        remove(db, db.execute(oldest, (shelf, count - given.most + 1)).fetchall())
    expires = None if one.expires_at is None else epoch(one.expires_at)
    ((seq,),) = db.execute(
        "INSERT INTO memo (shelf, key, expires, body) VALUES (?, ?, ?, ?) RETURNING seq",
        (shelf, one.key, expires, _MEMO.text(one)),
    ).fetchall()
    db.execute("UPDATE shelf SET memos = memos + 1 WHERE shelf = ?", (shelf,))
    marks = " ".join(f"{shelf}__{mark}" for mark in given.marks)
    db.words(MEMO).keep(db, seq, _spell(shelf, given.title), _spell(shelf, given.content), marks)
    if (vector := given.embedded) is not None:
        db.execute("INSERT INTO memo_signs VALUES (?, ?, ?, ?)", (shelf, vector.embedder, seq, vector.signs))
        db.execute("INSERT INTO memo_numbers VALUES (?, ?, ?)", (seq, vector.embedder, vector.numbers))


def _memos_at(db: Reader, shelf: int, key: str) -> list[tuple[int, int]]:
    return db.execute("SELECT seq, shelf FROM memo WHERE shelf = ? AND key = ?", (shelf, key)).fetchall()


def _number(db: Reader, shelf: domain.Shelf) -> int:
    db.execute(
        "INSERT INTO shelf (tenant, user_id, is_shared, kind, agent) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        _place(shelf),
    )
    return _numbers(db, [shelf])[0]


def _numbers(db: Reader, shelves: Iterable[domain.Shelf]) -> list[int]:
    return [
        number
        for shelf in shelves
        for (number,) in db.execute(f"SELECT shelf FROM shelf WHERE {_PLACE}", _place(shelf)).fetchall()
    ]


def _rarest(db: Reader, shelves: Sequence[int], query: domain.MemoQuery) -> list[str]:
    """Return the words to look for, the rarest first, within the room. All memos with a rare mark are read."""
    words = [f"{shelf}_{term}" for term in query.terms or () if term.isalnum() for shelf in shelves]
    marks = [f"{shelf}__{mark}" for mark in query.marks for shelf in shelves]
    counts = db.words(MEMO).counts(db, [*words, *marks])
    marked = [sum(counts.get(f"{shelf}__{mark}", 0) for shelf in shelves) for mark in query.marks]
    room = MOST_LOOKED_AT if min(marked, default=MOST_LOOKED_AT + 1) > MOST_LOOKED_AT else None
    telling = list[str]()
    for word in sorted((word for word in words if word in counts), key=lambda word: (counts[word], word)):
        if room is not None:
            room -= counts[word]
            if telling and (room < 0 or len(telling) == MOST_WORDS):
                break
        telling.append(word)
    return telling


def _spellings(shelves: Sequence[int], marks: Sequence[str]) -> list[list[str]]:
    """Return each mark as it may be spelled."""
    return [[f"{shelf}__{mark}" for shelf in shelves] for mark in marks if mark.isalnum()]


def _spell(shelf: int, words: str) -> str:
    return " ".join(f"{shelf}_{word}" for word in words.split())


def _place(shelf: domain.Shelf) -> tuple[str, str, int, str, str]:
    return shelf.tenant_id, shelf.user_id, int(shelf.is_shared), str(shelf.kind), shelf.agent
