"""Errors of a call over MCP have the codes of the protocol."""

import pytest

from soorma_ai.errors import ConfigError, NotFound, SoormaError, StoreUnavailable

pytest.importorskip("mcp")

from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from soorma_ai.gateways.mcp.caller import as_mcp


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (NotFound("there is no plan p"), INVALID_PARAMS),
        (ConfigError("give a URL"), INVALID_PARAMS),
        (StoreUnavailable("the store is away"), INTERNAL_ERROR),
    ],
)
def test_a_fault_of_the_caller_is_told_from_one_that_passes(fault: SoormaError, code: int) -> None:
    with pytest.raises(MCPError) as told, as_mcp():
        raise fault
    assert (told.value.error.code, told.value.error.message) == (code, str(fault))


def test_a_bug_is_told_by_its_number_alone() -> None:
    with pytest.raises(MCPError) as told, as_mcp():
        raise ValueError("a secret")
    assert told.value.error.code == INTERNAL_ERROR
    assert "a secret" not in told.value.error.message
