"""The product without one of its checks. A run on it must fail; it is the test of the test."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from soorma_ai.kernel.rules.decisions import judge as validate
from soorma_ai.kernel.runtime import flow
from soorma_ai.kernel.runtime.planning import decide

CHECKS = ("validation", "offer", "gate", "shown")


@contextmanager
def without(check: str | None) -> Generator[None]:
    """Disable this check at every place, and no other."""
    before = validate.CHECKS, validate.approval_needed, flow.validate, decide.unseen_in
    match check:
        case "validation":
            validate.CHECKS = tuple(one for one in validate.CHECKS if one is not validate.must_fit)
            flow.validate = _nothing
        case "offer":
            validate.CHECKS = tuple(one for one in validate.CHECKS if one is not validate.must_be_offered)
        case "gate":
            validate.approval_needed = _no_approval
        case "shown":
            decide.unseen_in = _all_seen
        case _:
            pass
    try:
        yield
    finally:
        validate.CHECKS, validate.approval_needed, flow.validate, decide.unseen_in = before


async def _nothing(handling: Any) -> None:
    """Let every payload pass."""


def _no_approval(decision: Any, situation: Any) -> None:
    """Ask for no approval."""


def _all_seen(decision: Any, offer: Any, showing: Any) -> list[str]:
    """Take an event listed as a line for a shown one."""
    return []
