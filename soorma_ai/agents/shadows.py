"""Checks of a planner's shadow, and its reasoner."""

from pathlib import Path
from typing import cast

from msgspec.structs import replace

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.limits import UNPRICED_CURES
from soorma_ai.kernel.ports import Reasoner
from soorma_ai.kernel.ports.shadows import Change, Shadow
from soorma_ai.kernel.runtime.handling.process.models import Models


def must_be_shadow(name: str, change: Change, max_usd_a_day: float, share: float) -> None:
    """Raise ConfigError for a change of nothing, a missing folder, and numbers out of bounds."""
    who = f"planner {name}: shadow("
    if not isinstance(cast(object, change), Change) or not (change.model or change.prompts):
        raise ConfigError(f"{who}{change!r}) changes nothing: give Change(model='provider/model'), or prompts=")
    if change.prompts and not Path(change.prompts).is_dir():
        raise ConfigError(f"{who}prompts={change.prompts!r}): there is no such folder")
    if not 0 < share <= 1:
        raise ConfigError(f"{who}share={share}): give a number above 0, and 1 at most")
    if not 0 <= max_usd_a_day < float("inf"):
        raise ConfigError(f"{who}max_usd_a_day={max_usd_a_day}): give a number of US dollars")


def ready_shadow(name: str, shadow: Shadow, reasoner: Reasoner | None, models: Models) -> Shadow:
    """Return the shadow with its reasoner. Raise ConfigError without a working model, and for an unknown price."""
    if reasoner is None:
        raise ConfigError(f"planner {name} has a shadow, and no model: give reasoning_model='provider/model'")
    other = shadow.reasoner or models.apart_from(reasoner, shadow.change.model, shadow.change.price)
    other.check()
    if other.cost_of(1, 1) is None:
        price = f"the price of {other.model} is not known: {UNPRICED_CURES}"
        raise ConfigError(f"the shadow of planner {name} has a budget in US dollars, and {price}")
    return replace(shadow, reasoner=other)
