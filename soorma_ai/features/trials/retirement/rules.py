"""Rules of replaced models: chains, and planners with a model."""

from collections.abc import Mapping, Sequence

from soorma_ai.errors import ConfigError
from soorma_ai.features.trials.retirement.records import ModelReplacement, TokenPrice
from soorma_ai.kernel.domain.registry import Registration
from soorma_ai.kernel.ports import Reasoner

# Tokens of a comparison of prices, and the dearest input by it: a provider asks up to twice for input that it keeps.
_MANY, _KEPT = 1_000_000, 2.0
# Replacements in force, by the replaced model.
Replacements = Mapping[str, ModelReplacement]


def find_replacement(model: str, known: Replacements) -> ModelReplacement | None:
    """Return the last replacement of a chain; None for a model in use."""
    chain = _chain(model, known)
    return known[chain[-2]] if len(chain) > 1 else None


def model_in_force(model: str, known: Replacements) -> str:
    found = find_replacement(model, known)
    return found.to if found else model


def check_replacement(made: ModelReplacement, known: Replacements) -> None:
    """Raise ConfigError for a model in its own place, and for a circle."""
    if made.model == made.to:
        raise ConfigError(f"{made.model} cannot replace itself: name another model")
    if made.model in _chain(made.to, known):
        raise ConfigError(
            f"{made.to} is replaced by {known[made.to].to}, and {made.model} by {made.to} would be a circle: restore "
            f"{made.to} first, `soorma models restore {made.to}`"
        )


def _chain(model: str, known: Replacements) -> list[str]:
    """Return a model and those in its place, one after the other."""
    chain = [model]
    while model in known and known[model].to not in chain:
        model = known[model].to
        chain.append(model)
    return chain


def planners_of(model: str, agents: Sequence[Registration], known: Replacements) -> list[Registration]:
    """Return the planners that ask this model now."""
    return [one for one in agents if one.model and model_in_force(one.model, known) == model]


def is_cheaper(price: TokenPrice, known: Reasoner) -> bool:
    """Tell whether a price is below the known one of a model."""
    dollars = zip(price, (known.cost_of(_MANY, 0), known.cost_of(0, _MANY)), (_KEPT, 1.0), strict=True)
    return any(cost is not None and one * _MANY * room < cost * (1 - 1e-9) for one, cost, room in dollars)
