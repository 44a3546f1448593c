"""The planner, with a model or with a script in its place."""

from pydantic import BaseModel
from soorma_ai import ChoreographyPlanner, EventDefinition, Limits, Reasoner

MODEL = "openai/gpt-4o-mini"

RULES = """\
A customer wants money back. Look the order up first. If there is none, complete with status "refused".
Pay back what was paid, no more. Whether that needs an approval is not yours to decide: publish it.
If a person says no, complete with status "refused" and say so kindly.
"""


class Wanted(BaseModel):
    order_id: str
    reason: str


class Answered(BaseModel):
    status: str
    message: str


def planner(reasoner: Reasoner | None = None) -> ChoreographyPlanner:
    """Return the planner; `reasoner` decides in place of the model."""
    return ChoreographyPlanner(
        "refunds",
        goals=[
            EventDefinition(
                event_name="refund.wanted",
                description="Decide on a refund, and pay it.",
                payload_schema=Wanted,
                response_schema=Answered,
            )
        ],
        reasoning_model=None if reasoner else MODEL,
        reasoner=reasoner,
        system_instructions=RULES,
        limits=Limits(max_actions=5),
    )
