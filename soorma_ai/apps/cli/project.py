"""A small project to begin with, made of files of the package."""

import keyword
import re
import sys
from pathlib import Path

from msgspec import Struct

from soorma_ai.errors import ConfigError

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", re.IGNORECASE)
_TAKEN = frozenset({"tests", "soorma", "soorma_ai", "site"})
_MOST_NAMED = 5
_LONGEST = 60
# What the files call it.
_MODULE, _DISTRIBUTION = "first_project", "first-project"


class Names(Struct, frozen=True):
    module: str
    distribution: str

    def put_into(self, text: str) -> str:
        return text.replace(_MODULE, self.module).replace(_DISTRIBUTION, self.distribution)


def names_of(name: str) -> Names:
    """Return the module and distribution names of a project. Raise ConfigError for an invalid package name."""
    module = name.lower().replace("-", "_").replace(" ", "_")
    wanted = "give --name, of letters, digits and hyphens, such as refund-desk"
    if not _NAME.fullmatch(module) or len(module) > _LONGEST:
        raise ConfigError(f"{name[:_LONGEST]!r} is not a package name: {wanted}")
    if keyword.iskeyword(module) or module in _TAKEN or module in sys.stdlib_module_names:
        raise ConfigError(f"{name!r} is taken, by Python or by this project: {wanted}")
    return Names(module, module.replace("_", "-"))


def write_project(template: Path, folder: Path, names: Names) -> list[Path]:
    """Write the project into a folder, and return its files. Raise ConfigError, and write nothing, where a file would
    be replaced."""
    sources = sorted(path for path in template.rglob("*") if path.is_file() and _belongs(path.relative_to(template)))
    made = [(source, folder / names.put_into(str(source.relative_to(template)))) for source in sources]
    there = [str(target.relative_to(folder)) for _, target in made if target.exists() or target.is_symlink()]
    if there:
        more = f" and {len(there) - _MOST_NAMED} more" if len(there) > _MOST_NAMED else ""
        named = ", ".join(there[:_MOST_NAMED])
        raise ConfigError(f"{folder} has {named}{more} already, and no file is replaced: give another folder")
    try:
        for source, target in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8") as file:
                file.write(names.put_into(source.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be written: {error.strerror}; give another folder") from error
    return [target for _, target in made]


def _belongs(path: Path) -> bool:
    return not {"__pycache__", ".pytest_cache", ".ruff_cache"} & set(path.parts)
