"""Progress of long work as text and as a share."""

import asyncio
from collections.abc import Mapping

import pytest

from soorma_ai.apps.cli.view.progress import ProgressView, Stage, stage_of_plan, watched
from soorma_ai.context_parts.progress import ActionStatus, PlanProgress, Report
from soorma_ai.kernel.domain.plans import PlanStatus
from unit.rows import PLAN, at


def progress(counts: Mapping[ActionStatus, int], **reports: tuple[float, str]) -> PlanProgress:
    final = sum(number for status, number in counts.items() if status.is_final)
    return PlanProgress(
        plan_id=PLAN,
        agent="orders",
        goal_event="order.place",
        status=PlanStatus.RUNNING,
        reason=None,
        started_at=at(0),
        updated_at=at(0),
        counts={status: counts.get(status, 0) for status in ActionStatus},
        total=sum(counts.values()),
        done=final,
        reports={id: Report(share, message, at(1)) for id, (share, message) in reports.items()},
    )


DONE, RUNNING, FAILED = ActionStatus.COMPLETED, ActionStatus.RUNNING, ActionStatus.FAILED


@pytest.mark.parametrize(
    ("found", "share", "words"),
    [
        (progress({}), None, "plan running"),
        (progress({DONE: 3, RUNNING: 1}), 0.75, "3 of 4 requests done, 1 running, 0 failed"),
        (
            progress({DONE: 1, FAILED: 1, RUNNING: 2}, one=(0.5, "read\nfile 2"), two=(1.0, "ready")),
            0.625,
            "2 of 4 requests done, 2 running, 1 failed; 50% read file 2",
        ),
    ],
)
def test_a_plans_progress_has_a_share_and_a_text_from_requests_and_reports(
    found: PlanProgress, share: float | None, words: str
) -> None:
    assert stage_of_plan(found) == Stage(share, words)


async def test_each_change_of_progress_is_one_line_outside_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    ends, shown = asyncio.Event(), 0

    async def look() -> Stage:
        nonlocal shown
        shown += 1
        if shown == 4:
            ends.set()
        return Stage(shown // 2 / 2, f"{shown // 2} of 2 done")

    async def work() -> str:
        await ends.wait()
        return "result"

    with ProgressView() as view:
        assert await watched(work(), look, view, seconds=0) == "result"
    assert capsys.readouterr().err.splitlines()[:3] == ["0 of 2 done", "1 of 2 done", "2 of 2 done"]
    with ProgressView(is_quiet=True) as view:
        view.show(Stage(None, "nothing"))
    assert capsys.readouterr().err == ""
