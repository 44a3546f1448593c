"""What the log is told of an outage: its beginning, once, and its end."""

from soorma_ai.kernel.runtime.handling.logs import note, warn


class Outage:
    """`subject` names the log lines: `bus_lost` and `bus_back` for `bus`."""

    def __init__(self, subject: str, url: str) -> None:
        self._subject = subject
        self._url = url
        self._is_on = False

    def begin(self, reason: object) -> None:
        if not self._is_on:
            self._is_on = True
            warn(f"{self._subject}_lost", url=self._url, reason=reason)

    def end(self) -> None:
        if self._is_on:
            self._is_on = False
            note(f"{self._subject}_back", url=self._url)
