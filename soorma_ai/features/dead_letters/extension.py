"""Extension: dead letters, for operators."""

from soorma_ai.features.dead_letters import statements
from soorma_ai.features.dead_letters.ports import FEATURE, LETTERS
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.storage import Storage


class SqlDeadLetters(StorePart):
    dead_letters = reading(statements.find_of_user)
    dead_letter = reading(statements.find)
    redrive = writing(statements.redrive)
    discard = writing(statements.discard)


EXTENSION = Extension(name=FEATURE, storage=Storage(parts={LETTERS: SqlDeadLetters}))
