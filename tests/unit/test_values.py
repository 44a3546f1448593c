import hashlib
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.values import (
    MOST_LEVELS,
    MOST_OF_A_MESSAGE,
    Json,
    JsonObject,
    account_of,
    clip,
    compact,
    copy_json,
    derived_id,
    digest,
    identity_of,
    is_storable,
    json_object,
    leaves,
    message_of,
    value_at,
)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
objects = st.dictionaries(st.text(), documents, max_size=6)


def reversed_keys(value: Json) -> Json:
    """The same value with its keys in reverse order."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(list(value))}
    if isinstance(value, list):
        return [reversed_keys(item) for item in value]
    return value


def has_safe_integers(value: Json) -> bool:
    """Tell whether RFC 8785, with doubles as numbers, has a form of this value."""
    if isinstance(value, dict | list):
        return all(map(has_safe_integers, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or abs(value) < 2**53


@given(objects)
def test_a_digest_and_compact_json_do_not_depend_on_the_order_of_keys(value: JsonObject) -> None:
    assert digest(reversed_keys(value)) == digest(value)
    assert compact(reversed_keys(value)) == compact(value)


@given(documents, documents)
def test_equal_digests_mean_equal_values(one: Json, other: Json) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    if same:
        assert digest(one) == digest(other)
    if digest(one) == digest(other):
        assert one == other


@given(documents)
def test_compact_json_is_read_back(value: Json) -> None:
    assert json.loads(compact(value)) == value
    assert compact(value).isascii()


def test_a_digest_is_that_of_the_canonical_form_for_interoperability() -> None:
    value: Json = {"b": [1.0, 1e21, "ü", None], "a": {"\r": True, "1": 333333333.33333329}}
    canonical = '{"a":{"\\r":true,"1":333333333.3333333},"b":[1,1e+21,"ü",null]}'
    assert digest(value) == hashlib.sha256(canonical.encode()).hexdigest()


@given(documents.filter(has_safe_integers))
def test_every_values_digest_is_that_of_the_canonical_form(value: Json) -> None:
    assert digest(value) == hashlib.sha256(rfc8785.dumps(value)).hexdigest()


@pytest.mark.parametrize(
    "value",
    [
        {"amount": 12.5, "count": 3.0, "zero": -0.0, "most": 9007199254740991.0},
        {"least": 1e-4, "less": 9.9e-5, "large": 1e16 - 2, "larger": 1e16, "largest": 1e21, "two": 2.0**60},
        {"\uffff": 1, "\U00010000": 2, "é": [{"ß": "\x7f\u2028\x00"}]},
        {"\ue000": "\U0001f600", "a": [True, None, ""]},
    ],
    ids=lambda value: next(iter(value)),
)
def test_numbers_and_texts_at_the_edges_have_the_digest_of_the_canonical_form(value: JsonObject) -> None:
    assert digest(value) == hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def test_equal_numbers_have_one_digest_and_other_types_or_digits_another() -> None:
    assert digest({"n": 1}) == digest({"n": 1.0})
    values: list[Json] = [1, True, "1", None, [1], 2**53, 2**53 + 1, -(2**53), 10**30, 10**30 + 1]
    assert len({digest({"n": n}) for n in values}) == len(values)


parts = st.lists(st.text(alphabet='a,"\x1f', max_size=2), max_size=3)


@given(parts, parts)
def test_a_derived_id_is_equal_for_equal_parts_only(one: list[str], other: list[str]) -> None:
    assert (derived_id("x", *one) == derived_id("x", *other)) is (one == other)


def test_a_derived_id_does_not_change_between_versions() -> None:
    """New ids are compared with stored ones: another algorithm would double open work."""
    assert derived_id("event", "cause", "agent", "0", "order.placed") == "9205896e-2c67-5e40-8ac0-f4c7364bdac2"
    assert derived_id("\ud800") != derived_id("\udfff"), "any text has an id"


@given(parts)
def test_a_derived_id_is_a_uuid_of_version_5(given_parts: list[str]) -> None:
    namespace = uuid.UUID("6f7b1a52-5c0e-5d0c-9f53-0d2f1a8f4c11")
    assert derived_id(*given_parts) == str(uuid.uuid5(namespace, compact([*given_parts])))


@given(st.text(), st.integers(min_value=1, max_value=20))
def test_clipped_text_fits_its_size_and_ends_with_a_mark(text: str, size: int) -> None:
    shown = clip(text, size)
    assert len(shown) <= size
    assert shown == text or shown.endswith("…")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/order/items/1/sku", "b"),
        ("order.items.1.sku", "b"),
        ("/order/items/2", None),
        ("/order/items/-1", None),
        ("/order/items/x", None),
        ("/order/items/²", None),
        (f"/order/items/{'9' * 5_000}", None),
        ("/order/nothing", None),
        ("/order/id/deeper", None),
        ("/a~1b", 1),
        ("/m~0n", 2),
        ("/~01", 3),
        ("order", {"id": "o-1", "items": [{"sku": "a"}, {"sku": "b"}]}),
    ],
)
def test_a_pointer_or_a_dotted_path_finds_its_value_or_none(path: str, found: Json) -> None:
    document: Json = {"order": {"id": "o-1", "items": [{"sku": "a"}, {"sku": "b"}]}, "a/b": 1, "m~n": 2, "~1": 3}
    assert value_at(document, path) == found


class Mute(Exception):
    """An error without a printable message."""

    def __str__(self) -> str:
        raise Mute


@pytest.mark.parametrize(
    ("error", "said", "account"),
    [
        (ValueError("boom"), "boom", "ValueError: boom"),
        (KeyboardInterrupt(), "", "KeyboardInterrupt"),
        (Mute(), "(it has no words that can be printed)", "Mute: (it has no words that can be printed)"),
        (ValueError("\ud800\0é"), "\\ud800\\x00é", "ValueError: \\ud800\\x00é"),
    ],
    ids=["plain", "empty", "mute", "no Unicode"],
)
def test_every_error_has_a_message_that_can_be_stored(error: BaseException, said: str, account: str) -> None:
    assert (message_of(error), account_of(error)) == (said, account)


def test_an_errors_message_is_bounded() -> None:
    assert len(message_of(ValueError("x" * 10**6))) == MOST_OF_A_MESSAGE


def test_the_leaves_of_a_group_are_its_errors_at_any_depth() -> None:
    one, two = ValueError(), KeyboardInterrupt()
    assert list(leaves(BaseExceptionGroup("", [one, BaseExceptionGroup("", [two])]))) == [one, two]
    assert list(leaves(one)) == [one]


def nested_lists(levels: int) -> Json:
    value: Json = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "is_kept"),
    [
        ({"a": None, "b": [1.5, 2**70, True, "é"]}, True),
        ([[None, 1]] * 1_000, True),
        (nested_lists(MOST_LEVELS), True),
        ([nested_lists(MOST_LEVELS - 1)] * 9, True),
        (nested_lists(MOST_LEVELS + 1), False),
        ([None, {"a": float("nan")}], False),
        ([float("inf")], False),
        ([[float("nan")]] * 1_000, False),
        ({"a": "\ud800"}, False),
        ({"\ud800": 1}, False),
        ([10**5000], False),
    ],
    ids=range(11),
)
def test_a_value_is_storable_if_it_is_flat_finite_and_unicode(value: Json, is_kept: bool) -> None:
    assert is_storable(value) is is_kept


PAD = "x" * 100_000


def test_a_large_object_is_copied_unchanged() -> None:
    given: JsonObject = {"pad": PAD, "list": [1, 1.0, True, None, 2**60, "é", {"a": []}]}
    copied = json_object("the data", given)
    assert compact(copied) == compact(given)
    assert copied["list"] is not given["list"]


@pytest.mark.parametrize(
    "strange",
    [float("nan"), datetime(2026, 1, 1, tzinfo=UTC), b"x", {1}, {1: 2}, Decimal("nan"), uuid.UUID(int=1), object()],
)
def test_a_value_outside_json_is_refused_in_large_data_too(strange: object) -> None:
    for pad in ("", PAD):
        with pytest.raises(LocalProtocolError, match="must be JSON"):
            json_object("the data", {"pad": pad, "strange": strange})


def test_a_decimal_is_written_as_its_digits_in_small_and_large_data() -> None:
    amount = Decimal("0.10000000000000000000000000001")
    for pad in ("", PAD):
        written = json_object("the data", {"pad": pad, "amount": amount, "lines": [{"price": Decimal("12.50")}]})
        assert written["amount"] == str(amount)
        assert written["lines"] == [{"price": "12.50"}]


def test_a_digest_is_over_the_digits_of_a_decimal() -> None:
    one, other = (json_object("the data", {"amount": Decimal(text)}) for text in ("12.5", "12.50"))
    assert digest(one) == digest({"amount": "12.5"}) != digest(other)


@given(documents)
def test_a_copy_is_equal_and_shares_no_container(value: Json) -> None:
    def containers(one: Json) -> Iterator[Json]:
        if isinstance(one, dict | list):
            yield one
            for inner in one.values() if isinstance(one, dict) else one:
                yield from containers(inner)

    copied = copy_json(value)
    assert compact(copied) == compact(value)
    assert not {*map(id, containers(copied))} & {*map(id, containers(value))}


@pytest.mark.parametrize("odd", [[float("inf")], {"a": (1, [2])}, {1: []}, ["\ud800"], [[10**5000]]])
def test_a_value_beyond_json_is_copied_unchanged(odd: Any) -> None:
    copied = copy_json(odd)
    assert copied == odd and copied is not odd


@pytest.mark.parametrize("odd", [2**70, (1, 2), "\ud800"])
def test_large_data_is_read_like_small_data(odd: object) -> None:
    def read(pad: str) -> object:
        try:
            return json_object("the data", {"pad": pad, "odd": odd})["odd"]
        except LocalProtocolError as error:
            return str(error)

    assert read(PAD) == read("")


def test_an_identity_is_that_of_its_object_and_not_of_an_equal_one() -> None:
    one, other = JsonObject(a=1), JsonObject(a=1)
    found = {identity_of(one): "one", identity_of(other): "other", identity_of(None): "nothing"}
    assert [found[identity_of(it)] for it in (one, other, None)] == ["one", "other", "nothing"]
    assert identity_of(one)() is one
    assert identity_of(None)() is None
