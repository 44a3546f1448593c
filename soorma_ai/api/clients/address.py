"""Address of a server, with the caller's token."""

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.kernel.domain.values import clip

_WANTED = "give http://HOST:PORT or https://HOST, with the path where it is mounted, if it is"


@dataclass(frozen=True)
class Address:
    """Address of a server. `url` has no slash at its end. The token is left out of its `repr`."""

    url: str
    token: str | None = field(default=None, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        # A compressed answer may be small on its way and of any size here.
        headers = {"accept-encoding": "identity", "user-agent": "soorma-ai"}
        return headers if self.token is None else {**headers, "authorization": f"Bearer {self.token}"}


def address_of(url: object, token: object) -> Address:
    """Return the address. Raise ConfigError for an invalid URL, and for a token unfit for a header."""
    return Address(_checked_url(url), _checked_token(token))


class PathTail(str):
    """Last part of a path, with slashes allowed."""


def path_of(*parts: str) -> str:
    """Return the path of these parts, each kept as one: a name of dots has no effect. Raise NotFound for one with a
    slash, since servers read it as two."""
    return "/v1/" + "/".join(map(_quote, parts))


def _quote(part: str) -> str:
    if "/" in part and not isinstance(part, PathTail):
        raise NotFound(f"there is no {clip(part, 80)!r}: over HTTP, nothing that is named in a path has a slash")
    return quote(part, safe="") if part.strip(".") else part.replace(".", "%2E")


def _checked_url(url: object) -> str:
    if not isinstance(url, str):
        raise ConfigError(f"url is of type {type(url).__name__}: {_WANTED}")
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError as error:
        raise ConfigError(f"the URL of a server is wrong ({error}): {_WANTED}") from error
    if parts.username is not None or parts.password is not None:
        raise ConfigError("the URL of a server holds a user or a password: leave them out, and give token=")
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port:
        raise ConfigError(f"{url!r} is no URL of a server: {_WANTED}")
    if parts.query or parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigError(f"{url!r} is more than the URL of a server: {_WANTED}")
    return url.rstrip("/?#")


def _checked_token(token: object) -> str | None:
    """Return a valid token. Errors do not contain it, since they end up in logs."""
    if token is None:
        return None
    if not isinstance(token, str):
        raise ConfigError(f"token is of type {type(token).__name__}: give text")
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError("token=: a token is printable ASCII without spaces or line ends; this one has something else")
    return token
