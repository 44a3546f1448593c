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
    before = validate.CHECKS, validate.policy, flow.validate
    match check:
        case "validation":
            validate.CHECKS = tuple(one for one in validate.CHECKS if one is not validate.fits)
            flow.validate = _nothing
        case "offer":
            validate.CHECKS = tuple(one for one in validate.CHECKS if one is not validate.offered)
        case "gate":
            validate.policy = _no_approval
        case _:
            pass
    try:
        yield
    finally:
        validate.CHECKS, validate.policy, flow.validate = before


async def _nothing(handling: Any) -> None:
    """Let everything out."""


def _no_approval(decision: Any, situation: Any) -> None:
    """Ask nobody."""
