"""Memos: kept by key, found by words on their own shelf with any query, gone when they expire."""

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace
from store_kit import NOW, do, in_hand, later

from soorma_ai.context_parts.memos import About, MemoKind, Shelf
from soorma_ai.errors import LocalProtocolError, SoormaError
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.records import DropMemo, KeepMemo, MemoQuery, MemoVector
from soorma_ai.features.knowledge.rules import keep, make_memo, make_query
from soorma_ai.kernel.domain.effects import Ack
from soorma_ai.kernel.ports import Store, Work

SHELF = Shelf("default", MemoKind.KNOWLEDGE, "ann")
# Tenant, user, agent, shared and kind, each with another.
SHELVES = [
    Shelf(tenant, kind, "" if shared else user, name, is_shared=shared)
    for tenant, kind, user, name, shared in product(
        ("default", "other"), MemoKind, ("ann", "ben"), ("", "bot"), (False, True)
    )
    if not (shared and user == "ben")
]


def keep_memo(key: str, content: str, shelf: Shelf = SHELF, **about: Any) -> KeepMemo:
    return keep(make_memo(shelf, key, content, "bot", NOW, About(**about)))


def memo_query(text: str, *shelves: Shelf, limit: int = 10, **given: Any) -> MemoQuery:
    return make_query(shelves or (SHELF,), text, limit, given)


async def found_keys(store: Store, text: str, *shelves: Shelf, **given: Any) -> list[str]:
    return [memo.key for memo in await store.part(MEMOS).search(memo_query(text, *shelves, **given), NOW)]


async def test_a_memo_is_read_as_it_was_kept(store: Store) -> None:
    memo = make_memo(
        SHELF, "k", "Käse \0 𝒳", "bot", NOW, About(title="t", tags=["a"], source="s", metadata={"x": [1, None]})
    )
    await do(store, keep(memo))
    assert await store.part(MEMOS).memo(SHELF, "k", NOW) == memo
    assert await store.part(MEMOS).search(memo_query("kase"), NOW) == []
    assert await store.part(MEMOS).search(memo_query("KÄSE"), NOW) == [memo]
    assert await store.part(MEMOS).memo(SHELF, "other", NOW) is None


async def test_a_key_is_kept_once_and_its_old_words_find_it_no_more(store: Store) -> None:
    await do(store, keep_memo("k", "cats", tags=["old"]))
    await do(store, keep_memo("k", "dogs"))
    assert await found_keys(store, "cats") == []
    assert await found_keys(store, "", tags=["old"]) == []
    assert await found_keys(store, "dogs") == ["k"]
    assert await found_keys(store, "") == ["k"]


async def test_a_dropped_memo_is_found_by_no_search(store: Store) -> None:
    await do(store, keep_memo("k", "cats", tags=["a"]), keep_memo("l", "cats"))
    await do(store, DropMemo(SHELF, "k"))
    assert (await found_keys(store, "cats"), await found_keys(store, ""), await found_keys(store, "", tags=["a"])) == (
        ["l"],
        ["l"],
        [],
    )
    await do(store, DropMemo(SHELF, "k"), DropMemo(Shelf("never", MemoKind.SKILL), "k"))


async def test_the_best_comes_first_and_without_a_text_the_newest(store: Store) -> None:
    await do(store, keep_memo("far", "a cat among a hundred other words " * 20))
    await do(store, keep_memo("near", "cat food"), keep_memo("best", "cat food for old cats", title="cat food"))
    await do(store, *(keep_memo(f"noise {n}", f"dog number {n}") for n in range(20)))
    assert await found_keys(store, "cat food") == ["best", "near", "far"]
    assert await found_keys(store, "", limit=2) == ["noise 19", "noise 18"]


async def test_conditions_are_all_met_with_and_without_a_text(store: Store) -> None:
    await do(
        store,
        keep_memo("a", "cats", tags=["x", "y"], source="faq", metadata={"n": 1}),
        keep_memo("b", "cats", tags=["x"], source="faq", metadata={"n": 2}),
        keep_memo("c", "dogs", tags=["x", "y"], metadata={"n": 1}),
    )
    for text, both in (("cats", ["a"]), ("", ["c", "a"])):
        assert await found_keys(store, text, tags=["x", "y"]) == both
        assert await found_keys(store, text, tags=["x"], source="faq", metadata={"n": 2}) == ["b"]
        assert await found_keys(store, text, tags=["z"]) == []
        assert await found_keys(store, text, owner="nobody") == []


async def test_a_condition_finds_one_among_very_many_memos_of_the_same_words(store: Store) -> None:
    await do(store, keep_memo("it", "common words", tags=["rare"]))
    await do(store, *(keep_memo(str(n), "common words") for n in range(2_000)))
    assert await found_keys(store, "common words", tags=["rare"]) == ["it"]


@pytest.mark.parametrize("shelf", SHELVES, ids=str)
async def test_no_shelf_shows_the_memos_of_another(store: Store, shelf: Shelf) -> None:
    await do(store, *(keep_memo("k", "cats purr", one, tags=["a"]) for one in SHELVES if one != shelf))
    assert await found_keys(store, "cats", shelf) == await found_keys(store, "", shelf) == []
    assert await found_keys(store, "cats", shelf, tags=["a"]) == await found_keys(store, "", shelf, tags=["a"]) == []
    assert await store.part(MEMOS).memo(shelf, "k", NOW) is None
    await do(store, DropMemo(shelf, "k"))
    await do(store, keep_memo("own", "cats bark", shelf))
    assert await found_keys(store, "cats", shelf) == ["own"]
    others = [one for one in SHELVES if one != shelf]
    assert [await found_keys(store, "cats", one) for one in others] == [["k"]] * len(others)


async def test_the_rarity_of_a_word_on_another_shelf_changes_no_ranking(store: Store) -> None:
    await do(
        store,
        keep_memo("cat", "cat milk"),
        keep_memo("dog", "dog milk"),
        *(keep_memo(str(n), "cat tree") for n in range(5)),
    )
    before = await found_keys(store, "cat dog")
    await do(store, *(keep_memo(str(n), "dog dog", Shelf("other", MemoKind.KNOWLEDGE, "eve")) for n in range(500)))
    assert await found_keys(store, "cat dog") == before
    assert before[0] == "dog"


HOSTILE = [
    '"',
    "'",
    "cats' OR '1'='1",
    'cats" OR "dogs',
    "cats OR dogs AND NOT NEAR(x, 2)",
    "content: cats",
    "marks : *",
    "{title content} : cats",
    "^cats*",
    "-cats",
    "1_cats 2_cats 1__",
    "cats\0dogs",
    "\0",
    ")(",
    "cats) OR (memo_text MATCH 'x'",
    "*" * 1000,
    "\ufffe\uffff",
    "'; DROP TABLE memo; --",
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
async def test_any_query_is_taken_as_words(store: Store, text: str) -> None:
    other = Shelf("other", MemoKind.KNOWLEDGE, "eve")
    await do(store, keep_memo("mine", "cats purr"), keep_memo("hers", "dogs cats secret", other))
    assert set(await found_keys(store, text)) <= {"mine"}
    assert await found_keys(store, "cats", tags=[text[:200]], source=text[:200], metadata={text: text}) == []
    assert await store.part(MEMOS).memo(SHELF, text, NOW) is None
    await do(store, keep_memo(text[:200], text, tags=[text[:200]]))
    assert await found_keys(store, "", tags=[text[:200]]) == [text[:200]]
    assert await found_keys(store, "cats", other) == ["hers"]


async def test_terms_of_no_tokenizer_are_harmless_too(store: Store) -> None:
    await do(store, keep_memo("k", "cats"))
    query = MemoQuery((SHELF,), ('x" OR "1_cat', "cat\0", "*"), ('"', "\0"), 10)
    assert await store.part(MEMOS).search(query, NOW) == []


@pytest.mark.parametrize("text", ["x" * 1_000_000, "cat " * 250_000, "\0" * 1_000_000, '"' * 1_000_000])
async def test_a_query_of_a_megabyte_is_searched_by_its_beginning(store: Store, text: str) -> None:
    await do(store, keep_memo("k", "cats purr"))
    assert await found_keys(store, text) == (["k"] if "cat" in text else [])


async def test_an_expired_memo_is_not_found_and_is_swept(store: Store) -> None:
    await do(store, keep_memo("short", "cats", expires_in=60), keep_memo("long", "cats"))
    for text in ("cats", ""):
        assert len(await store.part(MEMOS).search(memo_query(text), later(59))) == 2
        assert [memo.key for memo in await store.part(MEMOS).search(memo_query(text), later(60))] == ["long"]
    assert await store.part(MEMOS).memo(SHELF, "short", later(60)) is None
    await store.queue.sweep(later(60))
    assert await store.part(MEMOS).memo(SHELF, "short", NOW) is None, "it is removed, not only hidden"
    assert await found_keys(store, "cats") == ["long"]


async def test_a_diary_forgets_its_oldest_and_a_full_shelf_refuses(store: Store) -> None:
    diary = Shelf("default", MemoKind.INTERACTION, "ann", "bot")
    for n in range(5):
        await do(store, replace(keep_memo(str(n), f"said {n}", diary), most=3))
    assert await found_keys(store, "", diary) == ["4", "3", "2"]
    assert set(await found_keys(store, "said", diary, limit=9)) == {"4", "3", "2"}
    await do(store, *(replace(keep_memo(str(n), "text"), most=3) for n in range(3)))
    with pytest.raises(LocalProtocolError, match="kept here already"):
        await do(store, replace(keep_memo("more", "text"), most=3))
    await do(store, replace(keep_memo("1", "other text"), most=3))
    assert len(await found_keys(store, "")) == 3


async def test_memos_are_kept_with_their_handling_or_not_at_all(store: Store) -> None:
    await do(store, keep_memo("before", "cats"))
    (delivery,) = await in_hand(store, "e-1")
    handled = Work(delivery, Ack(), (keep_memo("k", "cats"), DropMemo(SHELF, "before")))
    await store.queue.commit(handled, NOW)
    assert await found_keys(store, "cats") == ["k"]
    with pytest.raises(SoormaError):
        await store.queue.commit(replace(handled, effects=(DropMemo(SHELF, "k"),)), NOW)
    assert await found_keys(store, "cats") == ["k"]


async def test_vectors_are_kept_by_embedder_and_go_with_their_memo(store: Store) -> None:
    def vector(by: str) -> MemoVector:
        return MemoVector(by, b"\0\0\x80?" * 2, b"\xc0")

    await do(
        store,
        replace(keep_memo("a", "cats"), embedded=vector("one")),
        replace(keep_memo("b", "dogs"), embedded=vector("two")),
    )
    ((seq, signs),) = await store.part(MEMOS).signs([SHELF], "one")
    assert signs == b"\xc0"
    assert await store.part(MEMOS).numbers([seq], "one") == {seq: b"\0\0\x80?" * 2}
    assert await store.part(MEMOS).numbers([seq], "two") == {}
    assert [memo.key for memo in await store.part(MEMOS).memos_at([seq, 99], memo_query("x"), NOW)] == ["a"]
    assert await store.part(MEMOS).memos_at([seq], memo_query("x", tags=["none"]), NOW) == []
    await do(store, keep_memo("a", "cats"))
    assert await store.part(MEMOS).signs([SHELF], "one") == []
