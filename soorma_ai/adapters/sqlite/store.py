"""The embedded store."""

from pathlib import Path

from soorma_ai.adapters.sqlite.database import Database
from soorma_ai.kernel.sql.parts import SqlStore


class SqliteStore(SqlStore):
    """`path` None keeps everything in memory, for as long as the store is open. `read_only` is for looking at a file
    that another process may own."""

    database: Database
    database_type = Database

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        super().__init__(self.database_type(path, read_only=read_only))
