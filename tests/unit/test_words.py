"""How texts and names become terms."""

import pytest

from soorma_ai.core.selection.words import LONGEST_TERM, singular, terms

MOST = 1_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("order.items.reserve_requested", ["order", "item", "reserve", "requested"]),
        ("orderItems", ["order", "item"]),
        ("HTTPServer2Start", ["http", "server2", "start"]),
        ("Please reserve the items of my order!", ["reserve", "item", "order"]),
        ("e-mail, E-MAIL", ["e", "mail", "e", "mail"]),
        ("Größe ändern", ["größe", "ändern"]),
        ("Ｏｒｄｅｒ", ["order"]),
        ("退款单 refund", ["退款", "款单", "refund"]),
        ("API로 환불해", ["api", "로", "환불", "불해"]),
        ("", []),
        ("?!… —", []),
    ],
)
def test_names_and_sentences_of_the_same_meet_in_the_same_terms(text: str, found: list[str]) -> None:
    assert terms(text, MOST) == found


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("orders", "order"),
        ("cities", "city"),
        ("boxes", "box"),
        ("addresses", "address"),
        ("address", "address"),
        ("status", "status"),
        ("analysis", "analysis"),
        ("gas", "gas"),
        ("ties", "tie"),
    ],
)
def test_one_and_many_are_one_term(word: str, found: str) -> None:
    assert singular(word) == found


def test_a_text_and_a_word_count_as_far_as_they_are_read() -> None:
    assert terms("refund " * MOST, 70) == ["refund"] * 10
    assert terms("x" * MOST, MOST) == ["x" * LONGEST_TERM]
    assert terms("é" * MOST, MOST) == ["é" * LONGEST_TERM]
