"""The wires of providers: the form of their requests and answers, independent of the content."""

from dataclasses import replace

from wires import anthropic, gemini, ollama, openai
from wires.form import Wire

WIRES: dict[str, Wire] = {
    "openai": replace(openai.WIRE, options={"transport": "litellm"}),
    "anthropic": anthropic.WIRE,
    "gemini": gemini.WIRE,
    "ollama": ollama.WIRE,
    # The same wire by the product's own client, its default.
    "direct": replace(openai.WIRE, options={"transport": "direct"}),
}
