"""The examples run offline as they stand, and what they show is what the store says happened."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from offline_kit import ROOT, events_in, run

from soorma_ai import EventEnvelope

EXAMPLES = ROOT / "examples"
QUICKSTART = EXAMPLES / "01_quickstart.py"
ORDERS = EXAMPLES / "02_order_approval" / "main.py"
FULFILMENT = EXAMPLES / "03_delegation" / "main.py"
RESEARCH = EXAMPLES / "04_state_machine" / "main.py"
ADVICE = EXAMPLES / "05_research_advisor" / "main.py"

CHARGE, RELEASE, SHIP = "payment.charge.requested", "inventory.release.requested", "shipment.requested"
ASKED, ANSWERED = "plan.wait.opened", "plan.wait.answered"

# The client library takes seconds to load, so these runs of one example share a process.
SEVERAL_RUNS = """
import contextlib, io, json, runpy, sys

main, runs = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, main.rpartition("/")[0])
for name, arguments in runs.items():
    sys.argv = [main, *arguments, "--store", f"sqlite:///{name}.db"]
    said, complained, code = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        try:
            runpy.run_path(main, run_name="__main__")
        except SystemExit as end:
            code = end.code
    print(json.dumps({"name": name, "code": code, "out": said.getvalue(), "err": complained.getvalue()}))
"""

RUNS = {
    "reject": ["--answer", "reject"],
    "none": ["--answer", "none"],
    "small": ["--amount", "800"],
}


@dataclass(frozen=True)
class Ran:
    """One run of an example. `events` are in the order in which they were stored, the goal first."""

    code: int
    out: str
    err: str
    events: list[EventEnvelope]

    def place(self, type: str) -> int:
        return [event.type for event in self.events].index(type)

    def has(self, type: str) -> bool:
        return bool(self.all(type))

    def all(self, type: str) -> list[EventEnvelope]:
        return [event for event in self.events if event.type == type]

    @property
    def result(self) -> dict[str, Any]:
        """What the planner answered its caller."""
        (reply,) = self.all(f"{self.events[0].type}.completed")
        assert reply.data["success"] is True
        assert isinstance(reply.data["result"], dict)
        return reply.data["result"]


def several(folder: Path, main: Path, arguments: dict[str, list[str]]) -> dict[str, Ran]:
    """By their names, in one process."""
    ran = run(folder, "-c", SEVERAL_RUNS, main, json.dumps(arguments))
    assert ran.returncode == 0, ran.stderr
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    return {t["name"]: Ran(t["code"], t["out"], t["err"], events_in(folder / f"{t['name']}.db")) for t in told}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    folder = tmp_path_factory.mktemp("orders")
    approved = run(folder, ORDERS, "--answer", "approve", "--store", "sqlite:///approve.db")
    done = Ran(approved.returncode, approved.stdout, approved.stderr, events_in(folder / "approve.db"))
    return {"approve": done, **several(folder, ORDERS, RUNS)}


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("quickstart")
    return run(folder, QUICKSTART), folder


def test_the_quickstart_is_short() -> None:
    lines = [line for line in QUICKSTART.read_text().splitlines() if line.strip()]
    assert len(lines) <= 25


def test_the_quickstart_asks_and_books(quickstart: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    ran, folder = quickstart
    assert (ran.returncode, ran.stderr) == (0, "")
    question, result = ran.stdout.splitlines()
    assert question.startswith("assistant: ") and question.endswith("?")
    assert result == "result: {'message': 'Table 7 is yours on Saturday; clear sky, 24 degrees.'}"
    types = [event.type for event in events_in(folder / "quickstart.db")]
    assert types.index(ANSWERED) < types.index("table.book.requested")


@pytest.mark.parametrize("name", ["approve", *RUNS])
def test_every_run_of_the_order_example_ends_well_and_prints_its_trace(runs: dict[str, Ran], name: str) -> None:
    ran = runs[name]
    assert (ran.code, ran.err) == (0, "")
    assert "order.received" in ran.out
    assert "inventory.reserve.requested" in ran.out


def test_an_approved_payment_is_published_after_its_approval_and_once(runs: dict[str, Ran]) -> None:
    ran = runs["approve"]
    assert "maria's answer: accepted" in ran.out
    assert ran.place(ASKED) < ran.place(ANSWERED) < ran.place(CHARGE) < ran.place(SHIP)
    assert [event.data for event in ran.all(CHARGE)] == [{"order_id": "A1", "amount": 12000}]
    assert ran.result["status"] == "shipped"
    assert not ran.has(RELEASE)


def test_a_rejected_payment_is_never_published_and_the_goods_are_released(runs: dict[str, Ran]) -> None:
    ran = runs["reject"]
    assert "maria's answer: accepted" in ran.out
    assert ran.place(ASKED) < ran.place(ANSWERED) < ran.place(RELEASE)
    assert not ran.has(CHARGE) and not ran.has(SHIP)
    assert ran.result["status"] == "rejected"


def test_a_deadline_that_passes_is_a_no(runs: dict[str, Ran]) -> None:
    ran = runs["none"]
    assert "maria's answer" not in ran.out
    assert ran.place(ASKED) < ran.place(RELEASE)
    assert not ran.has(ANSWERED) and not ran.has(CHARGE) and not ran.has(SHIP)
    assert ran.result["status"] == "rejected"


def test_a_small_order_asks_nobody(runs: dict[str, Ran]) -> None:
    ran = runs["small"]
    assert not ran.has(ASKED)
    assert ran.place(CHARGE) < ran.place(SHIP)
    assert ran.result["status"] == "shipped"


FULFILMENTS = {
    "sequential": [],
    "parallel": ["--parallel"],
    "expired": ["--card", "expired"],
    "unpaid": ["--card", "expired", "--parallel"],
    "scarce": ["--quantity", "500"],
    "withdrawn": ["--quantity", "500", "--parallel"],
}
RESERVE, BOOK = "inventory.reserve.requested", "shipment.book.requested"
REFUND, CANCEL = "payment.refund.requested", "shipment.cancel.requested"


@pytest.fixture(scope="module")
def fulfilments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    return several(tmp_path_factory.mktemp("fulfilments"), FULFILMENT, FULFILMENTS)


def test_a_worker_asks_one_after_the_other_and_tells_how_far_it_is(fulfilments: dict[str, Ran]) -> None:
    ran = fulfilments["sequential"]
    assert (ran.code, ran.err) == (0, "")
    places = [ran.place(type) for type in (RESERVE, "inventory.reserved", CHARGE, "payment.charged", BOOK)]
    assert places == sorted(places)
    assert ran.out.splitlines()[:3] == [
        "  0%  reserving the goods",
        " 33%  charging the customer",
        " 67%  booking a carrier",
    ]
    assert "fulfilment reported 33%: charging the customer" in ran.out
    assert (ran.result["status"], ran.result["receipt"], ran.result["carrier"]) == (
        "shipped",
        "receipt-A1",
        "northbound",
    )


def test_a_worker_asks_all_at_once_and_joins_what_they_answer(fulfilments: dict[str, Ran]) -> None:
    ran = fulfilments["parallel"]
    assert (ran.code, ran.err) == (0, "")
    assert len({event.causation_id for type in (RESERVE, CHARGE, BOOK) for event in ran.all(type)}) == 1
    assert " 67%  2 of 3 have answered" in ran.out
    assert len(ran.all("order.fulfilled")) == 1
    assert ran.result == fulfilments["sequential"].result


@pytest.mark.parametrize(
    ("name", "why", "undone"),
    [
        ("expired", "the card has expired", {RELEASE}),
        ("unpaid", "the card has expired", {RELEASE, CANCEL}),
        ("scarce", "only 100 of lamp in stock", set()),
        ("withdrawn", "only 100 of lamp in stock", {REFUND, CANCEL}),
    ],
)
def test_when_a_part_fails_what_was_done_is_undone(
    fulfilments: dict[str, Ran], name: str, why: str, undone: set[str]
) -> None:
    ran = fulfilments[name]
    assert ran.code == 0
    assert sorted(event.type for event in ran.events if event.type in (RELEASE, REFUND, CANCEL)) == sorted(undone)
    assert ran.result == {"status": "cancelled", "why": why}
    assert why in ran.out and " failed after " in ran.out


RESEARCHES = {
    "owls": (["--topic", "owls"], "result: 2 book(s), first of all 'Owls of the north'", "told_first"),
    "storms": (["--topic", "storms"], "result: 1 book(s), first of all 'A year of storms'", "told_second"),
    "car": (["--answer", "car"], "result: 1 book(s), first of all 'Fast and loud: a car and its makers'", "told_third"),
    "nonsense": (["--answer", "tree"], "no result: nothing was found", "failed"),
    "none": (["--answer", "none"], "no result: nothing was found: no answer to user.clarification.provided", "failed"),
}


@pytest.fixture(scope="module")
def researches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    folder = tmp_path_factory.mktemp("research")
    return several(folder, RESEARCH, {name: options for name, (options, _, _) in RESEARCHES.items()})


@pytest.mark.parametrize("name", RESEARCHES)
def test_the_research_example_goes_every_way_of_its_machine(researches: dict[str, Ran], name: str) -> None:
    ran = researches[name]
    assert ran.code == 0
    assert RESEARCHES[name][1] in ran.out
    asked = ran.has(ASKED)
    assert asked is (name in ("car", "nonsense", "none"))
    assert ran.has(ANSWERED) is (name in ("car", "nonsense"))
    assert len(ran.all("web.search.requested")) == {"owls": 1, "none": 1}.get(name, 2)
    (answer,) = ran.all("research.goal.completed")
    assert answer.data["success"] is RESEARCHES[name][2].startswith("told")


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    return several(tmp_path_factory.mktemp("advice"), ADVICE, {use: ["--answer", use] for use in ("work", "tours")})


@pytest.mark.parametrize(("use", "source"), [("work", "city-test"), ("tours", "alps-diary")])
def test_the_advisor_asks_and_reports_what_a_second_planner_found(
    advice: dict[str, Ran], use: str, source: str
) -> None:
    ran = advice[use]
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.place(ASKED) < ran.place(ANSWERED) < ran.place("research.wanted") < ran.place("research.wanted.completed")
    )
    (delegated,), (found,) = ran.all("research.wanted"), ran.all("research.wanted.completed")
    assert (delegated.source, delegated.data["words"], found.source) == ("advisor", [use], "researcher")
    read = [event.data["article"] for event in ran.all("archive.read.requested")]
    reasons = ran.result["reasons"]
    assert source in read and [reason["source"] for reason in reasons] == read
    dialogue, report = ran.out.split("\n\n")[:2]
    assert dialogue.splitlines()[2] == f"you: {use}"
    assert report.splitlines()[:2] == [ran.result["title"], f"  {ran.result['advice']}"]
    assert all(f"({reason['source']})" in report for reason in reasons)
