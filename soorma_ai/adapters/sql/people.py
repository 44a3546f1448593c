"""The part of a store that is about people and their questions."""

from soorma_ai.adapters.sql.database import Part, reading, writing
from soorma_ai.adapters.sql.tables import people


class SqlPeople(Part):
    claims = reading(people.claims)
    claim = writing(people.claim)
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
    answered_like = reading(people.answered_like)
    add_link = writing(people.add_link)
    link = reading(people.link)
    links = reading(people.links)
    revoke_link = writing(people.revoke_link)
