"""Lazy public names of a package: a program with few of them starts at once."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def late_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package. `homes` maps modules below the package to their names,
    separated by blanks. All names become its `__all__`."""
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    own = vars(sys.modules[package])
    # Not by its name in the package: type checkers refuse a list that is worked out.
    own["__all__"] = sorted(home_of)

    def load(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{home}"), name)
        own[name] = found
        return found

    return load, lambda: [*own, *home_of]


def late_function(home: str, name: str) -> Callable[..., None]:
    """Return a function that loads its body from the module `home` at its first call."""

    def call(*given: object, **options: object) -> None:
        """Call the body."""
        body: Callable[..., None] = getattr(import_module(home), name)
        body(*given, **options)

    return call
