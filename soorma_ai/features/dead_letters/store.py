"""The part of a store for dead letters."""

from soorma_ai.features.dead_letters import statements
from soorma_ai.kernel.sql.database import StorePart, reading, writing


class SqlDeadLetters(StorePart):
    dead_letters = reading(statements.find_of_user)
    dead_letter = reading(statements.find)
    redrive = writing(statements.redrive)
    discard = writing(statements.discard)
