"""Memos: refused values, searches among the changes of one handling, bounds in a prompt."""

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


def keep_memo(key: str, content: str, shelf: Any = OWN, **about: Any) -> KeepMemo:
    return keep(make_memo(shelf, key, content, "bot", NOW, About(**about)))


def query_for(text: str, *, limit: int = 10, **given: Any) -> Any:
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
def test_an_invalid_memo_is_refused_with_the_value_found(given: dict[str, Any], said: str) -> None:
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
def test_an_invalid_search_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(LocalProtocolError, match=said):
        query_for("text", **given)


def test_a_long_query_is_cut_to_a_number_of_terms() -> None:
    query = query_for(" ".join(f"word{n}" for n in range(100_000)))
    assert len(query.terms) == rules.MOST_TERMS
    assert query_for("  ").terms is None, "without a text the newest memos are listed"
    assert query_for("the of and").terms == (), "a text of stop words finds nothing"


def test_terms_and_marks_are_letters_and_digits() -> None:
    change = keep_memo("k", 'a" OR b* NEAR(c) {x}: -y \0 z', title='"]', tags=['"; DROP', "\0"], metadata={'"': "'"})
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
def test_memos_are_searched_on_the_shelves_of_their_kind(
    kind: MemoKind, agent: str, shared: bool | None, places: list[tuple[str, str, bool]]
) -> None:
    found = shelves_of("default", "ann", kind, agent, shared=shared)
    assert [(one.user_id, one.agent, one.is_shared) for one in found] == places
    assert {(one.tenant_id, one.kind) for one in found} == {("default", kind)}


def test_a_search_finds_memos_kept_in_this_handling_and_none_dropped_in_it() -> None:
    stored = [keep_memo("old", "cats purr").memo, keep_memo("gone", "cats bite").memo]
    changes = [keep_memo("new", "cats sleep"), DropMemo(OWN, "gone"), keep_memo("other", "dogs bark")]
    found = with_changes(stored, changes, query_for("cats"), NOW)
    assert sorted(memo.key for memo in found) == ["new", "old"]


def test_the_last_change_of_a_key_counts() -> None:
    changes = [keep_memo("k", "cats"), DropMemo(OWN, "k"), keep_memo("k", "cats again")]
    assert [memo.content for memo in with_changes([], changes, query_for("cats"), NOW)] == ["cats again"]
    assert with_changes([keep_memo("k", "cats").memo], [keep_memo("k", "dogs")], query_for("cats"), NOW) == []
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
def test_a_condition_is_met_by_an_equal_value_only(given: dict[str, Any], is_found: bool) -> None:
    one = keep_memo("k", "cats", tags=["a", "b"], source="faq", metadata={"year": 2030, "deep": {"x": [1]}})
    for text in ("cats", ""):
        assert bool(with_changes([], [one], query_for(text, **given), NOW)) is is_found


def test_expired_memos_and_those_of_other_shelves_are_not_found() -> None:
    short = keep_memo("k", "cats", expires_in=60)
    assert with_changes([], [short], query_for("cats"), NOW)
    assert with_changes([], [short], query_for("cats"), NOW + timedelta(seconds=60)) == []
    assert (
        with_changes([], [keep_memo("k", "cats", own_shelf("default", "ben", KNOWLEDGE))], query_for("cats"), NOW) == []
    )


def test_without_a_text_the_memos_of_this_handling_come_first_within_the_limit() -> None:
    stored = [keep_memo(f"old {n}", "cats").memo for n in range(5)]
    found = with_changes(stored, [keep_memo("a", "x"), keep_memo("b", "y")], query_for("", limit=4), NOW)
    assert [memo.key for memo in found] == ["b", "a", "old 0", "old 1"]


def test_rankings_merge_by_place_and_list_each_memo_once() -> None:
    a, b, c = (keep_memo(key, "cats").memo for key in "abc")
    assert [memo.key for memo in merge([[a, b], [b, c]], 3)] == ["b", "a", "c"]
    assert len(merge([[a, b], [b, c]], 2)) == 2


def memo_rows(count: int, tokens: int, **changes: Any) -> tuple[Any, ...]:
    one = keep_memo("k", "cats " * 1000).memo
    return tell([replace(one, key=str(n), **changes) for n in range(count)], tokens)


@pytest.mark.parametrize("tokens", [1, 100, 1_000, 10_000])
def test_rows_for_a_prompt_keep_to_their_tokens_and_none_is_cut(tokens: int) -> None:
    rows = memo_rows(100, tokens)
    assert sum(len(compact(row)) for row in rows) <= tokens * CHARS_PER_TOKEN
    assert all(set(row) >= {"kind", "text"} for row in rows)


def test_rows_for_a_prompt_have_no_id_and_no_time_so_recordings_match() -> None:
    memo = Memo(SHARED, "key-1", "cats", NOW, "about cats", ("t",), "faq", "bot", {"x": 1}, NOW)
    assert tell([memo], 100) == (
        {"kind": "knowledge", "text": "cats", "title": "about cats", "source": "faq", "shared": True},
    )
