"""Rules for memos: making, queries, and the merge of a store's results with one handling's changes, without a ranking
of the store's own.

All foreign text is bounded by structure before its use: a query by characters and terms, a memo by characters, its tags
and metadata by number.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, cast

from soorma_ai.context_parts.memos import About, Filter, Memo, MemoKind, Shelf
from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.knowledge.records import (
    LONGEST_NAME,
    MOST_CHARS,
    MOST_FOUND,
    MOST_QUERY_CHARS,
    MOST_TAGS,
    MOST_TITLE_CHARS,
    DropMemo,
    KeepMemo,
    MemoChange,
    MemoQuery,
    MemoVector,
)
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.values import (
    UNSTORABLE,
    Json,
    JsonObject,
    clip,
    compact,
    is_storable,
    json_object,
    must_be_text,
    span_of,
)
from soorma_ai.kernel.rules.choices.index import fuse
from soorma_ai.kernel.rules.choices.words import terms
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN, size_of_text, spell

MOST_METADATA_CHARS = 16_000
MOST_TERMS = 40
# Of a shelf; a diary forgets its oldest, the others refuse.
MOST_KEPT: Final = {MemoKind.KNOWLEDGE: 200_000, MemoKind.INTERACTION: 1_000, MemoKind.SKILL: 2_000}
LINE_CHARS = 1_200


def own_shelf(tenant_id: str, user_id: str, kind: MemoKind, agent: str = "") -> Shelf:
    return Shelf(tenant_id, kind, user_id, plain_name(agent))


def shared_shelf(tenant_id: str, kind: MemoKind, agent: str = "") -> Shelf:
    """Return the shelf of all of a tenant, which no user has."""
    return Shelf(tenant_id, kind, NO_USER, plain_name(agent), is_shared=True)


def shelves_of(tenant_id: str, user_id: str, kind: MemoKind, agent: str, *, shared: bool | None) -> tuple[Shelf, ...]:
    """Return where memos of a kind are looked for, for a user and by an agent: a diary is one shelf; of the others,
    `shared` says whether the tenant's (True), the user's (False) or both (None)."""
    if kind is MemoKind.INTERACTION:
        return (own_shelf(tenant_id, user_id, kind, agent),)
    agents = ("", agent) if kind is MemoKind.SKILL and agent else ("",)
    own = [own_shelf(tenant_id, user_id, kind, one) for one in agents if shared is not True]
    common = [shared_shelf(tenant_id, kind, one) for one in agents if shared is not False]
    return (*own, *common)


def make_memo(shelf: Shelf, key: str, content: str, by: str, now: datetime, about: About) -> Memo:
    """Return a memo. Raise LocalProtocolError for one impossible to store, or too large to search."""
    must_be_text("content", content)
    must_be_text("key", key)
    _must_fit("key", key, LONGEST_NAME)
    _must_fit("content", content, MOST_CHARS, "keep it in parts, each under a key of its own")
    title, source, tags = about.get("title", ""), about.get("source", ""), _tags(about.get("tags", ()))
    _must_fit("title", title, MOST_TITLE_CHARS)
    _must_fit("source", source, LONGEST_NAME)
    metadata = json_object("metadata", about.get("metadata", {}))
    if not is_storable([key, content, title, source, [*tags], metadata]):
        raise LocalProtocolError(f"a memo cannot be kept: {UNSTORABLE}")
    _must_fit("metadata", compact(metadata), MOST_METADATA_CHARS)
    expires_at = None if "expires_in" not in about else now + span_of("expires_in", about["expires_in"])
    return Memo(shelf, key, content, now, title, tags, source, by, metadata, expires_at)


def keep(memo: Memo, embedded: MemoVector | None = None) -> KeepMemo:
    """Return the change for a memo, with all its terms."""
    kind = memo.shelf.kind
    is_diary = kind is MemoKind.INTERACTION
    title = terms(memo.title, MOST_TITLE_CHARS) if is_diary else terms(f"{memo.key} {memo.title}", 2 * MOST_TITLE_CHARS)
    marks = (
        *(_mark("tag", tag) for tag in memo.tags),
        *([_mark("source", memo.source)] if memo.source else []),
        _mark("by", memo.by),
        *(_mark("metadata", [name, value]) for name, value in memo.metadata.items()),
    )
    content = " ".join(terms(memo.content, MOST_CHARS))
    return KeepMemo(memo, " ".join(title), content, marks, MOST_KEPT[kind], is_diary, embedded)


def text_of(memo: Memo) -> str:
    """Return the text for a memo's vector."""
    return "\n".join(filter(None, (memo.title, memo.content)))


def make_query(shelves: tuple[Shelf, ...], text: str, limit: int, given: Filter) -> MemoQuery:
    """Return a query. Raise LocalProtocolError for a nonsensical condition. Of a long text its beginning counts, and of
    its terms the most frequent ones."""
    if not 1 <= limit <= MOST_FOUND:
        raise LocalProtocolError(f"limit={limit!r}: give a number from 1 to {MOST_FOUND}")
    wanted = [_mark("tag", tag) for tag in _tags(given.get("tags", ()))]
    wanted += [_mark("source", given["source"])] if "source" in given else []
    wanted += [_mark("by", given["owner"])] if "owner" in given else []
    metadata = json_object("metadata", given.get("metadata", {}))
    if len(metadata) > MOST_TAGS or not is_storable(metadata):
        raise LocalProtocolError(f"metadata={clip(repr(metadata), 80)}: give up to {MOST_TAGS} values that can be kept")
    wanted += [_mark("metadata", [name, value]) for name, value in metadata.items()]
    found = Counter(terms(text, MOST_QUERY_CHARS)) if text.strip() else None
    words = None if found is None else tuple(word for word, _ in found.most_common(MOST_TERMS))
    return MemoQuery(shelves, words, tuple(wanted), limit)


def with_changes(found: Sequence[Memo], changes: Iterable[MemoChange], query: MemoQuery, now: datetime) -> list[Memo]:
    """Return the results of a search after these changes. Their weights do not compare with a store's, so the two
    rankings are merged by their places."""
    last = {(_place(change)): change for change in changes}
    if not last:
        return list(found)
    kept = [change for change in last.values() if isinstance(change, KeepMemo) and _meets(change, query, now)]
    if query.terms is None:
        own = [change.memo for change in reversed(kept)]
        return [*own, *(memo for memo in found if (memo.shelf, memo.key) not in last)][: query.limit]
    own = [change.memo for change in sorted(kept, key=lambda change: -_shares(change, query))]
    stored = [memo for memo in found if (memo.shelf, memo.key) not in last]
    return merge([own, stored], query.limit)


def merge(rankings: Sequence[Sequence[Memo]], most: int) -> list[Memo]:
    """Return the memos of several rankings as one, by reciprocal rank."""
    by_place = {_name(memo): memo for ranking in rankings for memo in ranking}
    return [by_place[name] for name in fuse([([*map(_name, ranking)], 1.0) for ranking in rankings], most)]


def memo_with_changes(stored: Memo | None, changes: Iterable[MemoChange], shelf: Shelf, key: str) -> Memo | None:
    """Return the memo of a key once these changes are stored."""
    for change in changes:
        if _place(change) == (shelf, key):
            stored = change.memo if isinstance(change, KeepMemo) else None
    return stored


def tell(memos: Sequence[Memo], tokens: int) -> tuple[JsonObject, ...]:
    """Return as many memos as fit, in order, each cut to its share: their texts, without ids and times."""
    rows, room = list[JsonObject](), tokens * CHARS_PER_TOKEN
    for memo in memos:
        row: JsonObject = {"kind": str(memo.shelf.kind), "text": clip(memo.content, LINE_CHARS)}
        if memo.title:
            row["title"] = clip(memo.title, LONGEST_NAME)
        if memo.source:
            row["source"] = memo.source
        if memo.shelf.kind is not MemoKind.INTERACTION and memo.shelf.is_shared:
            row["shared"] = True
        room -= size_of_text(spell(row))
        if room < 0:
            break
        rows.append(row)
    return tuple(rows)


def _tags(given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise LocalProtocolError(f"tags={clip(repr(given), 80)}: give a list of names")
    tags = cast("list[object] | tuple[object, ...]", given)
    if len(tags) > MOST_TAGS:
        raise LocalProtocolError(f"{len(tags)} tags: give {MOST_TAGS} at most")
    for tag in tags:
        must_be_text("tag", tag)
        _must_fit("tag", tag, LONGEST_NAME)
    return tuple(dict.fromkeys(str(tag) for tag in tags))


def _must_fit(what: str, text: object, most: int, advice: str = "give less") -> None:
    if not isinstance(text, str):
        raise LocalProtocolError(f"{what}={clip(repr(text), 80)}: give text")
    if len(text) > most:
        raise LocalProtocolError(f"{what} has {len(text):,} characters, and may have {most:,}: {advice}")


def _mark(name: str, value: Json) -> str:
    """Return one word for a condition, with any content."""
    return hashlib.sha256(compact([name, value]).encode()).hexdigest()[:24]


def _meets(change: KeepMemo, query: MemoQuery, now: datetime) -> bool:
    memo = change.memo
    is_asked = memo.shelf in query.shelves and not {*query.marks} - {*change.marks}
    is_kept = memo.expires_at is None or memo.expires_at > now
    return is_asked and is_kept and (query.terms is None or _shares(change, query) > 0)


def _shares(change: KeepMemo, query: MemoQuery) -> int:
    return len({*(query.terms or ())} & {*change.title.split(), *change.content.split()})


def _place(change: MemoChange) -> tuple[Shelf, str]:
    match change:
        case KeepMemo(memo=memo):
            return memo.shelf, memo.key
        case DropMemo(shelf, key):
            return shelf, key


def _name(memo: Memo) -> str:
    shelf = memo.shelf
    return compact([shelf.tenant_id, shelf.kind, shelf.user_id, shelf.agent, shelf.is_shared, memo.key])
