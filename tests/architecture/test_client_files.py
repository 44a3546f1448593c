"""The client files agree with the rows."""

from pathlib import Path

from client_files import ROOT, files

WRITTEN = files()


def stale(written: dict[Path, str]) -> list[str]:
    """Return the files that differ from the generated text."""
    return [str(place.relative_to(ROOT)) for place, text in written.items() if place.read_text() != text]


def test_the_clients_are_written_from_the_rows() -> None:
    assert stale(WRITTEN) == [], "run `make clients`"


def test_a_stale_file_is_named() -> None:
    place, text = next(iter(WRITTEN.items()))
    assert stale({place: text + "\n"}) == [str(place.relative_to(ROOT))]
