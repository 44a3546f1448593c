"""Advisory locks of a store: the common lock of all writers, a lock for each key and marks in the log, for as long as
their transaction; and the presence of processes."""

from collections.abc import Iterable
from hashlib import blake2b

_CLASS, _SCHEMA = "hashtext('soorma writes')", "hashtext(current_schema())"
LOCK = f"SELECT pg_advisory_xact_lock({_CLASS}, {_SCHEMA})"
_SHARE = f"pg_advisory_xact_lock_shared({_CLASS}, {_SCHEMA})"

# A transaction that shares the lock of all writers holds the last place of the log at its begin, below this class: its
# events come behind that. Read with the rights of the house.
_MARKS = "hashtext('soorma log ' || current_schema())"
ROUND = 2**31 - 1
MARK = f"SELECT pg_advisory_xact_lock_shared({_MARKS}, (coalesce(max(seq), 0) & {ROUND})::integer) FROM event"

# Each process holds the lock of its own number in this class, and all of one store that of 0, as long as it lasts.
PRESENCE = "hashtext('soorma presence ' || current_schema())"


def _listed_as(number: str) -> str:
    """Return a number of a lock as it is listed: unsigned, where it is taken signed."""
    return f"({number}::bigint & 4294967295)"


def _is_of(lock_class: str) -> str:
    is_ours = "locktype = 'advisory' AND datname = current_database() AND objsubid = 2"
    return f"{is_ours} AND classid::bigint = {_listed_as(lock_class)}"


LISTED = "pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
IS_MARK, IS_PRESENCE = _is_of(_MARKS), _is_of(PRESENCE)
IS_COMMON = f"{_is_of(_CLASS)} AND objid::bigint = {_listed_as(_SCHEMA)}"


def share_lock(keys: Iterable[str]) -> str:
    """Return the statement that shares the lock of all writers and takes those of the keys, always in the same order,
    with the rights of the house for the mark."""
    places = sorted({int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), signed=True) for key in keys})
    locks = _SHARE, *(f"pg_advisory_xact_lock({place})" for place in places)
    return f"SELECT set_config('soorma.house', 'on', true), {', '.join(locks)}"
