"""A model's answer to the question whether a condition holds."""

from soorma_ai.errors import MalformedDecision
from soorma_ai.kernel.domain.values import Json


def parse_holds(value: Json, fault: str) -> tuple[bool, str]:
    """Return whether it holds, and what is to be done about it. Raise MalformedDecision for anything else; `fault` is
    what kept the answer from being JSON, if any."""
    if not isinstance(value, dict):
        raise MalformedDecision(fault or "the answer is no JSON object")
    holds, detail = value.get("holds"), value.get("detail")
    if not isinstance(holds, bool):
        raise MalformedDecision(f"'holds' must be true or false, found {holds!r}")
    return holds, detail if isinstance(detail, str) else ""
