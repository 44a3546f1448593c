"""Confirmed tools of servers: a file for version control, reviewed like a lock file."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from soorma_ai.errors import ConfigError
from soorma_ai.gateways.mcp.tools import ServerTool
from soorma_ai.kernel.domain.values import message_of

TRUST_FILE = "mcp.trust.json"

Confirmed = dict[str, dict[str, ServerTool]]


def read_trust(path: Path) -> Confirmed:
    """Return the confirmed tools of each server; none for a missing file. Raise ConfigError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Confirmed)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"{path} is no list of confirmed tools ({message_of(error)}): restore it, or remove it and confirm again"
        ) from error


def write_trust(path: Path, server: str, tools: Iterable[ServerTool]) -> None:
    """Write the tools of a server as its confirmed ones, in one step."""
    confirmed: Mapping[str, dict[str, ServerTool]] = read_trust(path) | {server: {one.name: one for one in tools}}
    text = msgspec.json.format(msgspec.json.encode(confirmed, order="sorted"), indent=2)
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(text + b"\n")
    fresh.replace(path)
