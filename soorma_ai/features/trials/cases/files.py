"""Files of cases: one line of JSON for each case, one file for each set."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.trials.cases.records import DecisionCase

FOLDER, SUFFIX = "cases", ".jsonl"
_CASE = TypeAdapter(DecisionCase)


def write_cases(folder: Path, cases: Iterable[DecisionCase]) -> dict[Path, int]:
    """Write the sets of these cases, each in place of its file. Return the number of cases by file."""
    folder.mkdir(parents=True, exist_ok=True)
    sets: dict[str, list[DecisionCase]] = {}
    for case in sorted(cases, key=lambda one: (one.made_at, one.case_id)):
        sets.setdefault(case.name, []).append(case)
    written: dict[Path, int] = {}
    for name, members in sorted(sets.items()):
        path = folder / f"{name}{SUFFIX}"
        path.write_bytes(b"".join(_CASE.dump_json(one) + b"\n" for one in members))
        written[path] = len(members)
    return written


def find_file(name: str) -> Path | None:
    """Return the file of a set: at this path, or of this name in the folder `cases`."""
    places = (Path(name), Path(FOLDER) / f"{name}{SUFFIX}")
    return next((path for path in places if path.is_file()), None)


def read_cases(path: Path) -> list[DecisionCase]:
    """Read the cases of a file. Raise NotFound, and ConfigError for a line that is no case."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}; `soorma cases export` writes it") from error
    found: list[DecisionCase] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_CASE.validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = "/".join(map(str, first["loc"])) or "the line"
            raise ConfigError(
                f"{path}:{number} is no case: {place}: {first['msg']}; write it again with `soorma cases export`"
            ) from error
    return found
