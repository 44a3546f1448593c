"""Extension: pushes of tasks to URLs, through gateways."""

from soorma_ai.features.push import statements
from soorma_ai.features.push.ports import FEATURE, PUSHES
from soorma_ai.features.push.tables import PUSH_TABLES
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table


class SqlPushes(StorePart):
    keep_push = writing(statements.keep_push)
    pushes_of = reading(statements.pushes_of)
    remove_push = writing(statements.remove_push)
    due_pushes = reading(statements.due_pushes)
    claim_push = writing(statements.claim_push)
    save_push = writing(statements.save_push)


EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(
        statements=tuple(split(PUSH_TABLES)),
        tables=(Table("task_push"),),
        parts={PUSHES: SqlPushes},
        removal=Removal(of_person=statements.OF_PERSON, old=statements.OLD),
    ),
)
