"""Extension: calls of models in trials."""

from soorma_ai.features.trials import statements
from soorma_ai.features.trials.ports import FEATURE, TRIALS
from soorma_ai.features.trials.tables import TRIAL_TABLES
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table


class SqlTrials(StorePart):
    trial_calls = reading(statements.find_calls)
    open_trial_call = writing(statements.open_call)
    close_trial_call = writing(statements.close_call)


EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(
        statements=tuple(split(TRIAL_TABLES)),
        tables=(Table("trial_call"),),
        parts={TRIALS: SqlTrials},
        removal=Removal(some_of_person=statements.SOME_OF_PERSON, old=statements.OLD),
    ),
)
