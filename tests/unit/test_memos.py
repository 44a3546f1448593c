"""Memos: what is refused, what is found among what one handling does, and how much of it is told."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.context_parts.memos import About, Memo, MemoKind
from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.knowledge import rules
from soorma_ai.features.knowledge.records import DropMemo, KeepMemo
from soorma_ai.features.knowledge.rules import (
    keep,
    make_memo,
    make_query,
    memo_with_changes,
    merge,
    own_shelf,
    shared_shelf,
    shelves_of,
    tell,
    with_changes,
)
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.rules.prompting.spelling import CHARS_PER_TOKEN

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KNOWLEDGE = MemoKind.KNOWLEDGE
OWN = own_shelf("default", "ann", KNOWLEDGE)
SHARED = shared_shelf("default", KNOWLEDGE)


def kept(key: str, content: str, shelf: Any = OWN, **about: Any) -> KeepMemo:
    return keep(make_memo(shelf, key, content, "bot", NOW, About(**about)))


def asked(text: str, *, limit: int = 10, **given: Any) -> Any:
    return make_query((OWN, SHARED), text, limit, given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"content": ""}, "content=''"),
        ({"content": 7}, "content=7"),
        ({"content": "x" * (rules.MOST_CHARS + 1)}, "keep it in parts"),
        ({"content": "\ud800"}, "cannot be kept"),
        ({"key": ""}, "key=''"),
        ({"key": "k" * 201}, "201 characters"),
        ({"title": "t" * 1001}, "1,001 characters"),
        ({"source": "s" * 201}, "201 characters"),
        ({"tags": "abc"}, "give a list"),
        ({"tags": [""]}, "tag=''"),
        ({"tags": [3]}, "tag=3"),
        ({"tags": [str(n) for n in range(51)]}, "51 tags"),
        ({"metadata": {"a": float("nan")}}, "must be JSON"),
        ({"metadata": {"a": "x" * 20_000}}, "metadata has"),
        ({"expires_in": 0}, "above 0"),
        ({"expires_in": timedelta(days=-1)}, "above 0"),
        ({"expires_in": "soon"}, "above 0"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_what_was_found(given: dict[str, Any], said: str) -> None:
    about = {"key": "k", "content": "text", **given}
    with pytest.raises(LocalProtocolError, match=said):
        make_memo(OWN, about.pop("key"), about.pop("content"), "bot", NOW, About(**about))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limit": 0}, "from 1 to 100"),
        ({"limit": 101}, "from 1 to 100"),
        ({"tags": "abc"}, "give a list"),
        ({"metadata": {str(n): n for n in range(51)}}, "up to 50"),
        ({"metadata": {"a": {1}}}, "must be JSON"),
    ],
)
def test_a_search_that_cannot_be_meant_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(LocalProtocolError, match=said):
        asked("text", **given)


def test_only_the_beginning_of_a_long_query_counts_and_only_so_many_terms() -> None:
    query = asked(" ".join(f"word{n}" for n in range(100_000)))
    assert len(query.terms) == rules.MOST_TERMS
    assert asked("  ").terms is None, "no text lists what is newest"
    assert asked("the of and").terms == (), "a text that says nothing finds nothing"


def test_terms_and_marks_are_letters_and_digits_whatever_was_written() -> None:
    change = kept("k", 'a" OR b* NEAR(c) {x}: -y \0 z', title='"]', tags=['"; DROP', "\0"], metadata={'"': "'"})
    for word in (*change.title.split(), *change.content.split(), *change.marks):
        assert word.isalnum()


@pytest.mark.parametrize(
    ("kind", "agent", "shared", "places"),
    [
        (KNOWLEDGE, "bot", None, [("ann", "", False), ("", "", True)]),
        (KNOWLEDGE, "bot", True, [("", "", True)]),
        (KNOWLEDGE, "bot", False, [("ann", "", False)]),
        (MemoKind.INTERACTION, "bot", None, [("ann", "bot", False)]),
        (MemoKind.INTERACTION, "bot", True, [("ann", "bot", False)]),
        (MemoKind.SKILL, "bot", None, [("ann", "", False), ("ann", "bot", False), ("", "", True), ("", "bot", True)]),
        (MemoKind.SKILL, "", None, [("ann", "", False), ("", "", True)]),
    ],
)
def test_memos_are_looked_for_where_they_belong(
    kind: MemoKind, agent: str, shared: bool | None, places: list[tuple[str, str, bool]]
) -> None:
    found = shelves_of("default", "ann", kind, agent, shared=shared)
    assert [(one.user_id, one.agent, one.is_shared) for one in found] == places
    assert {(one.tenant_id, one.kind) for one in found} == {("default", kind)}


def test_a_search_finds_what_this_handling_keeps_and_not_what_it_drops() -> None:
    stored = [kept("old", "cats purr").memo, kept("gone", "cats bite").memo]
    changes = [kept("new", "cats sleep"), DropMemo(OWN, "gone"), kept("other", "dogs bark")]
    found = with_changes(stored, changes, asked("cats"), NOW)
    assert sorted(memo.key for memo in found) == ["new", "old"]


def test_the_last_change_of_a_key_counts() -> None:
    changes = [kept("k", "cats"), DropMemo(OWN, "k"), kept("k", "cats again")]
    assert [memo.content for memo in with_changes([], changes, asked("cats"), NOW)] == ["cats again"]
    assert with_changes([kept("k", "cats").memo], [kept("k", "dogs")], asked("cats"), NOW) == []
    found = memo_with_changes(None, changes, OWN, "k")
    assert found is not None and found.content == "cats again"
    assert memo_with_changes(found, [DropMemo(OWN, "k")], OWN, "k") is None
    assert memo_with_changes(found, [DropMemo(SHARED, "k")], OWN, "k") is found


@pytest.mark.parametrize(
    ("given", "is_found"),
    [
        ({"tags": ["a"]}, True),
        ({"tags": ["a", "b"]}, True),
        ({"tags": ["c"]}, False),
        ({"source": "faq"}, True),
        ({"source": "FAQ"}, False),
        ({"owner": "bot"}, True),
        ({"owner": "other"}, False),
        ({"metadata": {"year": 2030}}, True),
        ({"metadata": {"year": "2030"}}, False),
        ({"metadata": {"year": 2030, "deep": {"x": [1]}}}, True),
    ],
)
def test_a_condition_is_met_by_what_has_exactly_that(given: dict[str, Any], is_found: bool) -> None:
    one = kept("k", "cats", tags=["a", "b"], source="faq", metadata={"year": 2030, "deep": {"x": [1]}})
    for text in ("cats", ""):
        assert bool(with_changes([], [one], asked(text, **given), NOW)) is is_found


def test_what_has_expired_or_lies_elsewhere_is_not_found() -> None:
    short = kept("k", "cats", expires_in=60)
    assert with_changes([], [short], asked("cats"), NOW)
    assert with_changes([], [short], asked("cats"), NOW + timedelta(seconds=60)) == []
    assert with_changes([], [kept("k", "cats", own_shelf("default", "ben", KNOWLEDGE))], asked("cats"), NOW) == []


def test_without_a_text_what_this_handling_keeps_comes_first_and_the_limit_holds() -> None:
    stored = [kept(f"old {n}", "cats").memo for n in range(5)]
    found = with_changes(stored, [kept("a", "x"), kept("b", "y")], asked("", limit=4), NOW)
    assert [memo.key for memo in found] == ["b", "a", "old 0", "old 1"]


def test_rankings_are_merged_by_places_and_one_memo_is_told_once() -> None:
    a, b, c = (kept(key, "cats").memo for key in "abc")
    assert [memo.key for memo in merge([[a, b], [b, c]], 3)] == ["b", "a", "c"]
    assert len(merge([[a, b], [b, c]], 2)) == 2


def told(count: int, tokens: int, **changes: Any) -> tuple[Any, ...]:
    one = kept("k", "cats " * 1000).memo
    return tell([replace(one, key=str(n), **changes) for n in range(count)], tokens)


@pytest.mark.parametrize("tokens", [1, 100, 1_000, 10_000])
def test_what_is_told_keeps_to_its_tokens_and_no_row_is_cut(tokens: int) -> None:
    rows = told(100, tokens)
    assert sum(len(compact(row)) for row in rows) <= tokens * CHARS_PER_TOKEN
    assert all(set(row) >= {"kind", "text"} for row in rows)


def test_no_id_and_no_time_is_told_so_that_recordings_match() -> None:
    memo = Memo(SHARED, "key-1", "cats", NOW, "about cats", ("t",), "faq", "bot", {"x": 1}, NOW)
    assert tell([memo], 100) == (
        {"kind": "knowledge", "text": "cats", "title": "about cats", "source": "faq", "shared": True},
    )
