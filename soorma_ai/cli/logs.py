"""Log lines on stderr, each on one line but for the traceback of a bug."""

import logging

from soorma_ai.cli.options import one_line, printable


class _ForTerminals(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(f"{record.levelname.lower()}: {record.message}")

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_ForTerminals())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
