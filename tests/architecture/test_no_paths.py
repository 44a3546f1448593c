"""No file of the project contains a path of the machine it was written on."""

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = ("home", "Users", "root", "work")
A_PATH = re.compile(rf"(?<![\w.~-])/({'|'.join(PLACES)})/\w")


def test_the_pattern_matches_paths_of_machines() -> None:
    for place in PLACES:
        assert A_PATH.search(f'open("/{place}/someone/file")')
    assert not A_PATH.search("https://example.org/work/order")
    assert not A_PATH.search("tests/work/orders")


def test_no_tracked_text_file_holds_a_path_of_a_machine(tracked: Callable[[str], set[str]]) -> None:
    files = [ROOT / name for name in sorted(tracked("."))]
    assert len(files) > 20
    found = {
        f"{file.relative_to(ROOT)}:{number}": line.strip()[:120]
        for file in files
        if file.is_file()
        for number, line in enumerate(file.read_text(errors="ignore").splitlines(), 1)
        if A_PATH.search(line)
    }
    assert found == {}
