"""Extension: calls of models in trials, cases, and checks of upgrades."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.features.trials import statements
from soorma_ai.features.trials.cases import statements as case_statements
from soorma_ai.features.trials.cases.loop import keep_making_cases
from soorma_ai.features.trials.cases.ports import CASES
from soorma_ai.features.trials.forks.ports import FORKS
from soorma_ai.features.trials.forks.statements import begin_fork
from soorma_ai.features.trials.ports import FEATURE, TRIALS
from soorma_ai.features.trials.tables import TRIAL_TABLES
from soorma_ai.features.trials.upgrade.ports import CONTRACTS
from soorma_ai.features.trials.upgrade.statements import find_registrations
from soorma_ai.kernel.domain.effects import Effect
from soorma_ai.kernel.domain.plans import PlanRecord
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


class SqlCases(StorePart):
    cases = reading(case_statements.find_cases)
    keep_cases = writing(case_statements.keep_cases)
    remove_case = writing(case_statements.remove_case)
    reviews = reading(case_statements.find_reviews)
    end_review = writing(case_statements.end_review)


class SqlForks(StorePart):
    async def begin_fork(self, plan: PlanRecord, effects: Sequence[Effect], now: datetime) -> bool:
        is_new, _ = await self.publish(lambda db: begin_fork(db, plan, effects), now)
        return is_new


class SqlContracts(StorePart):
    registrations = reading(find_registrations)
    open_work = reading(find_open_work)


EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(
        statements=tuple(split(TRIAL_TABLES)),
        tables=(Table("trial_call"), Table("review"), Table("decision_case")),
        parts={TRIALS: SqlTrials, CASES: SqlCases, CONTRACTS: SqlContracts, FORKS: SqlForks},
        closing=case_statements.CLOSING,
        removal=Removal(
            of_questions=case_statements.OF_QUESTIONS,
            of_person=case_statements.OF_PERSON,
            some_of_person=(*statements.SOME_OF_PERSON, *case_statements.SOME_OF_PERSON),
            old=statements.OLD,
        ),
    ),
    loops={"cases": keep_making_cases},
)
