"""Extension: dead letters, for operators."""

from soorma_ai.features.dead_letters.ports import FEATURE, LETTERS
from soorma_ai.features.dead_letters.store import SqlDeadLetters
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.storage import Storage

EXTENSION = Extension(name=FEATURE, storage=Storage(parts={LETTERS: SqlDeadLetters}))
