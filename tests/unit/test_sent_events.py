import pytest

from soorma_ai.api.clients.sent_events import LONGEST_EVENT, EventReader, SentEvent
from soorma_ai.errors import RemoteProtocolError


def read(text: str, **named: str) -> list[tuple[str, str, str]]:
    events = list(EventReader(**named).feed(text.encode()))
    return [(event.name, event.data, event.last_id) for event in events]


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("", []),
        ("data: a\n\n", [("message", "a", "")]),
        ("data:a\n\n", [("message", "a", "")]),
        ("data:  a\n\n", [("message", " a", "")]),
        ("data: a\ndata: b\n\n", [("message", "a\nb", "")]),
        ("data\n\n", [("message", "", "")]),
        ("data: a\n", []),
        ("data: a", []),
        ("id: 7\ndata: a\n\ndata: b\n\n", [("message", "a", "7"), ("message", "b", "7")]),
        ("id: 7\n\ndata: b\n\n", [("message", "b", "7")]),
        ("id: 7\ndata: a\n\nid\ndata: b\n\n", [("message", "a", "7"), ("message", "b", "")]),
        ("id: 7\0\ndata: a\n\n", [("message", "a", "")]),
        ("event: end\ndata: a\n\ndata: b\n\n", [("end", "a", ""), ("message", "b", "")]),
        ("event: end\n\ndata: b\n\n", [("message", "b", "")]),
        (":\n\n: beat\n\ndata: a\n\n", [("message", "a", "")]),
        ("retry: 2000\nid: 3\n\n", []),
        ("other: 1\n: x\ndata: a\n\n", [("message", "a", "")]),
        ("\ufeffdata: a\n\n", [("message", "a", "")]),
        ("\ufeff\ufeffdata: a\n\n", []),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("message", "a", ""), ("message", "b", ""), ("message", "c", "")]),
        ("data: é\u2028ü\n\n", [("message", "é\u2028ü", "")]),
    ],
)
def test_a_stream_is_parsed_as_in_browsers(text: str, events: list[tuple[str, str, str]]) -> None:
    assert read(text) == events


BEGIN = '\ufeffretry: 2000\r\nid: 3\r\n\r\n:\n\nid: 4\ndata: {"a": "é"}\n\n'
LONG = BEGIN + "event: end\rdata: x\rdata: y\r\rid: 9\ndata: lost"


def test_an_event_is_the_same_for_every_split_of_its_bytes() -> None:
    sent, whole = LONG.encode(), [SentEvent("message", '{"a": "é"}', "4"), SentEvent("end", "x\ny", "4")]
    for first in range(len(sent) + 1):
        for second in range(first, len(sent) + 1, 3):
            reader = EventReader()
            parts = (sent[:first], sent[first:second], sent[second:])
            assert [event for part in parts for event in reader.feed(part)] == whole
    reader = EventReader()
    assert [event for byte in sent for event in reader.feed(bytes([byte]))] == whole


def test_the_id_of_an_incomplete_event_is_not_the_last_one() -> None:
    reader = EventReader("3")
    assert list(reader.feed(b"id: 4\ndata: a\n\nid: 5\ndata: b\n")) == [SentEvent("message", "a", "4")]
    assert reader.last_id == "4"


def test_an_id_counts_before_the_first_event() -> None:
    reader = EventReader()
    assert list(reader.feed(b"retry: 2000\nid: 57\n\n")) == []
    assert reader.last_id == "57"


@pytest.mark.parametrize("line", [b"data: " + b"x" * 2**16, b"data: " + b"x" * 2**16 + b"\n"], ids=["line", "lines"])
def test_an_endless_event_is_refused(line: bytes) -> None:
    reader = EventReader()
    with pytest.raises(RemoteProtocolError, match="longer than"):
        for _ in range(LONGEST_EVENT // 2**16 + 2):
            list(reader.feed(line))


def test_many_small_events_do_not_count_as_a_long_one() -> None:
    reader = EventReader()
    for _ in range(LONGEST_EVENT // 2**20 + 2):
        assert len(list(reader.feed(b"data: " + b"x" * 2**20 + b"\n\n"))) == 1
