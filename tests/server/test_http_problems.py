from datetime import timedelta

import pytest

from soorma_ai import errors
from soorma_ai.api.server.problems import internal, problem_of, status_of

TABLE = [
    (errors.NotFound("no plan 1"), 404, "not_found"),
    (errors.Unauthenticated("no token"), 401, "unauthenticated"),
    (errors.Forbidden("no operator"), 403, "forbidden"),
    (errors.LocalProtocolError("off its schema"), 422, "local_protocol"),
    (errors.InvalidResult("off its schema"), 422, "invalid_result"),
    (errors.RemoteProtocolError("no event"), 422, "remote_protocol"),
    (errors.IllegalTransition("has ended"), 409, "illegal_transition"),
    (errors.ConfigError("another content"), 409, "config"),
    (errors.LimitExceeded("max_actions", "20 of 20"), 409, "limit_exceeded"),
    (errors.PlanFailed("p", "no"), 409, "plan_failed"),
    (errors.PlanCancelled("p", "no"), 409, "plan_cancelled"),
    (errors.Held("pay", "w", "r"), 202, "held"),
    (errors.DeadlineExceeded("no reply"), 504, "deadline_exceeded"),
    (errors.Overloaded("too much"), 429, "overloaded"),
    (errors.RateLimited("too often"), 429, "rate_limited"),
    (errors.StoreUnavailable("full"), 503, "store_unavailable"),
    (errors.Outage("away"), 503, "outage"),
    (errors.VersionConflict("first"), 409, "version_conflict"),
    (errors.LeaseLost("first"), 409, "lease_lost"),
]


@pytest.mark.parametrize(("error", "status", "code"), TABLE, ids=lambda one: getattr(one, "code", None))
def test_an_error_is_a_problem_with_its_code(error: errors.SoormaError, status: int, code: str) -> None:
    told = problem_of(error)
    assert told is not None
    assert (told.status, told.code, told.type) == (status, code, f"urn:soorma:problem:{code}")
    assert told.detail == str(error)


@pytest.mark.parametrize("kind", [errors.SoormaError, errors.ModelRefused, errors.DecisionError, errors.OutcomeUnknown])
def test_an_internal_error_is_shown_by_an_id_only(kind: type[errors.SoormaError]) -> None:
    assert status_of(kind) == 500
    assert problem_of(kind("the password is swordfish")) is None
    assert internal("abc").error_id == "abc"


def test_a_transient_error_has_a_retry_after() -> None:
    told = problem_of(errors.Overloaded("too much", retry_after=timedelta(seconds=2.5)))
    assert told is not None
    assert (told.retry_after, told.headers["retry-after"]) == (2.5, "3")
    soon = problem_of(errors.StoreUnavailable("full"))
    assert soon is not None and soon.headers["retry-after"] == "1"


def test_a_problem_has_the_fields_of_its_error() -> None:
    held, limit = problem_of(errors.Held("pay", "w", "r")), problem_of(errors.LimitExceeded("max_actions", ""))
    failed, who = problem_of(errors.PlanFailed("p", "why")), problem_of(errors.Unauthenticated("no token"))
    assert held and (held.wait_id, held.request_id) == ("w", "r")
    assert limit and limit.limit == "max_actions"
    assert failed and (failed.plan_id, failed.reason) == ("p", "why")
    assert who and who.headers["www-authenticate"] == "Bearer"
