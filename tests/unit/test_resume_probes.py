"""The probes of resumed work pass a system without a bug, and find each planted bug by its duty."""

import shutil
from pathlib import Path

import pytest

from bench.resume import probes
from bench.resume.probes import DUTIES, Subject, Trial

PROGRAM = "tests.unit.resume_subject"


@pytest.fixture(autouse=True)
def _one_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "POINTS", ("pay:before",))


def subject(bug: str = "") -> Subject:
    def copy(store: str, folder: Path) -> str:
        shutil.copy(store.partition(":")[2], folder)
        return f"{bug}:{folder}/store.json"

    return Subject("a file", "JSON", PROGRAM, None, lambda folder: f"{bug}:{folder}/store.json", copy)


@pytest.mark.parametrize("duty", DUTIES)
def test_a_system_without_a_bug_holds_each_duty(duty: str, tmp_path: Path) -> None:
    assert DUTIES[duty](Trial(subject(), tmp_path / "trial")) == ""


@pytest.mark.parametrize(
    ("bug", "duty", "fault"),
    [
        ("drafts again", "prefix continuation", "drafts: 2 for 1"),
        ("pays each", "effects once", "payments by 16 racers: 16 for 1"),
        ("forks the answer", "fork determinism", "fork's result: 7 for 9"),
        ("forgets the answer", "checkpoint validity", "result after a death pay:before: None for 7"),
        ("takes strays", "consume once", "payments after a stray answer: 2 for 1"),
        ("keys by place", "recovery determinism", "two recoveries differ"),
        ("tells nothing", "fork and again", "a second answer is told as the first"),
    ],
)
def test_a_planted_bug_is_found_by_its_duty(bug: str, duty: str, fault: str, tmp_path: Path) -> None:
    assert fault in DUTIES[duty](Trial(subject(bug), tmp_path / "trial"))


def test_a_program_without_an_answer_fails_its_duty() -> None:
    broken = Subject("nothing", "none", "tests.unit.no_such_program", None, lambda folder: "", lambda store, _: store)
    assert "no answer: " in probes.probe(broken, "consume once")
