import logging

import pytest


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Silence the warnings of a disturbed platform; they fill pages."""
    caplog.set_level(logging.CRITICAL, logger="soorma_ai")
