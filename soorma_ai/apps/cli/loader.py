"""Agents found by MODULE:APP, as uvicorn finds its application."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from soorma_ai.agents.agent import Agent
from soorma_ai.apps.cli.failures import UserCodeError
from soorma_ai.errors import ConfigError, SoormaError
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Authenticator
from soorma_ai.surfaces.terminal.escapes import one_line

WANTED = "an Agent, a sequence of Agents, or a function that returns them"


def load_agents(place: str, folder: Path | None = None) -> tuple[Agent, ...]:
    """Import the module, from the folder first, by default the current one, and return its agents. Raise ConfigError,
    and UserCodeError for an exception of the module."""
    found = _find(place, WANTED, folder)
    if not isinstance(found, Agent) and callable(found):
        found = _product_of(cast(Callable[[], object], found), place)
    return _agents(found, place)


def load_authenticator(place: str) -> Authenticator:
    """Return an authenticator: an object with `authenticate`, or the one from a function. Raise as `load_agents`."""
    wanted = "an object with `async def authenticate(token) -> Caller`, or a function that returns one"
    found = _find(place, wanted)
    if callable(found) and (isinstance(found, type) or not hasattr(found, "authenticate")):
        found = _product_of(cast(Callable[[], object], found), place)
    if not callable(getattr(found, "authenticate", None)):
        raise ConfigError(f"{place} is {clip(one_line(repr(found)), 80)}; it must be {wanted}")
    return cast(Authenticator, found)


def _product_of(function: Callable[[], object], place: str) -> object:
    try:
        return function()
    except SoormaError:
        raise
    except Exception as error:
        raise UserCodeError(place, error) from error


def _find(place: str, wanted: str, folder: Path | None = None) -> object:
    module_name, colon, path = place.partition(":")
    if not (module_name and colon and path):
        raise ConfigError(f"{place!r} is no MODULE:APP; give the module and the name in it, as in shop.app:agents")
    found: object = _module(module_name, str(folder or Path.cwd()))
    for name in path.split("."):
        if not hasattr(found, name):
            raise ConfigError(f"{module_name} has no {path!r}; give the name of {wanted}")
        found = getattr(found, name)
    return found


def _module(name: str, here: str) -> object:
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except SoormaError:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"no module {error.name!r}, looked for from {here}; give the module of your agents"
            ) from error
        raise UserCodeError(name, error) from error


def _agents(found: object, place: str) -> tuple[Agent, ...]:
    given = clip(one_line(repr(found)), 80)
    if isinstance(found, Agent):
        return (found,)
    items = tuple(cast(Sequence[object], found)) if isinstance(found, Sequence) else ()
    agents = tuple(item for item in items if isinstance(item, Agent))
    if not agents or len(agents) < len(items):
        raise ConfigError(f"{place} is {given}; it must be {WANTED}")
    return agents
