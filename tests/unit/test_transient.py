"""Errors that may be gone the next time are known by the names of their classes."""

import io
import shutil
import smtplib
import socket
import ssl
import urllib.error
from email.message import Message
from http.client import IncompleteRead, RemoteDisconnected

import httpx
import pytest

from soorma_ai.core.delivery.transient import may_pass


def of_a_library(*names: str) -> Exception:
    """An error of the last of these classes, each derived from the one before, as libraries that are not here have."""
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
def test_a_lost_connection_and_a_time_out_may_be_gone_the_next_time(error: Exception) -> None:
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
        urllib.error.HTTPError("https://a.test", 404, "not found", Message(), None),
        smtplib.SMTPAuthenticationError(535, b"no"),
        httpx.HTTPStatusError("404", request=REQUEST, response=httpx.Response(404)),
        httpx.UnsupportedProtocol("", request=REQUEST),
        httpx.TooManyRedirects("", request=REQUEST),
        of_a_library("requests.exceptions.RequestException", "requests.exceptions.HTTPError"),
        of_a_library("requests.exceptions.ConnectionError", "requests.exceptions.SSLError"),
        of_a_library("redis.exceptions.ConnectionError", "redis.exceptions.AuthenticationError"),
        of_a_library("mine.ConnectionError"),
        ExceptionGroup("one of them", [TimeoutError(), ValueError()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_final_is_not_tried_again_though_a_library_may_derive_it_from_what_is_not(error: Exception) -> None:
    assert not may_pass(error)
