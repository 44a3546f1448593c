import os
import signal

# A shell starts what it puts into the background with SIGINT ignored, and a child inherits that: then no Ctrl-C that a
# test sends would ever end it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """What the samples of the crash proof and the state machine's histories are drawn by."""
    return f"SEED={os.environ.get('SEED', '1')}"
