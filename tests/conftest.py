import os


def pytest_report_header() -> str:
    """What the samples of the crash proof and the state machine's histories are drawn by."""
    return f"SEED={os.environ.get('SEED', '1')}"
