"""AG-UI, the Agent User Interaction Protocol: `AgUiGateway` serves goals to user interfaces as runs. It needs the extra
`[ag-ui]`."""

from importlib import import_module
from typing import TYPE_CHECKING

from soorma_ai.errors import ConfigError

if TYPE_CHECKING:
    from soorma_ai.gateways.ag_ui.gateway import AgUiGateway

__all__ = ["AgUiGateway"]


def __getattr__(name: str) -> object:
    if name != "AgUiGateway":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.gateway"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("ag_ui", "starlette"):
            raise ConfigError(f"{name} needs ag-ui-protocol: pip install 'soorma-ai[ag-ui]'") from error
        raise
