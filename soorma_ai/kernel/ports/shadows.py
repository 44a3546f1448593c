"""Shadows of planners: a change of a planner that is asked beside it."""

from msgspec import Struct

from soorma_ai.kernel.ports.model import Reasoner


class Change(Struct, frozen=True):
    """Change of a planner under trial: another model, other prompts, or both."""

    model: str = ""
    """Name of the other model; by default that of the planner."""
    prompts: str = ""
    """Folder with prompts, searched before all others."""
    price: tuple[float, float] | None = None
    """US dollars per token in and per token out, of the other model; by default the known price."""


class Shadow(Struct, frozen=True):
    """Change of a planner, asked about a `share` of its decisions by its own `reasoner`, for at most `max_usd_a_day` of
    each tenant."""

    change: Change
    share: float
    max_usd_a_day: float
    reasoner: Reasoner | None = None
