"""Plans as lines of a list: content and widths."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from contract.store_kit import NOW, plan
from msgspec.structs import replace

from soorma_ai.context_parts.progress import Awaited, PlanLine
from soorma_ai.features.tracking.plan_list import cells, row, short_count
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.surfaces.terminal.printing import GAP, text_of

GATE = Awaited("g", ExpectationKind.GATE, "payment.charge", ("manager", "cfo"), None)
OPEN = Awaited("w", ExpectationKind.WAIT, "slot.chosen", (), None)
REPLY = Awaited("r", ExpectationKind.REPLY, "stock.reserve", (), None)
OFFER = Awaited("o", ExpectationKind.OFFER, "parcel.bring", (), None)


def line(one: PlanRecord, *awaits: Awaited, tokens: int = 1_234, usd: float = 0.0123) -> PlanLine:
    known = {name: getattr(one, name) for name in ("plan_id", "root_plan_id", "status", "goal_event", "agent")}
    spent = Spent(0, 1, tokens, usd)
    more: dict[str, Any] = {"user_id": "ann", "session_id": None, "deadline": None, "reason": one.reason}
    return PlanLine(**known, **more, created_at=one.created_at, updated_at=one.updated_at, spent=spent, awaits=awaits)


def shown_cells(one: PlanRecord, *awaits: Awaited, state: str = "", now: datetime = NOW, width: int = 80) -> list[str]:
    return [text_of((part,)).plain for part in cells(one, state, line(one, *awaits), now, width)]


@pytest.mark.parametrize("status", PlanStatus)
@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("age", [timedelta(0), timedelta(minutes=59, seconds=59), timedelta(days=999)])
def test_the_fixed_columns_fit_the_width(status: PlanStatus, width: int, age: timedelta) -> None:
    one = replace(plan("p" * 36, status=status), goal_event="order." * 20, created_at=NOW - age)
    many = replace(line(one), spent=Spent(0, 1, 999_949_999, 999.99))
    shown = [text_of((part,)).plain for part in cells(one, "", many, NOW, width)][:-1]
    assert sum(len(cell) + GAP for cell in shown) <= width


@pytest.mark.parametrize(
    ("awaits", "state", "said"),
    [
        ((GATE,), "", "manager, cfo: payment.charge"),
        ((OPEN, REPLY), "", "anybody: slot.chosen; answer to stock.reserve"),
        ((GATE, OPEN, OFFER), "", "manager, cfo: payment.charge; anybody: slot.chosen; and more"),
        ((OFFER,), "it sleeps", "no agent takes parcel.bring; it sleeps"),
        ((), "", ""),
    ],
)
def test_a_line_names_the_people_and_events_its_plan_waits_for(
    awaits: tuple[Awaited, ...], state: str, said: str
) -> None:
    assert shown_cells(plan(), *awaits, state=state)[-1] == said


def test_an_ended_plan_shows_its_reason_and_its_duration() -> None:
    one = plan(status=PlanStatus.FAILED, reason="no\x1b[2J stock", updated_at=NOW + timedelta(hours=3, minutes=4))
    shown = shown_cells(one, GATE, now=NOW + timedelta(days=9))
    assert shown == ["plan-1", "failed", "3 h", "1.2k", "$0.0123", "goal.given", "no\\x1b[2J stock"]


def test_an_unknown_price_is_empty_in_a_row_for_programs() -> None:
    one = plan()
    unpriced = replace(line(one), spent=Spent(0, 1, 7, None, 0.5))
    assert row(one, "", unpriced)[-2:] == ("7", "")


def test_a_row_for_programs_has_whole_ids_and_numbers() -> None:
    one = plan("p" * 36)
    assert row(one, "it sleeps", line(one)) == (
        "p" * 36, "running", "goal.given", "planner", NOW.isoformat(), "it sleeps", "1234", "0.012300",
    )  # fmt: skip
    assert row(one, "", None)[-3:] == ("", "", "")


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0"), (999, "999"), (1_000, "1.0k"), (99_999, "100.0k"), (12_345_678, "12.3M")]
)
def test_a_count_is_short(number: int, said: str) -> None:
    assert short_count(number) == said
