"""Extension: calls of models in trials, and checks of upgrades."""

from soorma_ai.features.trials import statements
from soorma_ai.features.trials.ports import FEATURE, TRIALS
from soorma_ai.features.trials.tables import TRIAL_TABLES
from soorma_ai.features.trials.upgrade.ports import CONTRACTS
from soorma_ai.features.trials.upgrade.statements import find_registrations
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.connection import Removal
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.schema import statements as split
from soorma_ai.kernel.sql.storage import Storage, Table
from soorma_ai.kernel.sql.tables.open_work import find_open_work


class SqlTrials(StorePart):
    trial_calls = reading(statements.find_calls)
    open_trial_call = writing(statements.open_call)
    close_trial_call = writing(statements.close_call)


class SqlContracts(StorePart):
    registrations = reading(find_registrations)
    open_work = reading(find_open_work)


EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(
        statements=tuple(split(TRIAL_TABLES)),
        tables=(Table("trial_call"),),
        parts={TRIALS: SqlTrials, CONTRACTS: SqlContracts},
        removal=Removal(some_of_person=statements.SOME_OF_PERSON, old=statements.OLD),
    ),
)
