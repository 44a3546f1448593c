"""Without a2a-sdk the printed forms work, and the classes of the gateway name the package to install."""

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules['a2a'] = None; from soorma_ai.gateways.a2a import A2ATask, A2AGatewayHelper"


@pytest.mark.parametrize("name", ["A2AGateway", "A2AAgent"])
def test_a_class_that_needs_a2a_sdk_names_the_extra_to_install(name: str) -> None:
    program = f"{WITHOUT}, {name}"
    done = subprocess.run((sys.executable, "-c", program), check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"ConfigError: {name} needs a2a-sdk: pip install 'soorma-ai[a2a]'" in done.stderr


def test_the_printed_forms_import_without_a2a_sdk() -> None:
    done = subprocess.run((sys.executable, "-c", WITHOUT), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
