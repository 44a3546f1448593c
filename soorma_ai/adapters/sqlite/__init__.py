from soorma_ai.adapters.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
