"""Questions in the arguments that litellm takes, as instructor shapes them."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from soorma_ai.adapters.models.forms import ANSWER
from soorma_ai.adapters.models.litellm.libraries import libraries
from soorma_ai.adapters.models.transport import ProviderCall
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, identity_of
from soorma_ai.kernel.rules.schemas.portable import Wire

_MARKED = frozenset({"anthropic"})  # what they are to keep of a prompt has to be said
_KEPT: JsonObject = {"type": "ephemeral"}
_LEFT_ALONE = frozenset({"openai", "azure"})  # litellm changes a schema in its place for some of the others


class _AnyObject(BaseModel):
    """Name the answer to instructor; it is read and judged elsewhere."""

    model_config = ConfigDict(extra="allow")


def arguments_for(call: ProviderCall, provider: str) -> dict[str, Any]:
    """Return the arguments of a call. They never have `context`: instructor would render the messages as templates."""
    libs, form, wire = libraries(), call.form, call.form.wire
    _, shaped = libs.shape(
        _response_model(identity_of(wire), form.mode),
        mode=libs.modes[form.mode.upper()],
        model=call.model,
        messages=[{"role": message.role, "content": message.content} for message in call.messages],
    )
    out = {key: value for key, value in shaped.items() if key not in ("response_format", "tools", "tool_choice")}
    schema: Json = wire.schema if provider in _LEFT_ALONE else json.loads(wire.text)
    if form.mode == "json_schema":
        exact: JsonObject = {"name": ANSWER, "schema": schema, "strict": wire.strict}
        out["response_format"] = {"type": "json_schema", "json_schema": exact}
    elif "response_format" in shaped:
        out["response_format"] = shaped["response_format"]
    if form.mode == "tools":
        function: JsonObject = {"name": ANSWER, "description": form.about, "parameters": schema}
        out["tools"] = [{"type": "function", "function": {**function, **({"strict": True} if wire.strict else {})}}]
        out["tool_choice"] = "required"  # some providers are never sent the name of a tool
        if "parallel_tool_calls" in _parameters_of(call.model):
            out["parallel_tool_calls"] = False
    return _mark(out) if provider in _MARKED else out


@lru_cache(maxsize=64)
def _response_model(wire: Same[Wire], mode: str) -> type[Any]:
    """Return the model that instructor asks for, made ready for it once. It writes its schema down only where that goes
    into a prompt."""
    is_written = mode in ("json", "md_json")
    schema: JsonObject = {"title": ANSWER, **(wire().schema if is_written else {"type": "object", "properties": {}})}

    def model_json_schema(cls: type[BaseModel], *args: object, **options: object) -> JsonObject:
        return {**schema}

    parts = {"__module__": __name__, "__doc__": "The answer.", "model_json_schema": classmethod(model_json_schema)}
    return libraries().prepare(type(ANSWER, (_AnyObject,), parts))


@lru_cache(maxsize=256)
def _parameters_of(model: str) -> frozenset[str]:
    return frozenset(libraries().litellm.get_supported_openai_params(model=model) or ())


def _mark(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Mark the end of the part that is the same in every question, for the provider to keep it."""
    messages: list[dict[str, Any]] = [*arguments["messages"]]
    for number, message in enumerate(messages):
        if message["role"] == "system" and isinstance(message["content"], str):
            text: JsonObject = {"type": "text", "text": message["content"], "cache_control": {**_KEPT}}
            messages[number] = {**message, "content": [text]}
            break
    return {**arguments, "messages": messages}
