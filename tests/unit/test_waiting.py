"""The state of a plan without a result, as one sentence."""

from datetime import timedelta
from typing import Any

import pytest

from soorma_ai.kernel.domain.expectations import Expectation, Untaken
from soorma_ai.kernel.domain.people import AnswerDecision, Ask
from soorma_ai.kernel.domain.plans import PlanStatus, Rest
from soorma_ai.kernel.rules.plans.waiting import describe_state
from unit.rows import at, expectation

ASK = Ask("input_required", "Which slot?", {"type": "object"}, (AnswerDecision.RESPOND,))


def open_expectation(kind: str, **changes: Any) -> Expectation:
    return expectation("e1", kind, 0, **changes)


@pytest.mark.parametrize(
    ("status", "waits", "told"),
    [
        (None, [], "it is not taken by a planner yet"),
        (PlanStatus.RUNNING, [], "it is running"),
        (PlanStatus.COMPLETED, [open_expectation("reply")], "it is completed"),
        (
            PlanStatus.PAUSED,
            [open_expectation("offer", event_type="")],
            "it is paused; it is parked: no live agent offers any event",
        ),
        (
            PlanStatus.PAUSED,
            [open_expectation("offer", event_type="a", others=("b",))],
            "it is paused; it is parked: no agent takes 'a' or 'b'",
        ),
        (
            PlanStatus.RUNNING,
            [open_expectation("reply", subject="pay")],
            "it is running; it waits for the answer to 'pay'",
        ),
        (
            PlanStatus.PAUSED,
            [open_expectation("gate", subject="pay")],
            "it is paused; people have to approve 'pay' (soorma approve e1)",
        ),
        (
            PlanStatus.PAUSED,
            [open_expectation("wait", event_type="user.replied", ask=ASK)],
            "it is paused; it waits for 'user.replied', for which people are asked (soorma answer e1)",
        ),
        (
            PlanStatus.RUNNING,
            [open_expectation("wait", event_type="goods.came")],
            "it is running; it waits for 'goods.came'",
        ),
        (
            PlanStatus.PAUSED,
            [open_expectation("doubt", subject="pay")],
            "it is paused; people have to say what became of 'pay' (soorma inbox)",
        ),
        (PlanStatus.RUNNING, [expectation("e1", "reply", 0, 1)], "it is running"),
        (
            PlanStatus.RUNNING,
            [expectation(f"e{n}", "reply", 0, subject=f"part{n}") for n in range(5)],
            "it is running; it waits for the answer to 'part0'; it waits for the answer to 'part1'; "
            "it waits for the answer to 'part2'; 2 more",
        ),
    ],
)
def test_a_plans_state_names_the_events_and_people_it_waits_for(
    status: PlanStatus | None, waits: list[Expectation], told: str
) -> None:
    assert describe_state(status, waits, []) == told


def test_an_untaken_request_is_named_once() -> None:
    nobody = Untaken("e1", "till.requested", "clerk", None, None, None, at(0), at(60))
    told = describe_state(PlanStatus.RUNNING, [open_expectation("reply")], [nobody, nobody])
    assert told == "it is running; nobody takes 'till.requested' yet"


def test_a_plan_with_an_unavailable_model_names_the_end_of_its_rest() -> None:
    rest = Rest(at(0) + timedelta(minutes=5), "ModelUnavailable: no line")
    assert describe_state(PlanStatus.PAUSED, [], [], rest).endswith("UTC: ModelUnavailable: no line")
