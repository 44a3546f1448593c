import subprocess
import sys

from cli_kit import APPS


def test_a_process_with_endless_handlers_ends() -> None:
    ran = subprocess.run(
        [sys.executable, str(APPS / "stubborn.py")], check=False, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (0, "ended\n"), ran.stderr
    for event in ("swallow.requested", "never.requested"):
        assert f"handler_left_behind agent=stubborn event_type={event}" in ran.stderr
