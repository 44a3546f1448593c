"""Memos: kept by key, found by words on their own shelf, gone when they expire; whatever a query says."""

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


def kept(key: str, content: str, shelf: Shelf = SHELF, **about: Any) -> KeepMemo:
    return keep(make_memo(shelf, key, content, "bot", NOW, About(**about)))


def asked(text: str, *shelves: Shelf, limit: int = 10, **given: Any) -> MemoQuery:
    return make_query(shelves or (SHELF,), text, limit, given)


async def found(store: Store, text: str, *shelves: Shelf, **given: Any) -> list[str]:
    return [memo.key for memo in await store.part(MEMOS).search(asked(text, *shelves, **given), NOW)]


async def test_what_is_kept_is_read_as_it_was(store: Store) -> None:
    memo = make_memo(
        SHELF, "k", "Käse \0 𝒳", "bot", NOW, About(title="t", tags=["a"], source="s", metadata={"x": [1, None]})
    )
    await do(store, keep(memo))
    assert await store.part(MEMOS).memo(SHELF, "k", NOW) == memo
    assert await store.part(MEMOS).search(asked("kase"), NOW) == []
    assert await store.part(MEMOS).search(asked("KÄSE"), NOW) == [memo]
    assert await store.part(MEMOS).memo(SHELF, "other", NOW) is None


async def test_a_key_is_kept_once_and_its_old_words_find_it_no_more(store: Store) -> None:
    await do(store, kept("k", "cats", tags=["old"]))
    await do(store, kept("k", "dogs"))
    assert await found(store, "cats") == []
    assert await found(store, "", tags=["old"]) == []
    assert await found(store, "dogs") == ["k"]
    assert await found(store, "") == ["k"]


async def test_what_is_dropped_is_found_by_nothing(store: Store) -> None:
    await do(store, kept("k", "cats", tags=["a"]), kept("l", "cats"))
    await do(store, DropMemo(SHELF, "k"))
    assert (await found(store, "cats"), await found(store, ""), await found(store, "", tags=["a"])) == (
        ["l"],
        ["l"],
        [],
    )
    await do(store, DropMemo(SHELF, "k"), DropMemo(Shelf("never", MemoKind.SKILL), "k"))


async def test_the_best_comes_first_and_without_a_text_the_newest(store: Store) -> None:
    await do(store, kept("far", "a cat among a hundred other words " * 20))
    await do(store, kept("near", "cat food"), kept("best", "cat food for old cats", title="cat food"))
    await do(store, *(kept(f"noise {n}", f"dog number {n}") for n in range(20)))
    assert await found(store, "cat food") == ["best", "near", "far"]
    assert await found(store, "", limit=2) == ["noise 19", "noise 18"]


async def test_conditions_are_all_met_with_and_without_a_text(store: Store) -> None:
    await do(
        store,
        kept("a", "cats", tags=["x", "y"], source="faq", metadata={"n": 1}),
        kept("b", "cats", tags=["x"], source="faq", metadata={"n": 2}),
        kept("c", "dogs", tags=["x", "y"], metadata={"n": 1}),
    )
    for text, both in (("cats", ["a"]), ("", ["c", "a"])):
        assert await found(store, text, tags=["x", "y"]) == both
        assert await found(store, text, tags=["x"], source="faq", metadata={"n": 2}) == ["b"]
        assert await found(store, text, tags=["z"]) == []
        assert await found(store, text, owner="nobody") == []


async def test_a_condition_finds_one_among_very_many_that_share_its_words(store: Store) -> None:
    await do(store, kept("it", "common words", tags=["rare"]))
    await do(store, *(kept(str(n), "common words") for n in range(2_000)))
    assert await found(store, "common words", tags=["rare"]) == ["it"]


@pytest.mark.parametrize("shelf", SHELVES, ids=str)
async def test_no_shelf_shows_what_lies_on_another(store: Store, shelf: Shelf) -> None:
    await do(store, *(kept("k", "cats purr", one, tags=["a"]) for one in SHELVES if one != shelf))
    assert await found(store, "cats", shelf) == await found(store, "", shelf) == []
    assert await found(store, "cats", shelf, tags=["a"]) == await found(store, "", shelf, tags=["a"]) == []
    assert await store.part(MEMOS).memo(shelf, "k", NOW) is None
    await do(store, DropMemo(shelf, "k"))
    await do(store, kept("own", "cats bark", shelf))
    assert await found(store, "cats", shelf) == ["own"]
    others = [one for one in SHELVES if one != shelf]
    assert [await found(store, "cats", one) for one in others] == [["k"]] * len(others)


async def test_how_rare_a_word_is_elsewhere_changes_no_ranking(store: Store) -> None:
    await do(store, kept("cat", "cat milk"), kept("dog", "dog milk"), *(kept(str(n), "cat tree") for n in range(5)))
    before = await found(store, "cat dog")
    await do(store, *(kept(str(n), "dog dog", Shelf("other", MemoKind.KNOWLEDGE, "eve")) for n in range(500)))
    assert await found(store, "cat dog") == before
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
async def test_whatever_a_query_says_it_is_words(store: Store, text: str) -> None:
    other = Shelf("other", MemoKind.KNOWLEDGE, "eve")
    await do(store, kept("mine", "cats purr"), kept("hers", "dogs cats secret", other))
    assert set(await found(store, text)) <= {"mine"}
    assert await found(store, "cats", tags=[text[:200]], source=text[:200], metadata={text: text}) == []
    assert await store.part(MEMOS).memo(SHELF, text, NOW) is None
    await do(store, kept(text[:200], text, tags=[text[:200]]))
    assert await found(store, "", tags=[text[:200]]) == [text[:200]]
    assert await found(store, "cats", other) == ["hers"]


async def test_what_never_came_from_our_words_is_harmless_too(store: Store) -> None:
    await do(store, kept("k", "cats"))
    query = MemoQuery((SHELF,), ('x" OR "1_cat', "cat\0", "*"), ('"', "\0"), 10)
    assert await store.part(MEMOS).search(query, NOW) == []


@pytest.mark.parametrize("text", ["x" * 1_000_000, "cat " * 250_000, "\0" * 1_000_000, '"' * 1_000_000])
async def test_a_megabyte_of_a_query_costs_what_its_beginning_costs(store: Store, text: str) -> None:
    await do(store, kept("k", "cats purr"))
    assert await found(store, text) == (["k"] if "cat" in text else [])


async def test_what_has_expired_is_not_found_and_is_swept(store: Store) -> None:
    await do(store, kept("short", "cats", expires_in=60), kept("long", "cats"))
    for text in ("cats", ""):
        assert len(await store.part(MEMOS).search(asked(text), later(59))) == 2
        assert [memo.key for memo in await store.part(MEMOS).search(asked(text), later(60))] == ["long"]
    assert await store.part(MEMOS).memo(SHELF, "short", later(60)) is None
    await store.queue.sweep(later(60))
    assert await store.part(MEMOS).memo(SHELF, "short", NOW) is None, "it is removed, not only hidden"
    assert await found(store, "cats") == ["long"]


async def test_a_diary_forgets_its_oldest_and_a_full_shelf_refuses(store: Store) -> None:
    diary = Shelf("default", MemoKind.INTERACTION, "ann", "bot")
    for n in range(5):
        await do(store, replace(kept(str(n), f"said {n}", diary), most=3))
    assert await found(store, "", diary) == ["4", "3", "2"]
    assert set(await found(store, "said", diary, limit=9)) == {"4", "3", "2"}
    await do(store, *(replace(kept(str(n), "text"), most=3) for n in range(3)))
    with pytest.raises(LocalProtocolError, match="kept here already"):
        await do(store, replace(kept("more", "text"), most=3))
    await do(store, replace(kept("1", "other text"), most=3))
    assert len(await found(store, "")) == 3


async def test_they_are_kept_with_a_handling_or_not_at_all(store: Store) -> None:
    await do(store, kept("before", "cats"))
    (delivery,) = await in_hand(store, "e-1")
    handled = Work(delivery, Ack(), (kept("k", "cats"), DropMemo(SHELF, "before")))
    await store.queue.commit(handled, NOW)
    assert await found(store, "cats") == ["k"]
    with pytest.raises(SoormaError):
        await store.queue.commit(replace(handled, effects=(DropMemo(SHELF, "k"),)), NOW)
    assert await found(store, "cats") == ["k"]


async def test_vectors_are_kept_by_embedder_and_go_with_their_memo(store: Store) -> None:
    def vector(by: str) -> MemoVector:
        return MemoVector(by, b"\0\0\x80?" * 2, b"\xc0")

    await do(
        store, replace(kept("a", "cats"), embedded=vector("one")), replace(kept("b", "dogs"), embedded=vector("two"))
    )
    ((seq, signs),) = await store.part(MEMOS).signs([SHELF], "one")
    assert signs == b"\xc0"
    assert await store.part(MEMOS).numbers([seq], "one") == {seq: b"\0\0\x80?" * 2}
    assert await store.part(MEMOS).numbers([seq], "two") == {}
    assert [memo.key for memo in await store.part(MEMOS).memos_at([seq, 99], asked("x"), NOW)] == ["a"]
    assert await store.part(MEMOS).memos_at([seq], asked("x", tags=["none"]), NOW) == []
    await do(store, kept("a", "cats"))
    assert await store.part(MEMOS).signs([SHELF], "one") == []
