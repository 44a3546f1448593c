"""Server-sent events, read from bytes as they come. Pure."""

from collections.abc import Iterator

from msgspec import Struct, field

from soorma_ai.errors import RemoteProtocolError

LONGEST_EVENT = 16 * 2**20


class SentEvent(Struct, frozen=True):
    """Server-sent event; `last_id` is the last id so far, its own or an earlier one."""

    name: str
    data: str
    last_id: str


class EventReader(Struct):
    """Parser of one stream's bytes. An incomplete event is dropped.

    `last_id` is that of the last complete event, for the next request of the stream.
    """

    last_id: str = ""
    _id: str | None = None
    _rest: bytes = b""
    _name: str = ""
    _data: list[str] = field(default_factory=list[str])
    _size: int = 0
    _is_begun: bool = False
    _was_return: bool = False

    def feed(self, chunk: bytes) -> Iterator[SentEvent]:
        """Yield the events complete with this chunk. Raise RemoteProtocolError for too long a one."""
        if self._was_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the other half of a line end
        if chunk:
            self._was_return = chunk.endswith(b"\r")
        *lines, rest = _lines_of(chunk)
        for number, line in enumerate(lines):
            whole, self._rest = (self._rest + line, b"") if number == 0 else (line, self._rest)
            self._count(len(line))
            if event := self._take(whole):
                yield event
        self._count(len(rest))
        self._rest += rest

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > LONGEST_EVENT:
            raise RemoteProtocolError(f"an event of the stream is longer than {LONGEST_EVENT} bytes")

    def _take(self, line: bytes) -> SentEvent | None:
        text = line.decode(errors="replace")
        if not self._is_begun:
            self._is_begun, text = True, text.removeprefix("\ufeff")
        if not text:
            return self._dispatch()
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case _:
                pass  # a comment, a pause that is none of ours, or what a newer server says
        return None

    def _dispatch(self) -> SentEvent | None:
        name, data, self._name, self._data, self._size = self._name, self._data, "", [], 0
        if self._id is not None:
            self.last_id, self._id = self._id, None
        return SentEvent(name or "message", "\n".join(data), self.last_id) if data else None


def _lines_of(chunk: bytes) -> list[bytes]:
    """Return the lines of a chunk, the last one without an end; lines end by CR, LF or both."""
    return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
