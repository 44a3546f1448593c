"""Tests that are about one place, and why: elsewhere they are skipped, and the reason is said."""

from collections.abc import Sequence

import places
import pytest

# By the beginning of the test's name.
OF_A_FILE: dict[str, str] = {}


def mark(items: Sequence[pytest.Item]) -> None:
    if not places.ON_POSTGRES:
        return
    for item in items:
        for name, why in OF_A_FILE.items():
            if item.nodeid.startswith(name):
                item.add_marker(pytest.mark.skip(f"of a file: {why}"))
