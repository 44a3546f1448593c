"""Extension: claims, absences, notices and links."""

from soorma_ai.features.human_tasks import statements
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.human_tasks.tables import ANSWERED, PEOPLE_TABLES
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.people import Claim
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.ports import COLLEAGUES
from soorma_ai.kernel.sql.connection import Connection, Removal
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table
from soorma_ai.kernel.sql.tables import events as log


class SqlPeople(StorePart):
    claims = reading(statements.claims)
    release = writing(statements.release)
    snooze = writing(statements.snooze)
    snoozed = reading(statements.snoozed)
    absences = reading(statements.absences)
    stood_in_for = reading(statements.stood_in_for)
    leave = writing(statements.leave)
    come_back = writing(statements.come_back)
    notices = reading(statements.notices)
    tell = writing(statements.tell)
    look = writing(statements.look)
    colleagues = reading(statements.colleagues)
    colleague = reading(statements.colleague)
    find_alike = reading(statements.find_alike)
    add_link = writing(statements.add_link)
    link = reading(statements.link)
    links = reading(statements.links)
    revoke_link = writing(statements.revoke_link)

    async def claim(self, claim: Claim, was: Claim | None, announcement: EventEnvelope | None = None) -> bool:
        def keep(db: Connection) -> bool:
            is_kept = statements.claim(db, claim, was)
            if is_kept and announcement is not None:
                log.publish_once(db, announcement)
            return is_kept

        is_kept, _ = await self.publish(keep, claim.at)
        return is_kept


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
