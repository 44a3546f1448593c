"""Refunds for customers, with and without a manager. The plugin of soorma_ai blocks all calls of a model."""

from typing import Any

import pytest
from soorma_ai import Agent, Platform
from soorma_ai.testing.cassettes import Cassette

from first_project.app import agents, offline


async def refund(order_id: str, running: tuple[Agent, ...], *, approved: bool | None = None) -> Any:
    """Return the answer to the customer. `approved` is the manager's answer to a question."""
    async with Platform("sqlite://") as platform:
        await platform.start(*running)
        plan = await platform.submit("refund.wanted", {"order_id": order_id, "reason": "it came broken"})
        question = await plan.next_wait(timeout=20)
        assert (question is None) is (approved is None)
        if question is not None:
            maria = platform.as_user(tenant_id="default", user_id="maria", roles={"manager"})
            assert await maria.answer(question.wait_id, {"approved": approved}) == "accepted"
        return await plan.result(timeout=20)


async def test_a_small_refund_is_paid_at_once() -> None:
    assert (await refund("B2", offline()))["status"] == "paid"


@pytest.mark.parametrize(("approved", "status"), [(True, "paid"), (False, "refused")])
async def test_a_large_refund_is_paid_when_a_manager_approves_it(approved: bool, status: str) -> None:
    assert (await refund("A1", offline(), approved=approved))["status"] == status


async def test_an_unknown_order_is_not_paid_back() -> None:
    assert (await refund("Z9", offline()))["status"] == "refused"


async def test_the_recorded_model_pays_what_a_manager_approves(soorma_cassette: Cassette) -> None:
    assert (await refund("A1", agents(), approved=True))["status"] == "paid"


@pytest.mark.soorma_crash
async def test_a_large_refund_survives_a_crash_at_every_commit() -> None:
    assert (await refund("A1", offline(), approved=True))["status"] == "paid"
