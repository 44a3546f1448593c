import pytest

from soorma_ai.adapters.postgres.dialect import number, spell
from soorma_ai.adapters.postgres.full_text import rank
from soorma_ai.adapters.postgres.schema import make, make_features
from soorma_ai.assembly import ALL_FEATURES


@pytest.mark.parametrize(
    ("statement", "spelled"),
    [
        ("SELECT ? WHERE a = :b", "SELECT %s WHERE a = %(b)s"),
        ("SELECT ':none ?' || x, 'it''s :not' || :is", "SELECT ':none ?' || x, 'it''s :not' || %(is)s"),
        ("SELECT '5%' || ? WHERE a % 2 = 0", "SELECT '5%%' || %s WHERE a %% 2 = 0"),
        ("SELECT a::text, :b", "SELECT a::text, %(b)s"),
        ("a CROSS JOIN b ON a.x = b.x", "a JOIN b ON a.x = b.x"),
        ("a CROSS JOIN b", "a CROSS JOIN b"),
        ("WHERE a = ? AND +tenant = :tenant AND a + b", "WHERE a = %s AND tenant = %(tenant)s AND a + b"),
        (
            "seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND id NOT IN (SELECT value FROM json_each(:ids))",
            "seq = ANY (ARRAY(SELECT CAST(value AS BIGINT) FROM json_each(%s))) "
            "AND id <> ALL (ARRAY(SELECT value FROM json_each(%(ids)s)))",
        ),
        ("FROM session INDEXED BY session_user WHERE x = ?", "FROM session  WHERE x = %s"),
    ],
)
def test_parameters_get_the_drivers_form_and_literals_stay(statement: str, spelled: str) -> None:
    assert spell(statement) == spelled


def test_statements_that_create_a_store_have_no_keyword_of_the_other_database() -> None:
    known = [
        word
        for word in ("STRICT,", "WITHOUT ROWID", "VIRTUAL", "AUTOINCREMENT", " REAL ")
        if word in str((*make(), *make_features(ALL_FEATURES)))
    ]
    assert known == []


@pytest.mark.parametrize(
    ("places", "first"),
    [
        ([("rare", 1, 1, 9), ("often", 2, 1, 9), ("often", 3, 1, 9)], 1),
        ([("word", 1, 1, 90), ("word", 2, 1, 9)], 2),
        ([("word", 1, 1, 9), ("word", 2, 3, 9)], 2),
        ([("word", 7, 1, 9), ("word", 5, 1, 9)], 5),
    ],
    ids=["a rare word", "a short memo", "a frequent word", "the older one of equals"],
)
def test_memos_are_ranked_by_rare_words_in_short_memos(places: list[tuple[str, int, int, int]], first: int) -> None:
    assert rank(places, 100, 2_000)[0] == first


def test_a_statement_to_be_prepared_has_numbers_for_its_parameters() -> None:
    found = number("SELECT '50 %s?' WHERE a = ? AND b % 2 = ?")
    assert found == ("SELECT '50 %s?' WHERE a = $1 AND b % 2 = $2", ())


def test_a_named_parameter_of_a_statement_to_be_prepared_has_one_number() -> None:
    found = number("SELECT ':a' WHERE a = :first AND b = :second AND c::text = :first")
    assert found == ("SELECT ':a' WHERE a = $1 AND b = $2 AND c::text = $1", ("first", "second"))
