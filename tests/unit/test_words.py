"""Terms of texts and names for the search."""

import pytest

from soorma_ai.kernel.rules.choices.words import LONGEST_TERM, stem, terms

MOST = 1_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("order.items.reserve_requested", ["order", "item", "reserv", "request"]),
        ("orderItems", ["order", "item"]),
        ("HTTPServer2Start", ["http", "server2", "start"]),
        ("Please reserve the items of my order!", ["reserv", "item", "order"]),
        ("e-mail, E-MAIL", ["e", "mail", "e", "mail"]),
        ("Größe ändern", ["größe", "ändern"]),
        ("Ｏｒｄｅｒ", ["order"]),
        ("退款单 refund", ["退款", "款单", "refund"]),
        ("API로 환불해", ["api", "로", "환불", "불해"]),
        ("", []),
        ("?!… —", []),
    ],
)
def test_names_and_sentences_about_the_same_share_terms(text: str, found: list[str]) -> None:
    assert terms(text, MOST) == found


@pytest.mark.parametrize(
    "forms",
    [
        ("order", "orders", "ordered", "ordering"),
        ("cancel", "cancels", "cancelled", "cancelling", "canceled"),
        ("city", "cities"),
        ("box", "boxes"),
        ("address", "addresses", "addressed"),
        ("issue", "issues", "issued", "issuing"),
        ("ship", "shipping", "shipped"),
        ("sell", "selling"),
        ("tie", "ties"),
    ],
)
def test_the_regular_forms_of_a_word_are_one_term(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    "word", ["status", "analysis", "gas", "bus", "red", "king", "thing", "string", "a", "", "4266"]
)
def test_a_word_that_only_resembles_a_form_is_unchanged(word: str) -> None:
    assert stem(word) == word


def test_a_text_and_a_word_are_read_up_to_a_bound() -> None:
    assert terms("refund " * MOST, 70) == ["refund"] * 10
    assert terms("xy" * MOST, MOST) == ["xy" * (LONGEST_TERM // 2)]
    assert terms("é" * MOST, MOST) == ["é" * LONGEST_TERM]
