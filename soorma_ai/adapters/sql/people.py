"""The part of a store that is about people and their questions."""

from soorma_ai.adapters.sql.connection import Connection
from soorma_ai.adapters.sql.database import Part, reading, writing
from soorma_ai.adapters.sql.tables import events as log
from soorma_ai.adapters.sql.tables import people
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.inbox import Claim


class SqlPeople(Part):
    claims = reading(people.claims)
    release = writing(people.release)
    absences = reading(people.absences)
    stood_in_for = reading(people.stood_in_for)
    leave = writing(people.leave)
    come_back = writing(people.come_back)
    notices = reading(people.notices)
    tell = writing(people.tell)
    look = writing(people.look)
    colleagues = reading(people.colleagues)
    colleague = reading(people.colleague)
    find_alike = reading(people.find_alike)
    add_link = writing(people.add_link)
    link = reading(people.link)
    links = reading(people.links)
    revoke_link = writing(people.revoke_link)

    async def claim(self, claim: Claim, was: Claim | None, announcement: EventEnvelope | None = None) -> bool:
        def keep(db: Connection) -> bool:
            is_kept = people.claim(db, claim, was)
            if is_kept and announcement is not None:
                log.publish_once(db, announcement)
            return is_kept

        is_kept, _ = await self.publish(keep, claim.at)
        return is_kept
