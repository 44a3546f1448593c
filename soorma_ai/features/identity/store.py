"""The part of a store for API keys."""

from soorma_ai.features.identity import statements
from soorma_ai.kernel.sql.database import StorePart, reading, writing


class SqlKeys(StorePart):
    add = writing(statements.add_key)
    find = reading(statements.find_key)
    ls = reading(statements.keys)
    revoke = writing(statements.revoke_key)
