"""The store on PostgreSQL."""

from soorma_ai.adapters.postgres.database import Database
from soorma_ai.adapters.sql.parts import SqlStore


class PostgresStore(SqlStore):
    """The store in the database of a `postgresql://` URL, which other processes may use at the same time. `read_only`
    is for looking at it."""

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        super().__init__(Database(url, read_only=read_only))
