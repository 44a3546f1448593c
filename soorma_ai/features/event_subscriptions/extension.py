"""Extension: subscriptions to events by URL, through gateways."""

from soorma_ai.features.event_subscriptions import statements
from soorma_ai.features.event_subscriptions.ports import FEATURE, SUBSCRIPTIONS
from soorma_ai.features.event_subscriptions.tables import SUBSCRIPTION_TABLES
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table


class SqlEventSubscriptions(StorePart):
    keep_subscription = writing(statements.keep_subscription)
    subscriptions_of = reading(statements.subscriptions_of)
    remove_subscription = writing(statements.remove_subscription)
    due_subscriptions = reading(statements.due_subscriptions)
    claim_subscription = writing(statements.claim_subscription)
    save_subscription = writing(statements.save_subscription)


EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(
        statements=tuple(split(SUBSCRIPTION_TABLES)),
        tables=(Table("event_subscription"),),
        parts={SUBSCRIPTIONS: SqlEventSubscriptions},
        removal=Removal(of_person=statements.OF_PERSON, old=statements.OLD),
    ),
)
