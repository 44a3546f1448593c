"""A model in the place of another gets its options, as far as they hold for it, and is made once."""

from typing import Any

import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.features.trials.retirement.records import ModelReplacement
from soorma_ai.features.trials.retirement.rules import check_replacement, find_replacement
from soorma_ai.kernel.ports import ModelSettings, Reasoner
from soorma_ai.kernel.runtime.handling.process.models import Models, settings_for
from soorma_ai.testing.clock import START
from soorma_ai.testing.scripted import ScriptedReasoner

FORMER = ModelSettings(
    "openai/a", "https://house", "key", 0.5, {"price": (1.0, 1.0), "mode": "tools", "timeout": 9.0, "seed": 3}
)


def replaced(**pairs: str) -> dict[str, ModelReplacement]:
    return {model: ModelReplacement(model, to, START) for model, to in pairs.items()}


def test_a_model_of_the_same_provider_keeps_all_options_but_the_price() -> None:
    extra = {"mode": "tools", "timeout": 9.0, "seed": 3}
    assert settings_for("openai/b", None, FORMER) == ModelSettings("openai/b", "https://house", "key", 0.5, extra)


def test_a_model_of_another_provider_gets_neither_address_nor_key() -> None:
    made = settings_for("anthropic/b", (2.0, 3.0), FORMER)
    assert made == ModelSettings("anthropic/b", extra={"timeout": 9.0, "price": (2.0, 3.0)})


def test_a_fallback_is_no_fallback_of_itself() -> None:
    former = ModelSettings("openai/a", extra={"fallbacks": ("openai/b", "openai/c", "openai/a")})
    assert settings_for("openai/b", None, former).extra == {"fallbacks": ("openai/c",)}


def test_a_reasoner_in_the_place_of_another_is_made_once() -> None:
    made: list[ModelSettings] = []

    def make(settings: ModelSettings) -> Reasoner:
        made.append(settings)
        return ScriptedReasoner([], model=settings.model)

    models = Models(make)
    former = models.make(FORMER)
    assert models.in_place_of(former, "openai/b") is models.in_place_of(former, "openai/b")
    assert [one.model for one in made] == ["openai/a", "openai/b"]
    assert models.in_place_of(former, "openai/b", (1.0, 1.0)) is not models.in_place_of(former, "openai/b")


def test_the_program_s_own_reasoner_of_a_model_is_used() -> None:
    models, own = Models(), ScriptedReasoner([], model="house/b")
    models.keep(own)
    assert models.in_place_of(ScriptedReasoner([]), "house/b") is models.find("house/b") is own
    with pytest.raises(ConfigError, match="house/c"):
        models.find("house/c")


@pytest.mark.parametrize(
    ("known", "model", "last"),
    [({}, "a", None), ({"a": "b"}, "a", "b"), ({"a": "b", "b": "c"}, "a", "c"), ({"a": "b", "b": "c"}, "b", "c")],
)
def test_the_last_of_a_chain_is_in_force(known: dict[str, str], model: str, last: str | None) -> None:
    found = find_replacement(model, replaced(**known))
    assert (found.to if found else None) == last


def test_a_stored_circle_ends() -> None:
    found = find_replacement("a", replaced(a="b", b="a"))
    assert found is not None
    assert found.to == "b"


@pytest.mark.parametrize(
    ("known", "made"),
    [
        ({}, ("a", "a")),
        ({"a": "b"}, ("b", "a")),
        ({"a": "b", "b": "c"}, ("c", "a")),
        ({"b": "c", "c": "a"}, ("a", "b")),
    ],
)
def test_a_circle_is_refused_with_the_cure(known: dict[str, str], made: tuple[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"restore|another model"):
        check_replacement(ModelReplacement(*made, START), replaced(**known))


def test_a_new_replacement_of_a_replaced_model_is_none_of_its_chain() -> None:
    wanted: Any = check_replacement(ModelReplacement("a", "c", START), replaced(a="b"))
    assert wanted is None
