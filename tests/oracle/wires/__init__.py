"""The wires of providers: how each is asked, and how it answers. Nothing here knows what it is asked about."""

from dataclasses import replace

from wires import anthropic, gemini, ollama, openai
from wires.form import Wire

WIRES: dict[str, Wire] = {
    "openai": replace(openai.WIRE, options={"transport": "litellm"}),
    "anthropic": anthropic.WIRE,
    "gemini": gemini.WIRE,
    "ollama": ollama.WIRE,
    # The same wire, as the product speaks it by itself where it is not told otherwise.
    "direct": replace(openai.WIRE, options={"transport": "direct"}),
}
