import logging

import pytest


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What these tests do to a platform fills pages with its warnings."""
    caplog.set_level(logging.CRITICAL, logger="soorma_ai")
