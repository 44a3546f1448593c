"""Transient errors are recognised by the names of their classes, a server's answer by its status."""

import io
import shutil
import smtplib
import socket
import ssl
import urllib.error
from collections.abc import Callable
from datetime import timedelta
from email.message import Message
from http.client import IncompleteRead, RemoteDisconnected
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from soorma_ai.kernel.rules.delivery.transient import may_pass, pause_asked


def of_a_library(*names: str) -> Exception:
    """An error of the last of these classes, each derived from the one before, like those of absent libraries."""
    kind: type[Exception] = Exception
    for name in names:
        module, _, own = name.rpartition(".")
        kind = type(own, (kind,), {"__module__": module})
    return kind("lost")


REQUEST = httpx.Request("GET", "https://a.test")


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError("gone"),
        BrokenPipeError(),
        TimeoutError(),
        OSError("something about the network"),
        socket.gaierror(-3, "temporary failure in name resolution"),
        ssl.SSLEOFError(),
        RemoteDisconnected(),
        IncompleteRead(b""),
        urllib.error.URLError("refused"),
        smtplib.SMTPServerDisconnected(),
        httpx.ReadError("", request=REQUEST),
        httpx.ConnectTimeout("", request=REQUEST),
        httpx.RemoteProtocolError("", request=REQUEST),
        of_a_library("httpcore._exceptions.NetworkError", "httpcore._exceptions.ReadError"),
        of_a_library("aiohttp.client_exceptions.ClientConnectionError", "aiohttp.ServerDisconnectedError"),
        of_a_library("requests.exceptions.RequestException", "requests.exceptions.ConnectionError"),
        of_a_library("requests.exceptions.RequestException", "requests.exceptions.Timeout", "mine.Slow"),
        of_a_library("urllib3.exceptions.HTTPError", "urllib3.exceptions.MaxRetryError"),
        of_a_library("botocore.exceptions.HTTPClientError", "botocore.exceptions.ReadTimeoutError"),
        of_a_library("redis.exceptions.RedisError", "redis.exceptions.ConnectionError"),
        of_a_library("asyncpg.exceptions.PostgresConnectionError", "asyncpg.exceptions.ConnectionDoesNotExistError"),
        of_a_library("psycopg.Error", "psycopg.OperationalError", "psycopg.errors.AdminShutdown"),
        of_a_library("sqlalchemy.exc.DBAPIError", "sqlalchemy.exc.OperationalError"),
        of_a_library("pymongo.errors.ConnectionFailure", "pymongo.errors.AutoReconnect"),
        of_a_library("openai.APIConnectionError", "openai.APITimeoutError"),
        ExceptionGroup("both", [TimeoutError(), ExceptionGroup("in it", [ConnectionError()])]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lost_connection_and_a_timeout_are_transient(error: Exception) -> None:
    assert may_pass(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("boom"),
        KeyError("x"),
        FileNotFoundError("notes.txt"),
        PermissionError(),
        IsADirectoryError(),
        io.UnsupportedOperation(),
        shutil.SameFileError(),
        ssl.SSLCertVerificationError(),
        smtplib.SMTPAuthenticationError(535, b"no"),
        httpx.UnsupportedProtocol("", request=REQUEST),
        httpx.TooManyRedirects("", request=REQUEST),
        of_a_library("requests.exceptions.RequestException", "requests.exceptions.HTTPError"),
        of_a_library("aiohttp.client_exceptions.ClientResponseError"),
        of_a_library("botocore.exceptions.ClientError"),
        of_a_library("requests.exceptions.ConnectionError", "requests.exceptions.SSLError"),
        of_a_library("redis.exceptions.ConnectionError", "redis.exceptions.AuthenticationError"),
        of_a_library("mine.ConnectionError"),
        ExceptionGroup("one of them", [TimeoutError(), ValueError()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_final_error_is_not_transient_even_with_a_transient_base_class(error: Exception) -> None:
    assert not may_pass(error)


def of_httpx(status: int, headers: dict[str, str]) -> Exception:
    response = httpx.Response(status, headers=headers)
    return httpx.HTTPStatusError("no", request=REQUEST, response=response)


def of_requests(status: int, headers: dict[str, str]) -> Exception:
    error: Any = of_a_library("builtins.OSError", "requests.RequestException", "requests.HTTPError", "mine.Refused")
    error.response = SimpleNamespace(status_code=status, headers=httpx.Headers(headers))
    return error


def of_aiohttp(status: int, headers: dict[str, str]) -> Exception:
    error: Any = of_a_library("aiohttp.ClientError", "aiohttp.ClientResponseError")
    error.status, error.headers = status, httpx.Headers(headers)
    return error


def of_urllib(status: int, headers: dict[str, str]) -> Exception:
    message = Message()
    for name, value in headers.items():
        message[name] = value
    return urllib.error.HTTPError("https://a.test", status, "no", message, None)


def of_botocore(status: int, headers: dict[str, str], code: str = "") -> Exception:
    error: Any = of_a_library("botocore.exceptions.ClientError", "botocore.errorfactory.Refused")
    about = {"HTTPStatusCode": status, "HTTPHeaders": {name.lower(): value for name, value in headers.items()}}
    error.response = {"Error": {"Code": code}, "ResponseMetadata": about}
    return error


LIBRARIES = pytest.mark.parametrize("of", [of_httpx, of_requests, of_aiohttp, of_urllib, of_botocore])


@LIBRARIES
@pytest.mark.parametrize(
    ("status", "passes"),
    [(429, True), (502, True), (503, True), (504, True), (400, False), (404, False), (409, False), (500, False)],
)
def test_an_answer_with_a_transient_status_is_transient(
    of: Callable[[int, dict[str, str]], Exception], status: int, passes: bool
) -> None:
    error = of(status, {"Retry-After": "7"})
    assert may_pass(error) is passes
    assert pause_asked(error) == (timedelta(seconds=7) if passes else None)
    assert may_pass(ExceptionGroup("two", [error, TimeoutError()])) is passes


@pytest.mark.parametrize(
    ("given", "date", "pause"),
    [
        ("", "", None),
        ("soon", "", None),
        ("nan", "", None),
        ("1e400", "", timedelta(days=1)),
        ("99999999", "", timedelta(days=1)),
        ("1.5", "", timedelta(seconds=1.5)),
        ("Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:27:30 GMT", timedelta(seconds=30)),
        ("Wed, 21 Oct 2026 07:28:00 -0000", "Wed, 21 Oct 2026 07:27:30 GMT", timedelta(seconds=30)),
        ("Wed, 21 Oct 2026 07:28:00 GMT", "", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", "yesterday", None),
    ],
)
def test_a_retry_after_is_kept_up_to_a_day(given: str, date: str, pause: timedelta | None) -> None:
    assert pause_asked(of_httpx(503, {"Retry-After": given, "Date": date})) == pause


def test_of_several_pauses_the_longest_counts() -> None:
    both = ExceptionGroup("two", [of_httpx(503, {"Retry-After": "7"}), of_urllib(429, {"Retry-After": "9"})])
    assert pause_asked(both) == timedelta(seconds=9)


def test_an_answer_with_a_throttling_code_is_transient() -> None:
    assert may_pass(of_botocore(400, {}, "ThrottlingException"))
    assert not may_pass(of_botocore(400, {}, "ValidationException"))
