from soorma_ai.adapters.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
