"""Extension: calls of models in trials, cases, checks of upgrades, replaced models, and shadows."""

from soorma_ai.features.trials import statements
from soorma_ai.features.trials.cases import statements as case_statements
from soorma_ai.features.trials.cases.loop import keep_making_cases
from soorma_ai.features.trials.cases.ports import CASES
from soorma_ai.features.trials.forks.ports import FORKS
from soorma_ai.features.trials.forks.statements import SqlForks
from soorma_ai.features.trials.ports import FEATURE, TRIALS
from soorma_ai.features.trials.retirement.choice import choose_model
from soorma_ai.features.trials.retirement.ports import MODELS
from soorma_ai.features.trials.retirement.statements import SqlModels
from soorma_ai.features.trials.shadow import statements as shadow_statements
from soorma_ai.features.trials.shadow.loop import keep_asking
from soorma_ai.features.trials.shadow.ports import SHADOWS
from soorma_ai.features.trials.shadow.sampling import DecisionSampler
from soorma_ai.features.trials.shadow.statements import SqlShadows
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


class SqlCases(StorePart):
    cases = reading(case_statements.find_cases)
    keep_cases = writing(case_statements.keep_cases)
    remove_case = writing(case_statements.remove_case)
    reviews = reading(case_statements.find_reviews)
    end_review = writing(case_statements.end_review)


class SqlContracts(StorePart):
    registrations = reading(find_registrations)
    open_work = reading(find_open_work)


TABLES = ("trial_call", "review", "decision_case", "model_replacement", "shadow", "shadow_budget")

EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(
        statements=tuple(split(TRIAL_TABLES)),
        tables=tuple(map(Table, TABLES)),
        parts={
            TRIALS: SqlTrials,
            CASES: SqlCases,
            CONTRACTS: SqlContracts,
            MODELS: SqlModels,
            SHADOWS: SqlShadows,
            FORKS: SqlForks,
        },
        closing=case_statements.CLOSING,
        removal=Removal(
            of_questions=case_statements.OF_QUESTIONS,
            of_person=case_statements.OF_PERSON,
            some_of_person=(
                *statements.SOME_OF_PERSON,
                *case_statements.SOME_OF_PERSON,
                *shadow_statements.SOME_OF_PERSON,
            ),
            old=(*statements.OLD, *shadow_statements.OLD),
        ),
    ),
    loops={"cases": keep_making_cases, "shadows": keep_asking},
    observe=lambda counters: DecisionSampler(),
    choose_model=choose_model,
)
