import json
from datetime import timedelta
from typing import Any

import pytest

from soorma_ai.api.clients.messages import HttpResponse, get
from soorma_ai.api.clients.problems import PROBLEM, error_of, problem_in
from soorma_ai.api.server.problems import STATUS, problem_of
from soorma_ai.errors import (
    ConfigError,
    Forbidden,
    Held,
    IllegalTransition,
    LimitExceeded,
    LocalProtocolError,
    NotFound,
    Overloaded,
    RemoteProtocolError,
    ServerUnavailable,
    SoormaError,
    StoreUnavailable,
    TransientError,
    Unauthenticated,
    VersionConflict,
)

URL = "http://localhost:8700"


def error_from(status: int, body: bytes, kind: str, **headers: str) -> SoormaError:
    return error_of(HttpResponse(status, {"content-type": kind, **headers}, body), get("plans"), URL)


def of_problem(status: int, **fields: Any) -> SoormaError:
    return error_from(status, json.dumps({"detail": "said", **fields}).encode(), PROBLEM)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "not_found", NotFound),
        (401, "unauthenticated", Unauthenticated),
        (403, "forbidden", Forbidden),
        (409, "illegal_transition", IllegalTransition),
        (409, "version_conflict", VersionConflict),
        (409, "config", ConfigError),
        (422, "local_protocol", LocalProtocolError),
        (422, "invalid", LocalProtocolError),
        (413, "content_too_large", LocalProtocolError),
        (415, "unsupported_media_type", LocalProtocolError),
        (405, "method_not_allowed", LocalProtocolError),
        (408, "request_timeout", ServerUnavailable),
        (503, "not_ready", ServerUnavailable),
        (503, "store_unavailable", StoreUnavailable),
        (500, "internal", SoormaError),
        (418, "of_a_newer_version", LocalProtocolError),
        (404, "of_a_newer_version", NotFound),
        (503, "of_a_newer_version", ServerUnavailable),
        (500, "of_a_newer_version", SoormaError),
    ],
)
def test_a_problem_becomes_the_error_class_of_its_code(status: int, code: str, kind: type[SoormaError]) -> None:
    error = of_problem(status, code=code)
    assert (type(error), str(error)) == (kind, "said")


@pytest.mark.parametrize(
    "error",
    [
        Overloaded("too much", retry_after=timedelta(seconds=7)),
        LimitExceeded("max_actions", "20"),
        Held("order.placed", "wait-1", "request-1"),
        NotFound("none"),
    ],
)
def test_an_error_survives_its_trip_through_a_problem_document(error: SoormaError) -> None:
    told = problem_of(error)
    assert told is not None
    here = error_from(told.status, told.to_json(), PROBLEM)
    assert (type(here), str(here), vars(here)) == (type(error), str(error), vars(error))


def test_every_error_class_with_a_status_comes_back() -> None:
    for kind in STATUS:
        if kind is not SoormaError:
            assert type(of_problem(STATUS[kind], code=kind.code)) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, Unauthenticated),
        (403, Forbidden),
        (429, Overloaded),
        (502, ServerUnavailable),
        (503, ServerUnavailable),
        (504, ServerUnavailable),
        (500, RemoteProtocolError),
        (404, RemoteProtocolError),
        (200, RemoteProtocolError),
    ],
)
def test_an_unknown_error_answer_is_reported_with_its_status_and_a_short_excerpt(
    status: int, kind: type[SoormaError]
) -> None:
    error = error_from(status, b"<html>\n<b>" + b"x" * 100_000, "text/html; charset=utf-8", **{"retry-after": "7"})
    assert type(error) is kind
    assert URL in str(error) and f"{status} and text/html" in str(error) and len(str(error)) < 500
    assert not isinstance(error, TransientError) or error.retry_after == timedelta(seconds=7)


@pytest.mark.parametrize("said", ["", "soon", "-1", "9" * 30, "Wed, 21 Oct 2026 07:28:00 GMT", "\u0667"])
def test_a_retry_after_without_a_valid_number_is_ignored(said: str) -> None:
    error = error_from(503, b"", "text/plain", **{"retry-after": said})
    assert isinstance(error, ServerUnavailable) and error.retry_after is None


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"code": 7, "detail": "x"}', b'{"code": "not_found"}', b"[" * 9_999]
)
def test_a_problem_document_without_code_or_detail_is_none(body: bytes) -> None:
    assert problem_in(HttpResponse(404, {"content-type": PROBLEM}, body)) is None


def test_a_redirect_is_reported_and_not_followed() -> None:
    error = error_from(307, b"", "text/html", location="http://evil.example/" + "x" * 1_000)
    assert type(error) is RemoteProtocolError
    assert "http://evil.example/" in str(error) and len(str(error)) < 500
