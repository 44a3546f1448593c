"""Source files of a folder, and their changes.

A look each half second at a few hundred names costs less than a library for a system's notifications.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

PAUSE_SECONDS = 0.5
SUFFIXES = (".py", ".j2")
# So that in a home directory it takes no minute to look.
MOST_ENTRIES = 20_000

# When each file was changed, in nanoseconds, by its path.
Times = Mapping[str, int]


def list_changes(before: Times, after: Times) -> list[str]:
    """Return the added, removed and changed paths, sorted."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def look(folder: Path, most: int = MOST_ENTRIES) -> tuple[Times, bool]:
    """Return the times of the sources below the folder, and whether these are all. Environments, hidden folders and
    links to folders are left out."""
    times: dict[str, int] = {}
    looked_at = 0
    for place, folders, names in os.walk(folder):
        looked_at += len(folders) + len(names)
        if looked_at > most:
            return times, False
        folders[:] = sorted(name for name in folders if _is_searched(Path(place, name)))
        for name in names:
            if name.endswith(SUFFIXES):
                path = Path(place, name)
                try:
                    times[str(path)] = path.stat().st_mtime_ns
                except OSError:  # gone meanwhile, or a link to nothing
                    continue
    return times, True


async def next_change(folder: Path, before: Times) -> list[str]:
    """Return the changed files, after half a second without another change."""
    while True:
        await asyncio.sleep(PAUSE_SECONDS)
        after, _ = await asyncio.to_thread(look, folder)
        if found := list_changes(before, after):
            break
    while True:
        await asyncio.sleep(PAUSE_SECONDS)
        still, _ = await asyncio.to_thread(look, folder)
        if still == after:
            return found
        after = still


def _is_searched(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules"):
        return False
    return not (folder / "pyvenv.cfg").exists()
