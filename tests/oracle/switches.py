"""The product with one of its checks taken out. A run on it must fail; that is the test of the test."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from soorma_ai.core.deciding import judge as validate
from soorma_ai.runtime import flow

CHECKS = ("validation", "offer", "gate")


@contextmanager
def without(check: str | None) -> Generator[None]:
    """Every place that makes this check, and no other."""
    before = validate.CHECKS, validate.approval_needed, flow.validate
    match check:
        case "validation":
            validate.CHECKS = tuple(one for one in validate.CHECKS if one is not validate.must_fit)
            flow.validate = _nothing
        case "offer":
            validate.CHECKS = tuple(one for one in validate.CHECKS if one is not validate.must_be_offered)
        case "gate":
            validate.approval_needed = _no_approval
        case _:
            pass
    try:
        yield
    finally:
        validate.CHECKS, validate.approval_needed, flow.validate = before


async def _nothing(handling: Any) -> None:
    """Let everything out."""


def _no_approval(decision: Any, situation: Any) -> None:
    """Ask nobody."""
