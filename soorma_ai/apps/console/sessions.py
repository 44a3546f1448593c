"""Sessions of browsers, sealed in cookies; and tokens that prove forms to be ours.

A session holds the token of its sign-in, or the person that a provider let in. Its id and its beginning are checked
against the store at each call, so that a session can be ended, and a copy of its cookie with it.
"""

import hmac
import json
import secrets
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from soorma_ai.api.tokens import PendingSignIn, name_token, read_name
from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.features.human_tasks.records import EVERYBODY, SESSION_LASTS, Link
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import Person
from soorma_ai.surfaces.secret import check_secret, derive_key

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

LONGEST_TOKEN = 2_800  # sealed, it fits into the 4 kB of a cookie
LONGEST_TARGET = 1_000
ID_BYTES = 12
SIGN_IN = timedelta(minutes=10)


class Session(Struct, frozen=True):
    """A session: the token of the sign-in, or the person of a provider."""

    session_id: str
    begun_at: datetime
    token: str | Caller

    def rights(self, person: Person) -> list[Link]:
        """Return the rights that have to stand for this session of a person: its own, that of all their sessions, and
        that of all sessions of the tenant."""
        names = ((self.session_id, person.user_id), ("", person.user_id), ("", EVERYBODY))
        begun, end = self.begun_at, self.begun_at + SESSION_LASTS
        return [Link("session", about, person.tenant_id, name, frozenset(), begun, end) for about, name in names]


class Sessions(Struct, frozen=True):
    """`secret` seals the tokens: with another one, everybody signs in again."""

    secret: str

    def __post_init__(self) -> None:
        check_secret(self.secret)

    def __repr__(self) -> str:
        return "Sessions()"

    @property
    def label(self) -> str:
        """Text that differs between servers, so that two on one host do not take each other's cookies."""
        return self._key("name").hex()[:8]

    def seal(self, token: str, now: datetime) -> str:
        """Return the value of a session cookie. Raise Unauthenticated for a token too long for one."""
        return self._seal_session("session", token, now)

    def seal_caller(self, caller: Caller, now: datetime) -> str:
        """Return the same for a person of a provider, without a token of ours. Raise Unauthenticated as `seal`."""
        return self._seal_session("person", name_token(caller.person), now)

    def open(self, sealed: str, now: datetime) -> Session:
        """Return a session. Raise Unauthenticated for one that is not ours, or is too old."""
        if not sealed:
            raise Unauthenticated("sign in first")
        for use in ("session", "person"):
            said = self._open(use, sealed, now, SESSION_LASTS)
            if said is not None:
                return _session(said, is_person=use == "person")
        raise Unauthenticated("the session has ended: sign in")

    def seal_sign_in(self, begun: PendingSignIn, target: str, now: datetime) -> str:
        """Return the value of the cookie of a sign-in in progress, with the wanted page."""
        said = [begun.state, begun.nonce, begun.verifier, target if len(target) <= LONGEST_TARGET else ""]
        return self._seal("sign-in", json.dumps(said), now)

    def open_sign_in(self, sealed: str, now: datetime) -> tuple[PendingSignIn, str]:
        """Return the sign-in in progress, and the wanted page. Raise Unauthenticated for a forged or an old
        cookie."""
        said = self._open("sign-in", sealed, now, SIGN_IN)
        if said is None:
            raise Unauthenticated("this sign-in was begun in another browser, is used up, or took too long: try again")
        state, nonce, verifier, target = json.loads(said)
        return PendingSignIn(state, nonce, verifier), target

    def seal_sign_out(self, state: str, now: datetime) -> str:
        """Return the value of the cookie of a sign-out in progress."""
        return self._seal("sign-out", state, now)

    def is_sign_out(self, sealed: str, state: str, now: datetime) -> bool:
        """Tell whether a browser comes back with the state with which it was sent away."""
        begun = self._open("sign-out", sealed, now, SIGN_IN)
        return bool(begun) and hmac.compare_digest(state.encode(), str(begun).encode())

    def form_token(self, visit: str, session: str) -> str:
        """Return the token of every form: it takes both cookies of this browser."""
        said = f"{visit}\n{session}".encode()
        return hmac.new(self._key("form"), said, sha256).hexdigest()

    def is_form_token(self, given: str, visit: str, session: str) -> bool:
        return bool(visit) and hmac.compare_digest(given.encode(), self.form_token(visit, session).encode())

    def _seal_session(self, use: str, token: str, now: datetime) -> str:
        if len(token) > LONGEST_TOKEN:
            raise Unauthenticated(f"the token is longer than the {LONGEST_TOKEN} characters that a session holds")
        # A second is too coarse: who signs in right after all sessions ended has a new one.
        said = [secrets.token_urlsafe(ID_BYTES), now.timestamp(), token]
        return self._seal(use, json.dumps(said, ensure_ascii=False), now)

    def _seal(self, use: str, text: str, now: datetime) -> str:
        return _fernet(self._key(use)).encrypt_at_time(text.encode(), _second(now)).decode()

    def _open(self, use: str, sealed: str, now: datetime, lasting: timedelta) -> str | None:
        return _unseal(_fernet(self._key(use)), sealed, now, lasting)

    def _key(self, use: str) -> bytes:
        return derive_key(self.secret, use)


def _session(said: str, *, is_person: bool) -> Session:
    try:
        session_id, begun, token = cast("tuple[str, float, str]", json.loads(said))
    except (TypeError, ValueError):  # sealed by a version whose sessions could not be ended
        raise Unauthenticated("the session has ended: sign in") from None
    caller = Caller(read_name(token)) if is_person else token
    return Session(session_id, datetime.fromtimestamp(begun, UTC), caller)


def _second(now: datetime) -> int:
    return int(now.timestamp())


def _fernet(key: bytes) -> "Fernet":
    try:
        from cryptography.fernet import Fernet
    except ImportError as error:
        raise ConfigError("to sign in needs cryptography: pip install 'soorma-ai[server]'") from error
    return Fernet(urlsafe_b64encode(key))


def _unseal(fernet: "Fernet", sealed: str, now: datetime, lasting: timedelta) -> str | None:
    from cryptography.fernet import InvalidToken

    try:
        return fernet.decrypt_at_time(sealed.encode(), int(lasting.total_seconds()), _second(now)).decode()
    except InvalidToken:
        return None
