"""Prices of models, in US dollars per token."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from soorma_ai.adapters.models.bodies import Usage
from soorma_ai.errors import ConfigError

_TABLE = "model_prices_and_context_window_backup.json"


class Price(NamedTuple):
    """`cached` is for input kept by a provider, `written` for input that it was told to keep; None is as `input`."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def cost(self, usage: Usage) -> float:
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens - usage.written_tokens)
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        kept = usage.cached_tokens * cached + usage.written_tokens * written
        return fresh * self.input + kept + usage.completion_tokens * self.output


def price_in(table: Mapping[str, Mapping[str, Any]], model: str) -> Price | None:
    """Return the price of a model in litellm's table, under its whole name or without its provider's."""
    for name in (model, model.partition("/")[2]):
        entry = table.get(name)
        if entry is not None and entry.get("input_cost_per_token") is not None:
            return Price(
                float(entry["input_cost_per_token"]),
                float(entry.get("output_cost_per_token") or 0),
                _number(entry.get("cache_read_input_token_cost")),
                _number(entry.get("cache_creation_input_token_cost")),
            )
    return None


@cache
def installed_table() -> Mapping[str, Mapping[str, Any]]:
    """Return litellm's table where litellm is installed, which is not imported for it; else an empty one."""
    found = find_spec("litellm")
    for folder in (found.submodule_search_locations or ()) if found else ():
        file = Path(folder) / _TABLE
        if file.is_file():
            table: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
            return table
    return {}


def read_price(price: object) -> Price | None:
    """Read `price=`, dollars per token in and out. Raises ConfigError for anything else."""
    match price:
        case None:
            return None
        case (int() | float() as asked, int() | float() as answered) if _is_amount(asked) and _is_amount(answered):
            return Price(float(asked), float(answered))
        case _:
            raise ConfigError(f"price={price!r}: give two numbers from 0, US dollars per token in and per token out")


def _is_amount(number: float) -> bool:
    return not isinstance(number, bool) and isfinite(number) and number >= 0


def _number(price: Any) -> float | None:
    return None if price is None else float(price)
