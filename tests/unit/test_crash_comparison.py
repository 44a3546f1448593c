"""Comparison of a disturbed run with the undisturbed one, for the crash mark and the crash proof."""

from soorma_ai.testing.crash.comparison import EffectBook, compare_ends


def test_equal_ends_have_no_difference_in_any_order() -> None:
    assert [*compare_ends({"plans": ["a", "b", "b"]}, {"plans": ["b", "a", "b"]})] == []


def test_a_difference_counts_missing_and_surplus_rows_of_a_section() -> None:
    (found,) = compare_ends({"plans": ["a", "b", "b"], "events": ["x"]}, {"plans": ["b", "c", "c"], "events": ["x"]})
    assert (found.missing, found.surplus) == (["a", "b"], ["c", "c"])
    assert found.lines == ["plans: 2 missing, such as a", "plans: 2 too many, such as c"]


def test_a_section_of_one_end_alone_is_a_difference() -> None:
    assert [one.lines for one in compare_ends({"plans": ["a"]}, {"events": ["x"]})] == [
        ["plans: 1 missing, such as a"],
        ["events: 1 too many, such as x"],
    ]


def test_the_same_key_again_is_the_same_effect_and_another_one_under_it_is_a_change() -> None:
    book = EffectBook[str]()
    for key, effect in (("k", "pay 5"), ("k", "pay 5"), ("k", "pay 6"), (None, "mail"), (None, "mail")):
        book.book(key, effect)
    assert [*book.effects.values()] == ["pay 5", "mail", "mail"]
    assert book.absorbed == 2
    assert [str(one) for one in book.changed] == ["k: pay 5, later pay 6"]
