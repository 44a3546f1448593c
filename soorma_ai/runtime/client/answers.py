"""What a person says about a question, judged and recorded: the first valid answer wins."""

from datetime import datetime

from soorma_ai.core.expecting.answers import judge_answer
from soorma_ai.core.expecting.wakeups import ANSWERED, wake_for
from soorma_ai.domain.expectations import FOR_PEOPLE
from soorma_ai.domain.people import ACCEPTED, Answer, AnswerOutcome, Person
from soorma_ai.errors import NotFound
from soorma_ai.ports import Plans


async def answer(plans: Plans, wait_id: str, given: Answer, person: Person, now: datetime) -> AnswerOutcome:
    """Raises NotFound for what is no question, or one of another tenant."""
    while True:
        asked = await plans.expectation(wait_id)
        if asked is None or asked.kind not in FOR_PEOPLE or asked.tenant_id != person.tenant_id:
            raise NotFound(f"no question {wait_id} is asked of tenant {person.tenant_id!r}; list the open ones")
        outcome = judge_answer(asked, given, person, now)
        if outcome != ACCEPTED or asked.answer is not None:
            return outcome
        if await plans.answer(wait_id, given, wake_for(ANSWERED, asked, now), now):
            return outcome
        # Somebody was first since the question was read: judged again, on what stands now.
