"""Questions in the forms that providers take."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from soorma_ai.adapters.litellm.libraries import libraries
from soorma_ai.core.schema.portable import Wire
from soorma_ai.domain.values import JsonObject
from soorma_ai.ports import Message

Mode = Literal["json_schema", "tools", "json", "md_json"]
MODES: tuple[Mode, ...] = ("json_schema", "tools", "json", "md_json")
ANSWER = "Decision"
_MAX_ANTHROPIC_UNIONS = 16


def mode_for(wanted: Mode, provider: str, wire: Wire) -> Mode:
    """Return the mode that works. Anthropic's structured output closes open objects so that only {} fits, and takes few
    choices; tools leave them open."""
    if wanted == "json_schema" and provider == "anthropic":
        return "json_schema" if wire.strict and wire.unions <= _MAX_ANTHROPIC_UNIONS else "tools"
    return wanted


class _AnyObject(BaseModel):
    """Name the answer to instructor; it is read and judged elsewhere."""

    model_config = ConfigDict(extra="allow")


def shape(model: str, messages: Sequence[Message], wire: Wire, mode: Mode) -> dict[str, Any]:
    """Return the arguments of a call as instructor shapes them; never with `context`, by which it would render the
    messages as templates."""
    libs = libraries()
    _, shaped = libs.shape(
        _response_model(wire),
        mode=libs.modes[mode.upper()],
        model=model,
        messages=[{"role": message.role, "content": message.content} for message in messages],
    )
    return shaped


def _response_model(wire: Wire) -> type[_AnyObject]:
    def schema_of(cls: type[BaseModel], core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"title": ANSWER, **copy.deepcopy(wire.schema)}

    return type(
        ANSWER,
        (_AnyObject,),
        {
            "__module__": __name__,
            "__doc__": wire.schema.get("description", "The next step, exactly one."),
            "__get_pydantic_json_schema__": classmethod(schema_of),
        },
    )


def arguments_for(shaped: Mapping[str, Any], wire: Wire, supported: frozenset[str]) -> dict[str, Any]:
    """Return what instructor shaped, in the order and strictness of the wire schema; a copy, as litellm changes it."""
    out = {key: value for key, value in shaped.items() if key not in ("response_format", "tools", "tool_choice")}
    form = shaped.get("response_format")
    if form is not None and form.get("type") == "json_schema":
        exact: JsonObject = {"name": ANSWER, "schema": copy.deepcopy(wire.schema), "strict": wire.strict}
        out["response_format"] = {"type": "json_schema", "json_schema": exact}
    elif form is not None:
        out["response_format"] = form
    if shaped.get("tools"):
        description = shaped["tools"][0]["function"]["description"]
        function: JsonObject = {"name": ANSWER, "description": description, "parameters": copy.deepcopy(wire.schema)}
        out["tools"] = [{"type": "function", "function": {**function, **({"strict": True} if wire.strict else {})}}]
        out["tool_choice"] = "required"  # some providers are never sent the name of a tool
        if "parallel_tool_calls" in supported:
            out["parallel_tool_calls"] = False
    return out
