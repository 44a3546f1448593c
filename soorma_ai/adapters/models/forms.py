"""Forms of an answer of a model: the working ones, and the spelling of a schema in each."""

from msgspec import Struct

from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Mode
from soorma_ai.kernel.rules.schemas.portable import Wire, wire_of

MODES: tuple[Mode, ...] = ("json_schema", "tools", "json", "md_json")
# The forms that follow where one is refused.
NEXT_MODES: tuple[Mode, ...] = ("tools", "md_json")
ANSWER = "Decision"
ABOUT = "The next step, exactly one."
_MAX_ANTHROPIC_UNIONS = 16

_SCHEMAS: frozenset[Mode] = frozenset({"json_schema", "tools"})
_SCHEMA: frozenset[Mode] = frozenset({"json_schema"})
# What litellm passes on: references are lost on the way to other tools, and of other providers it is not known that
# they decode by the schema.
_HELD = {"openai": _SCHEMAS, "azure": _SCHEMAS, "hosted_vllm": _SCHEMA}
_SHARED = {**_HELD, **dict.fromkeys(("gemini", "vertex_ai", "vertex_ai_beta", "ollama", "ollama_chat"), _SCHEMA)}


class AnswerForm(Struct, frozen=True):
    mode: Mode
    wire: Wire

    @property
    def about(self) -> str:
        """Return the description of the answer, in the schema's words if it has any."""
        return str(self.wire.schema.get("description", ABOUT))


def form_for(wanted: Mode, provider: str, document: JsonObject, *, direct: bool) -> AnswerForm:
    """Return the form that works. Anthropic's structured output closes open objects so that only {} fits, and takes few
    choices; tools leave them open."""
    if wanted not in _SCHEMAS:
        return AnswerForm(wanted, wire_of(document, held=False))
    held = direct or wanted in _HELD.get(provider, ())
    shared = direct or wanted in _SHARED.get(provider, ())
    wire = wire_of(document, held=held, shared=shared)
    if provider == "anthropic" and not (wire.strict and wire.unions <= _MAX_ANTHROPIC_UNIONS):
        return AnswerForm("tools", wire)
    return AnswerForm(wanted, wire)
