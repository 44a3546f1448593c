"""Secret of the pages: kept beside the store's file, so that sessions outlive a restart. Keys are derived from it."""

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from soorma_ai.errors import ConfigError

SUFFIX = ".console"
BYTES = 32
SHORTEST_SECRET = 32


def secret_of_store(store: Path | None) -> str:
    """Return the secret beside the file of a store, made at first; of a store in memory, a new one.

    Raise ConfigError where it can be neither read nor made.
    """
    if store is None:
        return secrets.token_urlsafe(BYTES)
    path = store.with_name(f"{store.name}{SUFFIX}")
    try:
        _make(path)
        path.chmod(0o600)
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read or made: {error}; give the console a secret= instead") from error


def check_secret(secret: str) -> None:
    """Raise ConfigError for too short a secret."""
    if len(secret) < SHORTEST_SECRET:
        raise ConfigError(f"the secret of the console has {len(secret)} characters; {SHORTEST_SECRET} are the least")


def derive_key(secret: str, use: str) -> bytes:
    return hmac.new(secret.encode(), f"console {use}".encode(), sha256).digest()


def link_secret(secret: str) -> str:
    """Return the signing secret of links. Raise ConfigError for too short a secret."""
    check_secret(secret)
    return derive_key(secret, "link").hex()


def _make(path: Path) -> None:
    """Write a new secret where there is none, whole or not at all: of two processes at once, one wins."""
    if path.exists():
        return
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(BYTES))
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        partial.unlink()
