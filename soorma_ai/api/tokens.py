"""Tokens and their callers: API keys, `soorma_<key id>_<secret>`, with a hash of the secret in the store; claims of
tokens signed by others; and plain names, for a trusted way."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import sha256
from hmac import compare_digest
from typing import cast

from msgspec import Struct
from pydantic import ConfigDict, TypeAdapter

from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.identity import ApiKey, Caller, TokenSources
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import Authenticator, SourcedAuthenticator

PREFIX = "soorma"
LONGEST = 256
EMAIL = "email"


class KeyToken(Struct, frozen=True):
    """A token in its parts. Its representation tells no secret."""

    key_id: str
    secret: str

    def __repr__(self) -> str:
        return f"KeyToken({self.key_id!r})"

    def __str__(self) -> str:
        return f"{PREFIX}_{self.key_id}_{self.secret}"

    @property
    def secret_hash(self) -> str:
        return sha256(self.secret.encode()).hexdigest()


def parse_token(token: str) -> KeyToken | None:
    """Return the parts of an API key of ours; None for any other token."""
    prefix, _, rest = token.partition("_") if len(token) <= LONGEST and token.isascii() else ("", "", "")
    key_id, _, secret = rest.partition("_")
    return KeyToken(key_id, secret) if prefix == PREFIX and key_id and secret else None


def admit(token: KeyToken, key: ApiKey | None, now: datetime) -> Caller:
    """Return the caller of a token; `key` is the stored one of its id. Raise Unauthenticated, with no detail of the key
    for a wrong secret."""
    is_right = compare_digest(token.secret_hash, key.secret_hash if key else "")
    if key is None or not is_right:
        raise Unauthenticated("this API key is unknown: `soorma keys create` makes one")
    if key.revoked_at is not None:
        raise Unauthenticated(f"API key {key.key_id} was revoked at {key.revoked_at.isoformat(timespec='seconds')}")
    if key.expires_at is not None and now >= key.expires_at:
        raise Unauthenticated(f"API key {key.key_id} expired at {key.expires_at.isoformat(timespec='seconds')}")
    return key.caller


def sources_of(*authenticators: Authenticator) -> TokenSources:
    """Return the origins of the tokens of all authenticators."""
    found = [one.token_sources if isinstance(one, SourcedAuthenticator) else TokenSources() for one in authenticators]
    issuers = dict.fromkeys(issuer for one in found for issuer in one.issuers)
    return TokenSources((*issuers,), any(one.has_keys for one in found))


class ClaimNames(Struct, frozen=True):
    """Names of a signed token's claims for user, tenant and roles. `tenant_id` is everybody's tenant, for an issuer
    with only one; then there is no claim of it."""

    tenant: str = "tenant"
    roles: str = "roles"
    user: str = "sub"
    tenant_id: str = ""


def caller_of(claims: Mapping[str, object], names: ClaimNames) -> Caller:
    """Return the caller by the claims of a checked token: never the root. Roles are a list, or words in one text;
    without them there are none. Raise Unauthenticated for anything else."""
    tenant_id, user_id = names.tenant_id or _name(claims, names.tenant), _name(claims, names.user)
    if names.user == EMAIL and claims.get("email_verified") is not True:
        raise Unauthenticated("the token does not say that its issuer has verified the e-mail address")
    given = claims.get(names.roles, ())
    roles = given.split() if isinstance(given, str) else given
    if not isinstance(roles, list | tuple):
        raise Unauthenticated(f"the token's claim {names.roles!r} is no list of names")
    listed = cast("Sequence[object]", roles)
    if not all(isinstance(role, str) and role.isprintable() for role in listed):
        raise Unauthenticated(f"the token's claim {names.roles!r} is no list of names")
    return Caller(Person(tenant_id, user_id, frozenset(map(str, listed))))


def _name(claims: Mapping[str, object], claim: str) -> str:
    found = claims.get(claim)
    if not isinstance(found, str) or not 0 < len(found) <= LONGEST or not found.isprintable():
        raise Unauthenticated(f"the token's claim {claim!r} is no text of 1 to {LONGEST} printable characters")
    return found


@dataclass(frozen=True)
class PendingSignIn:
    """Sign-in of a browser in progress at a provider. The redirect back must have its `state`, the token its `nonce`,
    and the exchange of the code its `verifier`. Its `repr` shows no secret."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


def code_of(answered: Mapping[str, str], begun: PendingSignIn, issuer: str) -> str:
    """Return the code of a provider's redirect. Raise Unauthenticated for a sign-in of another browser, another
    provider, or a refusal; text of an address is never repeated as our own."""
    if not compare_digest(answered.get("state", "").encode(), begun.state.encode()):
        raise Unauthenticated("this sign-in was begun elsewhere, or is an old one: sign in again")
    if answered.get("iss", issuer) != issuer:
        raise Unauthenticated(f"this answer is of another provider than {issuer}: sign in again")
    if "error" in answered:
        raise Unauthenticated(_REFUSALS.get(answered["error"], "the provider refused, and did not say why"))
    if not answered.get("code"):
        raise Unauthenticated("the provider sent no code: sign in again")
    return answered["code"]


_REFUSALS: Mapping[str, str] = {
    "access_denied": "the provider did not let you in, or you said no: sign in again, or ask who runs it",
    "login_required": "the provider wants you to sign in there first",
    "unauthorized_client": "the provider does not know this console: its client id, or what it may do, is wrong",
    "invalid_scope": "the provider does not give what this console asks for: its scopes are wrong",
    "invalid_request": "the provider did not understand this console: the address to come back to may be unknown there",
    "server_error": "the provider failed: try again later",
    "temporarily_unavailable": "the provider has too much to do: try again later",
}


def name_token(person: Person) -> str:
    """Return a person's name as a token, for a way without proofs. Roles of None are all of them."""
    said = [person.tenant_id, person.user_id, None if person.roles is None else sorted(person.roles)]
    return urlsafe_b64encode(json.dumps(said).encode()).decode()


def read_name(token: str) -> Person:
    """Return the person of a token of `name_token`. Raise Unauthenticated for any other."""
    try:
        tenant_id, user_id, roles = _name_adapter().validate_json(urlsafe_b64decode(token.encode()))
    except ValueError as error:  # no base64, no JSON, or something else
        raise Unauthenticated("this token names nobody: it is the base64 of [tenant, user, roles or null]") from error
    return Person(tenant_id, user_id, None if roles is None else frozenset(roles))


@cache
def _name_adapter() -> TypeAdapter[tuple[str, str, list[str] | None]]:
    """Return the adapter, made on first use: settings load this module, and most programs read no name."""
    return TypeAdapter(tuple[str, str, list[str] | None], config=ConfigDict(strict=True))
