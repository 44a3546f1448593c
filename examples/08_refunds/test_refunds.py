"""The same agents by a script, by a clock that is moved, and by a recording of their model."""

from decimal import Decimal

import pytest
from main import let_time_pass, refund
from refunds import DEADLINE, Verdict, Wish, make_bell, make_orders, make_payments, make_planner

from soorma_ai import NotFound, PlanFailed, Platform
from soorma_ai.testing import Cassette, Ledger, ScriptedReasoner, VirtualClock, complete, publish

WISH = Wish(order_id="A2", reason="It does not fit.")
FIND = publish("order.find.requested", order_id="A2")
PAY = publish("refund.pay.requested", order_id="A2", amount="900.00")
DECLINED = complete({"order_id": "A2", "status": "declined", "message": "Nobody could approve it."})
REFUNDED = complete({"order_id": "A2", "status": "refunded", "message": "It is on its way."})


async def test_a_refund_over_the_limit_is_paid_when_a_lead_says_yes() -> None:
    paid = dict[str, Decimal]()
    async with Platform("sqlite://", clock=VirtualClock()) as platform:
        await platform.start(make_planner(ScriptedReasoner([FIND, PAY, REFUNDED])), make_orders(), make_payments(paid))
        plan = await platform.submit("refund.wanted", WISH)
        question = await plan.next_wait()
        assert question is not None and question.proposed_data == {"order_id": "A2", "amount": "900.00"}
        clerk = platform.as_user(tenant_id="default", user_id="carl", roles={"clerk"})
        lead = platform.as_user(tenant_id="default", user_id="lena", roles={"lead"})
        with pytest.raises(NotFound):  # it is not asked of clerks
            await clerk.answer(question.wait_id, {"approved": True})
        assert paid == {}
        assert await lead.answer(question.wait_id, {"approved": True}) == "accepted"
        assert await lead.answer(question.wait_id, {"approved": True}) == "duplicate"
        assert (await plan.result(as_=Verdict)).status == "refunded"
    assert [*paid.values()] == [Decimal("900.00")]


class Provider(dict[str, Decimal]):
    """Payment provider outside of the process: its payments are effects of the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def setdefault(self, key: str, amount: Decimal) -> Decimal:
        self.ledger.write("payment", key=key, amount=str(amount))
        return amount


@pytest.mark.soorma_crash
async def test_a_refund_is_paid_once_with_a_crash_at_any_commit(soorma_ledger: Ledger) -> None:
    script = ScriptedReasoner([FIND, PAY, REFUNDED])
    async with Platform("sqlite://") as platform:
        await platform.start(make_planner(script), make_orders(), make_payments(Provider(soorma_ledger)))
        plan = await platform.submit("refund.wanted", WISH)
        question = await plan.next_wait(timeout=20)
        lead = platform.as_user(tenant_id="default", user_id="lena", roles={"lead"})
        assert question and await lead.answer(question.wait_id, {"approved": True}) == "accepted"
        assert (await plan.result(as_=Verdict, timeout=20)).status == "refunded"
    assert [effect.data for effect in soorma_ledger.effects] == [{"amount": "900.00"}]


async def test_a_lead_is_reminded_and_when_the_deadline_passes_nothing_is_paid() -> None:
    paid, rung, clock = dict[str, Decimal](), list[str](), VirtualClock()
    async with Platform("sqlite://", clock=clock) as platform:
        script = ScriptedReasoner([FIND, PAY, DECLINED])
        await platform.start(make_planner(script), make_orders(), make_payments(paid), make_bell(rung))
        begun, plan = clock.now(), await platform.submit("refund.wanted", WISH)
        await plan.next_wait()
        await let_time_pass(clock, rung)
        assert (await plan.result(as_=Verdict)).status == "declined"
    assert (clock.now() - begun, len(rung), paid) == (DEADLINE, 1, {})


async def test_what_the_model_may_not_answer_fails_the_plan() -> None:
    async with Platform("sqlite://", clock=VirtualClock()) as platform:
        vague = complete({"order_id": "A2", "status": "perhaps", "message": ""})
        await platform.start(make_planner(ScriptedReasoner([vague] * 3)), make_orders())
        plan = await platform.submit("refund.wanted", WISH)
        with pytest.raises(PlanFailed) as failed:
            await plan.result()
    assert failed.value.code == "payload_mismatch"


@pytest.mark.parametrize(("order_id", "answer"), [("A1", "approve"), ("A2", "reject")])
async def test_the_model_decides_as_it_was_recorded(
    order_id: str, answer: str, soorma_cassette: Cassette, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await refund("sqlite://", order_id, answer) == 0
    assert ("refunded" if order_id == "A1" else "declined") in capsys.readouterr().out
    assert soorma_cassette.calls >= 3
