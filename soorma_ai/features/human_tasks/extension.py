"""Extension: claims, absences, notices and links."""

from soorma_ai.features.human_tasks import statements
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.human_tasks.store import SqlPeople
from soorma_ai.features.human_tasks.tables import ANSWERED, PEOPLE_TABLES
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.ports import COLLEAGUES
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table

EXTENSION = Extension(
    name="human_tasks",
    storage=Storage(
        statements=(*split(ANSWERED), *split(PEOPLE_TABLES)),
        tables=tuple(map(Table, ("claim", "snooze", "notice", "colleague", "absence", "link"))),
        parts={PEOPLE: SqlPeople, COLLEAGUES: SqlPeople},
        closing=statements.CLOSING,
        removal=Removal(
            of_questions=statements.OF_QUESTIONS,
            of_person=statements.OF_PERSON,
            some_of_person=(statements.NOTICES_OF_PERSON,),
            old=statements.OLD,
            begin=statements.end_sessions,
        ),
    ),
)
