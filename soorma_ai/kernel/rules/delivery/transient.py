"""Errors of the outside that may be gone the next time, known by their names: no client library is imported for it."""

from collections.abc import Iterator
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime

from msgspec import Struct

from soorma_ai.kernel.domain.values import leaves

# By the package whose class it is, at the top. Of the classes of an error the first that stands here decides, the most
# exact one first: many libraries derive what is final from what is not, or all of it from OSError.
_MAY_PASS = {
    "builtins": "OSError ConnectionError TimeoutError BlockingIOError InterruptedError",
    "socket": "gaierror herror",
    "ssl": "SSLError",
    "http": "BadStatusLine IncompleteRead",
    "urllib": "URLError ContentTooShortError",
    "smtplib": "SMTPServerDisconnected SMTPConnectError",
    "httpx": "TimeoutException NetworkError RemoteProtocolError ProxyError",
    "httpcore": "TimeoutException NetworkError RemoteProtocolError ProxyError ConnectionNotAvailable",
    "h11": "RemoteProtocolError",
    "aiohttp": "ClientConnectionError ClientPayloadError",
    "requests": "ConnectionError Timeout ChunkedEncodingError",
    "urllib3": "TimeoutError NewConnectionError ProtocolError ProxyError MaxRetryError IncompleteRead",
    "botocore": "ConnectionError HTTPClientError",
    "anyio": "BrokenResourceError EndOfStream",
    "websockets": "ConnectionClosed",
    "redis": "ConnectionError TimeoutError BusyLoadingError",
    "asyncpg": "PostgresConnectionError CannotConnectNowError TooManyConnectionsError AdminShutdownError",
    "psycopg": "OperationalError",
    "psycopg2": "OperationalError",
    "pymysql": "OperationalError",
    "sqlalchemy": "OperationalError DisconnectionError TimeoutError",
    "pymongo": "ConnectionFailure",
    "nats": "ConnectionClosedError NoServersError StaleConnectionError",
    "aiormq": "AMQPConnectionError",
    "pika": "AMQPConnectionError",
    "kafka": "KafkaConnectionError",
    "aiokafka": "KafkaConnectionError",
    "elastic_transport": "ConnectionError ConnectionTimeout",
    "openai": "APIConnectionError RateLimitError InternalServerError",
    "anthropic": "APIConnectionError RateLimitError InternalServerError",
}
_IS_FINAL = {
    "builtins": "FileNotFoundError FileExistsError IsADirectoryError NotADirectoryError PermissionError "
    "ProcessLookupError ChildProcessError",
    "io": "UnsupportedOperation",
    "shutil": "Error",
    "ssl": "SSLCertVerificationError",
    "smtplib": "SMTPException",
    "aiohttp": "ClientSSLError InvalidURL",
    "requests": "RequestException SSLError",
    "urllib3": "SSLError",
    "botocore": "SSLError",
    "redis": "AuthenticationError AuthorizationError",
}


def _names(table: dict[str, str]) -> Iterator[tuple[str, str]]:
    for package, names in table.items():
        yield from ((package, name) for name in names.split())


_KNOWN = dict.fromkeys(_names(_MAY_PASS), True) | dict.fromkeys(_names(_IS_FINAL), False)

# Errors that stand for the answer of a server: its status says whether they may pass.
_ANSWERS = {
    "httpx": "HTTPStatusError",
    "requests": "HTTPError",
    "aiohttp": "ClientResponseError",
    "urllib": "HTTPError",
    "botocore": "ClientError",
}
# Too much is asked of it now, or what stands behind it is away.
_LATER = (429, 502, 503, 504)
_LATER_CODES = ("RequestLimitExceeded", "SlowDown", "Throttling", "ThrottlingException", "TooManyRequestsException")

# For a server that asks for a longer pause: what waits counts as backlog.
_LONGEST_PAUSE = timedelta(days=1)


class _ServerAnswer(Struct, frozen=True):
    """Server's answer inside an error, of any form. `code` is a word beside the status."""

    status: object
    headers: object
    code: object = None

    @property
    def means_later(self) -> bool:
        return self.status in _LATER or self.code in _LATER_CODES

    @property
    def pause(self) -> timedelta | None:
        """The pause that `Retry-After` asks for: in seconds, or as a moment, counted from that of the answer."""
        asked = _header(self.headers, "retry-after")
        try:
            return timedelta(seconds=min(float(asked), _LONGEST_PAUSE.total_seconds()))
        except ValueError:
            return _span_between(_header(self.headers, "date"), asked)


def may_pass(error: BaseException) -> bool:
    """Tell whether the same may work next time; of several errors at once, whether that is so of all of them."""
    return all(_may_pass(one) for one in leaves(error))


def pause_asked(error: BaseException) -> timedelta | None:
    """Return how long servers ask to be left alone, at most a day; None where none does."""
    answers = (answer for one in leaves(error) if (answer := _answer_in(one)) and answer.means_later)
    pauses = [pause for answer in answers if (pause := answer.pause) is not None]
    return min(max(pauses), _LONGEST_PAUSE) if pauses else None


def _may_pass(error: BaseException) -> bool:
    if answer := _answer_in(error):
        return answer.means_later
    known = (_KNOWN.get(name) for name in _names_of(error))
    return next((verdict for verdict in known if verdict is not None), False)


def _names_of(error: BaseException) -> Iterator[tuple[str, str]]:
    return ((of.__module__.partition(".")[0], of.__name__) for of in type(error).__mro__)


def _answer_in(error: BaseException) -> _ServerAnswer | None:
    package = next((package for package, name in _names_of(error) if _ANSWERS.get(package) == name), None)
    response: object = getattr(error, "response", None)
    match package:
        case "httpx" | "requests":
            return _ServerAnswer(getattr(response, "status_code", None), getattr(response, "headers", None))
        case "aiohttp":
            return _ServerAnswer(getattr(error, "status", None), getattr(error, "headers", None))
        case "urllib":
            return _ServerAnswer(getattr(error, "code", None), getattr(error, "headers", None))
        case "botocore":
            about = _entry(response, "ResponseMetadata")
            code = _entry(_entry(response, "Error"), "Code")
            return _ServerAnswer(_entry(about, "HTTPStatusCode"), _entry(about, "HTTPHeaders"), code)
        case _:
            return None


def _entry(of: object, name: str) -> object:
    """Return the entry of this name in a library's container; None without one."""
    get: object = getattr(of, "get", None)
    return get(name) if callable(get) else None


def _header(headers: object, name: str) -> str:
    return str(_entry(headers, name) or "")


def _span_between(since: str, until: str) -> timedelta | None:
    try:
        begun, ended = (parsedate_to_datetime(one) for one in (since, until))
    except ValueError:
        return None
    return ended.replace(tzinfo=ended.tzinfo or UTC) - begun.replace(tzinfo=begun.tzinfo or UTC)
