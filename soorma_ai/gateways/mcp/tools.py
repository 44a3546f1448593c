"""Tools of a server, and their rules: pure. A server is a stranger, its words and schemas are untrusted."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.doubts import OutsideEffects
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, check_schema
from soorma_ai.kernel.domain.values import JsonObject, clip, compact, digest, is_storable

MOST_TOOLS = 200
MOST_SCHEMA_BYTES = 64 * 1024
LONGEST_DESCRIPTION = 500
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ServerTool(Struct, frozen=True, omit_defaults=True):
    """Tool as its server lists it, with the effects of its annotations. The defaults are those of the protocol."""

    name: str
    description: str = ""
    input_schema: JsonObject = {}
    output_schema: JsonObject | None = None
    is_read_only: bool = False
    is_destructive: bool = True
    is_idempotent: bool = False

    @property
    def digest(self) -> str:
        """Return the digest of all parts, the description included."""
        return digest(
            {
                "name": self.name,
                "description": self.description,
                "input_schema": self.input_schema,
                "output_schema": self.output_schema,
                "hints": [self.is_read_only, self.is_destructive, self.is_idempotent],
            }
        )

    @property
    def fault(self) -> str | None:
        """Return the reason for which no event can carry it."""
        if not _NAME.fullmatch(self.name):
            return f"its name {clip(repr(self.name), 80)} is no name of an event"
        for schema in (self.input_schema, self.output_schema or {}):
            if not is_storable(schema):
                return "a schema of it is too deep, or no JSON"
            if len(compact(schema)) > MOST_SCHEMA_BYTES:
                return f"a schema of it has more than {MOST_SCHEMA_BYTES} bytes"
            try:
                check_schema(schema)
            except ConfigError as error:
                return clip(str(error), 300)
        return None


class Standing(StrEnum):
    """Standing of a tool with the owner."""

    CONFIRMED = "confirmed"
    NEW = "new"
    CHANGED = "changed"


class Offer(Struct, frozen=True):
    """Tool as a request here: its effects, and its gate."""

    tool: ServerTool
    standing: Standing
    effects: OutsideEffects
    needs_approval: bool

    def definition(self, prefix: str) -> EventDefinition:
        return EventDefinition(
            event_name=f"{prefix}.{self.tool.name}",
            description=clip(" ".join(self.tool.description.split()), LONGEST_DESCRIPTION),
            payload_schema=self.tool.input_schema or ANY_OBJECT,
            response_schema=self.tool.output_schema,
        )


def standing_of(tool: ServerTool, confirmed: Mapping[str, ServerTool]) -> Standing:
    known = confirmed.get(tool.name)
    if known is None:
        return Standing.NEW
    return Standing.CONFIRMED if known.digest == tool.digest else Standing.CHANGED


def offer_of(tool: ServerTool, confirmed: Mapping[str, ServerTool]) -> Offer | None:
    """Return the offer of a tool; None for a changed one, which is withheld until its confirmation.

    A new tool asks for approval. Confirmed annotations count: a read-only tool has no gate, a destructive one has.
    """
    standing = standing_of(tool, confirmed)
    if standing is Standing.CHANGED:
        return None
    if tool.is_read_only:
        return Offer(tool, standing, OutsideEffects.PURE, needs_approval=standing is Standing.NEW)
    if standing is Standing.NEW:
        return Offer(tool, standing, OutsideEffects.AT_MOST_ONCE, needs_approval=True)
    effects = OutsideEffects.KEYED if tool.is_idempotent else OutsideEffects.AT_MOST_ONCE
    return Offer(tool, standing, effects, needs_approval=tool.is_destructive)


class ToolList(Struct, frozen=True):
    """Tools of a server by use: offered, withheld for a change, and refused with the fault."""

    offered: tuple[Offer, ...] = ()
    changed: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


def sort_tools(listed: Iterable[ServerTool], confirmed: Mapping[str, ServerTool]) -> ToolList:
    """Sort the tools of a list. Of two tools with one name, both are refused: a call could mean either."""
    tools = list(listed)
    names = [tool.name for tool in tools]
    offered: list[Offer] = []
    changed: list[str] = []
    refused: list[tuple[str, str]] = []
    for number, tool in enumerate(tools):
        fault = "the server lists it twice" if names.count(tool.name) > 1 else tool.fault
        if number >= MOST_TOOLS:
            fault = f"a server has at most {MOST_TOOLS} tools"
        if fault is not None:
            refused.append((tool.name, fault))
        elif (offer := offer_of(tool, confirmed)) is not None:
            offered.append(offer)
        else:
            changed.append(tool.name)
    return ToolList(tuple(offered), tuple(changed), tuple(refused))
