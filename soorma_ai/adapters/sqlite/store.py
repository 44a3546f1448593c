"""The embedded store."""

from pathlib import Path

from soorma_ai.adapters.sqlite.database import Database
from soorma_ai.kernel.sql.parts import SqlStore
from soorma_ai.kernel.sql.storage import NO_FEATURES, FeatureSet


class SqliteStore(SqlStore):
    """Store in a file. `path` None keeps everything in memory, for as long as the store is open. `features` are the
    active ones. `read_only` is for looking at a file of another process."""

    database: Database
    database_type = Database

    def __init__(self, path: Path | None, features: FeatureSet = NO_FEATURES, *, read_only: bool = False) -> None:
        super().__init__(self.database_type(path, features, read_only=read_only))
