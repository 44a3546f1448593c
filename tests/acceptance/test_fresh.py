"""A newcomer's first commands, with the wheel and without the checkout."""

import sys
from pathlib import Path

import pytest
from fresh import first_day


@pytest.mark.timeout(400)
def test_the_commands_of_the_first_day_work_with_a_fresh_wheel(tmp_path: Path) -> None:
    done = list(first_day(sys.executable, tmp_path, is_offline=True))
    assert done[0].startswith("python -m pip install")
    wanted = {"python -m soorma_ai dev", "soorma init refund-desk", "make install", "make test", "soorma doctor"}
    assert wanted < set(done)
    assert done[-1] == "soorma serve refund_desk.app:offline"
