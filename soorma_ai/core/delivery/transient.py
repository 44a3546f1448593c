"""Errors of the outside that may be gone the next time, known by their names: no client library is imported for it."""

from collections.abc import Iterator

from soorma_ai.domain.values import leaves

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
    "urllib": "HTTPError",
    "smtplib": "SMTPException",
    "aiohttp": "ClientSSLError InvalidURL",
    "requests": "RequestException SSLError",
    "urllib3": "SSLError",
    "botocore": "SSLError",
    "redis": "AuthenticationError AuthorizationError",
}


def _spelled(table: dict[str, str]) -> Iterator[tuple[str, str]]:
    for package, names in table.items():
        yield from ((package, name) for name in names.split())


_KNOWN = dict.fromkeys(_spelled(_MAY_PASS), True) | dict.fromkeys(_spelled(_IS_FINAL), False)


def may_pass(error: BaseException) -> bool:
    """Tell whether the same may work next time; of several errors at once, whether that is so of all of them."""
    return all(_may_pass(type(one)) for one in leaves(error))


def _may_pass(kind: type[BaseException]) -> bool:
    known = (_KNOWN.get((of.__module__.partition(".")[0], of.__name__)) for of in kind.__mro__)
    return next((verdict for verdict in known if verdict is not None), False)
