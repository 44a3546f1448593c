"""API keys and claims: accepted forms, and errors about the others."""

from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.api.tokens import (
    LONGEST,
    ClaimNames,
    KeyToken,
    PendingSignIn,
    admit,
    caller_of,
    code_of,
    name_token,
    parse_token,
    read_name,
)
from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.identity import AgentRights, ApiKey, Caller
from soorma_ai.kernel.domain.people import Person

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TOKEN = KeyToken("k1", "s3_cr-et")
RIGHTS = AgentRights("stock", frozenset({"stock.reserve"}))
KEY = ApiKey("k1", sha256(b"s3_cr-et").hexdigest(), "acme", "ann", NOW, frozenset({"cfo"}), RIGHTS)


def test_a_token_survives_a_round_trip_and_shows_no_secret() -> None:
    assert str(TOKEN) == "soorma_k1_s3_cr-et"
    assert parse_token(str(TOKEN)) == TOKEN
    assert "s3" not in repr(TOKEN)


@pytest.mark.parametrize(
    "text", ["", "soorma", "soorma_", "soorma_k1", "soorma_k1_", "soorma__s", "sk_k1_s", f"soorma_k1_{'x' * LONGEST}"]
)
def test_any_other_text_is_no_key(text: str) -> None:
    assert parse_token(text) is None


def test_a_key_stands_for_its_person_and_its_agent() -> None:
    assert admit(TOKEN, KEY, NOW) == Caller(Person("acme", "ann", frozenset({"cfo"})), RIGHTS, "k1")


@pytest.mark.parametrize(
    ("key", "at", "words"),
    [
        (None, NOW, "this API key is unknown"),
        (replace(KEY, secret_hash="00" * 32), NOW, "this API key is unknown"),
        (replace(KEY, secret_hash="00" * 32, revoked_at=NOW), NOW, "this API key is unknown"),
        (replace(KEY, secret_hash=""), NOW, "this API key is unknown"),
        (replace(KEY, revoked_at=NOW), NOW, r"API key k1 was revoked at 2030-01-01T00:00:00\+00:00"),
        (replace(KEY, expires_at=NOW), NOW, r"API key k1 expired at 2030-01-01T00:00:00\+00:00"),
        (replace(KEY, expires_at=NOW + timedelta(days=1)), NOW + timedelta(days=2), "expired"),
    ],
)
def test_the_reason_of_an_invalid_key_is_told_only_to_the_owner_of_its_secret(
    key: ApiKey | None, at: datetime, words: str
) -> None:
    with pytest.raises(Unauthenticated, match=words):
        admit(TOKEN, key, at)


def test_a_key_is_valid_until_its_end() -> None:
    assert admit(TOKEN, replace(KEY, expires_at=NOW), NOW - timedelta(microseconds=1)).key_id == "k1"


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({}, set()),
        ({"roles": []}, set()),
        ({"roles": ["cfo", "operator"]}, {"cfo", "operator"}),
        ({"roles": "cfo operator"}, {"cfo", "operator"}),
        ({"roles": ""}, set()),
    ],
)
def test_claims_give_tenant_user_and_roles_and_never_the_root(claims: dict[str, Any], roles: set[str]) -> None:
    caller = caller_of({"sub": "ann", "tenant": "acme", **claims}, ClaimNames())
    assert caller == Caller(Person("acme", "ann", frozenset(roles)))


def test_claims_may_have_other_names() -> None:
    names = ClaimNames(tenant="org", roles="https://acme.example/roles")
    claims = {"sub": "ann", "org": "acme", "tenant": "other", names.roles: ["cfo"], "roles": ["operator"]}
    assert caller_of(claims, names).person == Person("acme", "ann", frozenset({"cfo"}))


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"sub": ""}, "'sub' is no text"),
        ({"sub": 7}, "'sub' is no text"),
        ({"sub": "x" * 257}, "'sub' is no text of 1 to 256"),
        ({"tenant": None}, "'tenant' is no text"),
        ({"tenant": ["acme"]}, "'tenant' is no text"),
        ({"roles": None}, "'roles' is no list"),
        ({"roles": {"operator": True}}, "'roles' is no list"),
        ({"roles": ["cfo", 1]}, "'roles' is no list"),
    ],
)
def test_claims_of_another_shape_are_refused(claims: dict[str, Any], words: str) -> None:
    with pytest.raises(Unauthenticated, match=words):
        caller_of({"sub": "ann", "tenant": "acme", **claims}, ClaimNames())


@pytest.mark.parametrize("roles", [None, frozenset[str](), frozenset({"cfo", "boss"})])
@pytest.mark.parametrize("name", ["ann", "", "Zoë Ω", '"]'])
def test_a_name_token_survives_a_round_trip(name: str, roles: frozenset[str] | None) -> None:
    person = Person("acme", name, roles)
    assert read_name(name_token(person)) == person
    assert name_token(person).isascii() and name_token(person).isprintable()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "ann",
        "[]",
        "null",
        '["a"]',
        '["a", "b"]',
        '["a", "b", []',
        '["a", 7, null]',
        '["a", "b", "cfo"]',
        '["a", "b", [7]]',
        '["a", "b", null, null]',
        '{"a": "b"}',
        "\u00ff",
    ],
)
def test_any_other_text_is_no_name_token(said: str) -> None:
    for token in (said, urlsafe_b64encode(said.encode("latin-1")).decode()):
        with pytest.raises(Unauthenticated, match="names nobody"):
            read_name(token)


BEGUN = PendingSignIn("state", "nonce", "verifier")


def test_the_code_of_a_sign_in_comes_only_from_its_own_answer() -> None:
    answered = {"state": "state", "code": "c-1"}
    assert code_of(answered, BEGUN, "https://id") == code_of({**answered, "iss": "https://id"}, BEGUN, "https://id")
    assert code_of(answered, BEGUN, "https://id") == "c-1"


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        ({"code": "c-1"}, "begun elsewhere"),
        ({"state": "other", "code": "c-1"}, "begun elsewhere"),
        ({"state": "state", "code": "c-1", "iss": "https://evil"}, "another provider"),
        ({"state": "state", "error": "what?"}, "refused, and did not say why"),
        ({"state": "state"}, "sent no code"),
    ],
)
def test_an_invalid_answer_to_a_sign_in_is_refused(answered: dict[str, str], words: str) -> None:
    with pytest.raises(Unauthenticated, match=words):
        code_of(answered, BEGUN, "https://id")
