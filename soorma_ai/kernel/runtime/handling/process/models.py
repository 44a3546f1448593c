"""Models of this process: their reasoners, by settings and by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import ReferenceType, ref

from msgspec import Struct, field

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.ports import ModelSettings, Reasoner

# Options without a relation to one provider.
_COMMON = frozenset({"timeout", "max_output_tokens", "fallbacks"})

Price = tuple[float, float]


def _make_none(settings: ModelSettings) -> Reasoner:
    raise ConfigError(f"no reasoner can be made here for {settings.model}; give a reasoner=")


class _MadeReasoner(Struct, frozen=True):
    """Reasoner made here: its settings, and the reasoners in its place, by model and price and by fallbacks."""

    settings: ModelSettings
    alive: ReferenceType[Reasoner]
    others: dict[tuple[str, Price | None], Reasoner] = field(default_factory=dict[tuple[str, Price | None], Reasoner])
    by_fallbacks: dict[tuple[str, ...], Reasoner] = field(default_factory=dict[tuple[str, ...], Reasoner])


class Models:
    """Maker of reasoners. It knows the settings of its own ones, and the names of the program's ones."""

    def __init__(self, make: Callable[[ModelSettings], Reasoner] = _make_none) -> None:
        self._make = make
        self._made: dict[int, _MadeReasoner] = {}  # by identity, as long as they live
        self._own: dict[str, Reasoner] = {}
        self._plain: dict[tuple[str, Price | None], Reasoner] = {}

    def make(self, settings: ModelSettings) -> Reasoner:
        made = self._make(settings)
        place = id(made)
        self._made[place] = _MadeReasoner(settings, ref(made, lambda _: self._made.pop(place, None)))
        return made

    def keep(self, reasoner: Reasoner) -> None:
        """Keep a reasoner of the program's own making, for uses of its model by name."""
        self._own.setdefault(reasoner.model, reasoner)

    def find(self, model: str, price: Price | None = None) -> Reasoner:
        """Return the program's own reasoner of a model, else a new one with default options."""
        return self._own.get(model) or self.make(settings_for(model, price))

    def in_place_of(self, reasoner: Reasoner, model: str, price: Price | None = None) -> Reasoner:
        """Return the reasoner of another `model` with the same options, as far as they hold for it; once made, always
        the same."""
        made = self._made.get(id(reasoner))
        others = self._plain if made is None else made.others
        if model in self._own:
            return self._own[model]
        if (model, price) not in others:
            others[model, price] = self.apart_from(reasoner, model, price)
        return others[model, price]

    def fallbacks_of(self, reasoner: Reasoner) -> tuple[str, ...]:
        """Return the fallbacks of a reasoner made here; none for the program's own ones, which keep theirs."""
        made = self._made.get(id(reasoner))
        return tuple(made.settings.extra.get("fallbacks", ())) if made else ()

    def with_fallbacks(self, reasoner: Reasoner, fallbacks: tuple[str, ...]) -> Reasoner:
        """Return the same reasoner with these fallbacks; once made, always the same."""
        made = self._made.get(id(reasoner))
        if made is None:
            return reasoner
        if fallbacks not in made.by_fallbacks:
            settings = replace(made.settings, extra={**made.settings.extra, "fallbacks": fallbacks})
            made.by_fallbacks[fallbacks] = self.make(settings)
        return made.by_fallbacks[fallbacks]

    def apart_from(self, reasoner: Reasoner, model: str = "", price: Price | None = None) -> Reasoner:
        """Return a new reasoner with the same options, as far as they hold for another `model`; without one, for the
        same model. The program's own ones are not made anew."""
        model = model or reasoner.model
        made = self._made.get(id(reasoner))
        if made is not None and model not in self._own:
            is_same = model == made.settings.model and price is None
            return self.make(made.settings if is_same else settings_for(model, price, made.settings))
        return reasoner if model == reasoner.model else self.find(model, price)


def settings_for(model: str, price: Price | None = None, like: ModelSettings | None = None) -> ModelSettings:
    """Return the settings of a model in the place of another: address, key and temperature hold for the same provider
    alone, a price for no other model."""
    extra: dict[str, Any] = {} if price is None else {"price": price}
    if like is None:
        return ModelSettings(model, extra=extra)
    is_near = _provider(model) == _provider(like.model)
    kept = {name: value for name, value in like.extra.items() if name != "price" and (is_near or name in _COMMON)}
    if "fallbacks" in kept:
        kept["fallbacks"] = tuple(name for name in kept["fallbacks"] if name not in (model, like.model))
    if not is_near:
        return ModelSettings(model, extra={**kept, **extra})
    return ModelSettings(model, like.api_base, like.api_key, like.temperature, {**kept, **extra})


def _provider(model: str) -> str:
    return model.partition("/")[0]
