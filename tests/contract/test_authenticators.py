"""Authenticators: the person of a bearer token, refusals, and the refresh of keys."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from msgspec.structs import replace

from soorma_ai import Platform
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.tokens import ApiKeys, ByFunction, FirstOf, new_key
from soorma_ai.adapters.tokens.signed import LEAST_PAUSE, MOST_AGE, SignedTokens
from soorma_ai.api.tokens import ClaimNames
from soorma_ai.errors import ConfigError, TransientError, Unauthenticated
from soorma_ai.kernel.domain.identity import AgentRights, Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import Authenticator
from soorma_ai.testing.clock import VirtualClock

ANN = Caller(Person("acme", "ann", frozenset({"operator"})))
RSA, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
CURVE = ec.generate_private_key(ec.SECP256R1())


def jwk(key: Any, key_id: str, **more: str) -> dict[str, Any]:
    of = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**of.to_jwk(key.public_key(), as_dict=True), "kid": key_id, **more}


def make_token(key: Any = RSA, algorithm: str = "RS256", headers: dict[str, Any] | None = None, **claims: Any) -> str:
    """A token of ann; a claim of None is left out."""
    now = SystemClock().now()
    usual = {"iss": "https://id.example", "aud": "soorma", "sub": "ann", "tenant": "acme", "roles": ["operator"]}
    given = {**usual, "exp": now + timedelta(minutes=5), **claims}
    payload = {name: value for name, value in given.items() if value is not None}
    return jwt.encode(payload, key, algorithm, headers={"kid": "r1"} if headers is None else headers)


def issuer(file: Path, **options: Any) -> SignedTokens:
    given = {"issuer": "https://id.example", "audience": "soorma", **options}
    return SignedTokens(jwks_file=file, **given) if "jwks_url" not in options else SignedTokens(**given)


@pytest.fixture
def jwks(tmp_path: Path) -> Path:
    return write_keys(tmp_path / "jwks.json", jwk(RSA, "r1"), jwk(CURVE, "c1"))


def write_keys(file: Path, *keys: dict[str, Any]) -> Path:
    file.write_text(json.dumps({"keys": keys}))
    return file


@dataclass
class Case:
    authenticator: Authenticator
    token: str


async def by_api_key(platform: Platform, jwks: Path) -> Case:
    acme = platform.as_user(tenant_id="acme", user_id="root")
    acme.person = replace(acme.person, roles=None)
    key, token = new_key("acme", "ann", platform.services.clock.now(), roles={"operator"})
    await acme.keys.add(key)
    return Case(ApiKeys(platform), token)


async def by_signature(platform: Platform, jwks: Path) -> Case:
    return Case(issuer(jwks), make_token())


async def by_function(platform: Platform, jwks: Path) -> Case:
    return Case(ByFunction(lambda token: ANN if token == "ann's" else None), "ann's")


async def by_coroutine(platform: Platform, jwks: Path) -> Case:
    async def find(token: str) -> Caller | None:
        return ANN if token == "ann's" else None

    return Case(ByFunction(find), "ann's")


async def by_several(platform: Platform, jwks: Path) -> Case:
    first, second = await by_api_key(platform, jwks), await by_signature(platform, jwks)
    return Case(FirstOf(first.authenticator, second.authenticator), second.token)


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    async with Platform("sqlite://", clock=VirtualClock()) as opened:
        yield opened


@pytest.fixture(params=[by_api_key, by_signature, by_function, by_coroutine, by_several])
async def case(request: pytest.FixtureRequest, platform: Platform, jwks: Path) -> Case:
    make: Callable[[Platform, Path], Awaitable[Case]] = request.param
    return await make(platform, jwks)


async def test_a_token_stands_for_its_person(case: Case) -> None:
    assert (await case.authenticator.authenticate(case.token)).person == ANN.person


@pytest.mark.parametrize(
    "change",
    [
        lambda token: "",
        lambda token: token[:-3],
        lambda token: token + "x",
        lambda token: token.swapcase(),
        lambda token: "soorma_0_0",
        lambda token: "x.y.z",
        lambda token: "é" * 99,
        lambda token: "\ud800",
        lambda token: "soorma_0_\ud800",
        lambda token: "x" * 10**6,
    ],
)
async def test_anything_else_is_unauthenticated(case: Case, change: Callable[[str], str]) -> None:
    with pytest.raises(Unauthenticated) as told:
        await case.authenticator.authenticate(change(case.token))
    assert case.token[-20:] not in str(told.value) or len(case.token) < 20


# API keys


async def test_a_revoked_or_expired_key_stops_with_the_next_call(platform: Platform) -> None:
    now, keys = platform.services.clock.now(), ApiKeys(platform)
    rights = AgentRights("stock", frozenset({"a"}), frozenset({"b"}))
    revoked, token = new_key("default", "ann", now, agent=rights)
    over, old = new_key("default", "ann", now, expires_at=now)
    for key in (revoked, over):
        await platform.keys.add(key)
    assert await keys.authenticate(token) == Caller(Person("default", "ann", frozenset()), rights, revoked.key_id)
    assert await platform.keys.revoke(revoked.key_id) is True
    for one, words in ((token, "was revoked"), (old, "expired")):
        with pytest.raises(Unauthenticated, match=words):
            await keys.authenticate(one)


def test_no_two_keys_are_alike_and_none_holds_its_secret() -> None:
    made = [new_key("acme", "ann", SystemClock().now()) for _ in range(99)]
    assert len({key.key_id for key, _ in made}) == len({token for _, token in made}) == 99
    for key, token in made:
        secret = token.split("_", 2)[2]
        assert secret not in repr(key)
        assert len(secret) >= 43


# Signed tokens


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_token(exp=datetime(2020, 1, 1)), "expired"),  # noqa: DTZ001
        (lambda: make_token(exp=None), "exp"),
        (lambda: make_token(iss=None), "iss"),
        (lambda: make_token(aud=None), "aud"),
        (lambda: make_token(sub=None), "sub"),
        (lambda: make_token(iss="https://evil.example"), "[Ii]ssuer"),
        (lambda: make_token(aud="others"), "[Aa]udience"),
        (lambda: make_token(nbf=SystemClock().now() + timedelta(hours=1)), "not yet valid"),
        (lambda: make_token(OTHER), "[Ss]ignature"),
        (lambda: make_token(headers={"kid": "nobody's"}), "names no key"),
        (lambda: make_token(headers={}), "names no key"),
        (lambda: make_token("a secret of thirty-two characters", "HS256"), "alg"),
        (lambda: make_token(None, "none"), "alg"),
        (lambda: make_token(RSA, "RS512"), "alg"),
        (lambda: make_token(tenant=None), "'tenant' is no text"),
        (lambda: make_token(roles=7), "'roles' is no list"),
    ],
)
async def test_a_token_not_issued_for_this_platform_and_time_is_refused(
    jwks: Path, make: Callable[[], str], words: str
) -> None:
    with pytest.raises(Unauthenticated, match=words):
        await issuer(jwks, algorithms=["RS256", "ES256"]).authenticate(make())


async def test_the_public_key_is_no_secret_to_sign_with(jwks: Path) -> None:
    """The oldest trick: the published key given as the secret of an algorithm that has one."""
    from base64 import urlsafe_b64encode
    from hashlib import sha256
    from hmac import new

    def part(value: Any) -> str:
        return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = jwt.decode(make_token(), options={"verify_signature": False})
    body = f"{part({'alg': 'HS256', 'kid': 'r1'})}.{part(claims)}"
    secret = json.dumps(jwk(RSA, "r1")).encode()
    forged = f"{body}.{urlsafe_b64encode(new(secret, body.encode(), sha256).digest()).rstrip(b'=').decode()}"
    with pytest.raises(Unauthenticated, match="alg"):
        await issuer(jwks).authenticate(forged)


async def test_keys_of_other_uses_and_secrets_are_no_keys(tmp_path: Path) -> None:
    secret = {"kty": "oct", "kid": "r1", "k": "c2VjcmV0"}
    file = write_keys(tmp_path / "jwks.json", secret, jwk(RSA, "enc", use="enc"), {"kty": "?"}, jwk(CURVE, "c1"))
    found = issuer(file)
    for headers in ({"kid": "r1"}, {"kid": "enc"}):
        with pytest.raises(Unauthenticated, match="names no key"):
            await found.authenticate(make_token(headers=headers))
    assert (await found.authenticate(make_token(CURVE, "ES256", {"kid": "c1"}))).person == ANN.person
    assert (await found.authenticate(make_token(CURVE, "ES256", {}))).person == ANN.person, "the only key"


async def test_claims_are_read_by_the_given_names(jwks: Path) -> None:
    found = issuer(jwks, names=ClaimNames("org", "groups"))
    token = make_token(org="other", groups="cfo boss")
    assert (await found.authenticate(token)).person == Person("other", "ann", frozenset({"cfo", "boss"}))


async def test_a_clock_may_be_wrong_by_the_leeway(jwks: Path) -> None:
    late = make_token(exp=SystemClock().now() - timedelta(seconds=20))
    assert (await issuer(jwks).authenticate(late)).person == ANN.person
    with pytest.raises(Unauthenticated, match="expired"):
        await issuer(jwks, leeway=timedelta(0)).authenticate(late)


@dataclass
class Issuer:
    """An issuer: serves keys by HTTP on loopback, and counts its requests."""

    url: str = ""
    body: bytes = b"{}"
    status: str = "200 OK"
    asked: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        head = f"HTTP/1.1 {self.status}\r\nConnection: close\r\nContent-Length: {len(self.body)}\r\n\r\n"
        writer.write(head.encode() + self.body)
        await writer.drain()
        writer.close()

    def publish(self, *keys: dict[str, Any]) -> None:
        self.body = json.dumps({"keys": keys}).encode()


@pytest.fixture
async def publisher() -> AsyncIterator[Issuer]:
    made = Issuer()
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/jwks.json"
    async with server:
        yield made


async def test_an_unknown_key_is_looked_for_at_most_once_in_a_while(publisher: Issuer) -> None:
    clock = VirtualClock()
    found = issuer(Path(), jwks_url=publisher.url, clock=clock)
    publisher.publish(jwk(RSA, "r1"))
    await asyncio.gather(*(found.authenticate(make_token()) for _ in range(20)))
    assert publisher.asked == 1
    publisher.publish(jwk(RSA, "r1"), jwk(OTHER, "r2"))
    new = make_token(OTHER, headers={"kid": "r2"})
    for _ in range(20):
        with pytest.raises(Unauthenticated, match="names no key"):
            await found.authenticate(new)
    assert publisher.asked == 1
    await clock.advance(LEAST_PAUSE)
    assert [one.person for one in await asyncio.gather(*(found.authenticate(new) for _ in range(20)))] == [
        ANN.person
    ] * 20
    assert publisher.asked == 2


async def test_a_key_withdrawn_by_its_issuer_stops(publisher: Issuer) -> None:
    clock = VirtualClock()
    found = issuer(Path(), jwks_url=publisher.url, clock=clock)
    publisher.publish(jwk(RSA, "r1"), jwk(OTHER, "r2"))
    await found.authenticate(make_token())
    publisher.publish(jwk(OTHER, "r2"))
    await clock.advance(MOST_AGE)
    with pytest.raises(Unauthenticated, match="names no key"):
        await found.authenticate(make_token())


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"keys": 7}', b" " * (2**20 + 1)])
async def test_an_issuer_without_keys_is_unavailable_and_its_earlier_keys_stay(publisher: Issuer, body: bytes) -> None:
    clock = VirtualClock()
    found = issuer(Path(), jwks_url=publisher.url, clock=clock)
    publisher.body = body
    for _ in range(9):
        with pytest.raises(TransientError, match="cannot be read now"):
            await found.authenticate(make_token())
    assert publisher.asked == 1
    publisher.publish(jwk(RSA, "r1"))
    await clock.advance(LEAST_PAUSE)
    await found.authenticate(make_token())
    publisher.body, publisher.status = body, "500 No"
    await clock.advance(MOST_AGE)
    assert (await found.authenticate(make_token())).person == ANN.person


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SignedTokens(issuer="i", audience="a"), "give one of jwks_url and jwks_file"),
        (lambda: SignedTokens(issuer="i", audience="a", jwks_url="http://id.example/keys"), "give https://"),
        (lambda: SignedTokens(issuer="i", audience="a", jwks_file=Path("x"), algorithms=["HS256"]), "HS256"),
        (lambda: SignedTokens(issuer="i", audience="a", jwks_file=Path("x"), algorithms=[]), "none"),
        (FirstOf, "give one authenticator or more"),
    ],
)
def test_an_unsafe_set_up_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()


@pytest.mark.parametrize("found", [7, Person("acme", "ann"), Caller(Person("acme", "ann"))])
async def test_a_function_must_return_a_caller_with_roles(found: Any) -> None:
    with pytest.raises(ConfigError, match="a Caller is wanted, with roles"):
        await ByFunction(lambda token: found).authenticate("x")


async def test_several_authenticators_name_the_reason_of_each_refusal(platform: Platform, jwks: Path) -> None:
    with pytest.raises(Unauthenticated, match=r"this is no API key.*; the token is not valid"):
        await FirstOf(ApiKeys(platform), issuer(jwks)).authenticate("x.y.z")
