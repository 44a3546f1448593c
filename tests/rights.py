"""Rights of all calls, by their names."""

from collections.abc import Mapping

from soorma_ai.features.dead_letters import service as letters
from soorma_ai.features.human_tasks import service as inbox
from soorma_ai.features.identity import keys
from soorma_ai.features.knowledge import service as memos
from soorma_ai.features.plan_memory import service as memory
from soorma_ai.features.plan_memory import sessions
from soorma_ai.features.tracking import service as reader
from soorma_ai.features.tracking import tracker
from soorma_ai.features.trials import service as trials
from soorma_ai.features.trials.cases import service as cases
from soorma_ai.features.trials.forks import service as forks
from soorma_ai.features.trials.retirement import service as models
from soorma_ai.features.upkeep import service as upkeep
from soorma_ai.kernel.domain.calls import Right
from soorma_ai.kernel.rules import authority
from soorma_ai.kernel.runtime.client import client, operator
from soorma_ai.kernel.runtime.views import registry

_ROWS = (
    *(client.PLANS, client.REQUESTS, client.EVENTS, client.QUESTIONS),
    *(memory.CALLS, sessions.CALLS, registry.CALLS, tracker.CALLS, inbox.CALLS, keys.CALLS, memos.CALLS),
    *(operator.CALLS, letters.CALLS, reader.CALLS, trials.CALLS, cases.CALLS, forks.CALLS, models.CALLS, upkeep.CALLS),
)
_OTHERS = [forks.FORK_TO_ACT, *(one for one in vars(authority).values() if isinstance(one, Right))]

RIGHTS: Mapping[str, Right] = {one.name: one for one in (*_OTHERS, *(row for rows in _ROWS for row in rows))}
