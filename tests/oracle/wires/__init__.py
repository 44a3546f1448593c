"""The wires of providers: how each is asked, and how it answers. Nothing here knows what it is asked about."""

from dataclasses import replace

from wires import anthropic, gemini, ollama, openai
from wires.form import Wire

WIRES: dict[str, Wire] = {
    "openai": openai.WIRE,
    "anthropic": anthropic.WIRE,
    "gemini": gemini.WIRE,
    "ollama": ollama.WIRE,
    # The same wire by the product's own path to it, without the library that speaks the others.
    "direct": replace(openai.WIRE, options={"transport": "direct"}),
}
