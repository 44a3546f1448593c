"""Advisory locks of a store, each for as long as its transaction: the common lock of all writers, a lock for each key,
and marks in the log."""

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

# A number of a lock is signed where it is taken, and unsigned where it is listed.
_IS_OURS = "locktype = 'advisory' AND datname = current_database() AND objsubid = 2"
IS_MARK = f"{_IS_OURS} AND classid::bigint = ({_MARKS}::bigint & 4294967295)"
IS_COMMON = (
    f"{_IS_OURS} AND classid::bigint = ({_CLASS}::bigint & 4294967295) "
    f"AND objid::bigint = ({_SCHEMA}::bigint & 4294967295)"
)
LISTED = "pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"


def share_lock(keys: Iterable[str]) -> str:
    """Return the statement that shares the lock of all writers and takes those of the keys, always in the same order,
    with the rights of the house for the mark."""
    places = sorted({int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), signed=True) for key in keys})
    locks = _SHARE, *(f"pg_advisory_xact_lock({place})" for place in places)
    return f"SELECT set_config('soorma.house', 'on', true), {', '.join(locks)}"
