"""Damage of a write-ahead log, found before SQLite opens it: SQLite takes a damaged one for its end, without a word.

A torn tail is none: the last transaction may have reached the disk in part, and in any order, when power was lost. A
later transaction proves that the one before it was whole, since each is synced before the next begins.

A log in use changes while it is read: a frame that was caught half written, or the beginning of a log that its writer
began anew, looks damaged once. Damage is the same at the next look.
"""

import struct
import sys
from array import array
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path

from msgspec import Struct

from soorma_ai.errors import ConfigError

_HEADER, _FRAME = struct.Struct(">IIII8sII"), struct.Struct(">II8sII")
# Of these the second says that checksums are of big-endian words.
_MAGIC = (0x377F0682, 0x377F0683)
_MASK = 2**32 - 1
_CHUNK = 2**20
MOST_LOOKS = 5


class _Header(Struct, frozen=True):
    size: int
    salts: bytes
    sums: tuple[int, int]
    swaps: bool


def check_wal(store: Path) -> None:
    """Raise ConfigError where the log beside this file is damaged."""
    log = store.with_name(f"{store.name}-wal")

    def look() -> str:
        with log.open("rb") as file:
            return _damage_in(file)

    try:
        damage = lasting_damage(look)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"{log} cannot be read ({error.strerror}); give its owner the right to read it") from error
    if damage:
        raise ConfigError(
            f"{log} is damaged ({damage}), and SQLite would drop all later changes without a word: restore "
            f"{store.name} from a backup, or move {log.name} away to go on with what {store.name} holds by itself"
        )


def lasting_damage(look: Callable[[], str]) -> str:
    """Return the damage that two looks in a row find; empty for none, and for a log that changes at every look."""
    found = look()
    for _ in range(MOST_LOOKS):
        before, found = found, look() if found else ""
        if found == before:
            return found
    return ""


def _damage_in(file: BufferedReader) -> str:
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return ""
    header = _read_header(head)
    if header is None:
        return "its header is no header of a log" if _has_content(head, file) else ""
    return _damage_of_frames(file, header)


def _read_header(head: bytes) -> _Header | None:
    magic, _, size, _, salts, *sums = _HEADER.unpack(head)
    if magic not in _MAGIC or size < 512 or size > 65536 or size & (size - 1):
        return None
    swaps = (magic == _MAGIC[1]) != (sys.byteorder == "big")
    found = _sum_up(head[:24], (0, 0), swaps=swaps)
    return _Header(size, salts, found, swaps) if found == tuple(sums) else None


def _has_content(head: bytes, file: BufferedReader) -> bool:
    """Tell whether there is more than room: a file may have been made longer before anything was written."""
    first = file.read(1)
    if head.strip(b"\0"):
        return bool(first)
    return bool(first.strip(b"\0")) or any(chunk.strip(b"\0") for chunk in iter(lambda: file.read(_CHUNK), b""))


def _damage_of_frames(file: BufferedReader, header: _Header) -> str:
    """Look for the first frame that does not fit, and whether a later transaction stands behind its own."""
    sums, number, broken, has_ended = header.sums, 0, 0, False
    while len(frame := file.read(_FRAME.size + header.size)) == _FRAME.size + header.size:
        number += 1
        page, pages_after_commit, salts, *told = _FRAME.unpack_from(frame)
        is_own = page > 0 and salts == header.salts
        if broken and is_own and has_ended:
            return f"frame {broken} does not fit its checksum, and {number} was stored after it"
        if not broken:
            if is_own:
                sums = _sum_up(frame[_FRAME.size :], _sum_up(frame[:8], sums, swaps=header.swaps), swaps=header.swaps)
            if is_own and sums == tuple(told):
                continue
            broken = number
        has_ended |= is_own and pages_after_commit > 0
    return ""


def _sum_up(content: bytes, sums: tuple[int, int], *, swaps: bool) -> tuple[int, int]:
    """Return the checksum of the format, continued from that of the preceding bytes."""
    words = array("I", content)
    if swaps:
        words.byteswap()
    one, two = sums
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two
