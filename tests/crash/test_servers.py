"""A small sample of the crash proof in a database of a PostgreSQL server, drawn by SEED; `make crash ARGS="--store
postgresql"` runs all of it, and plants its bugs."""

import os
import random
from collections.abc import Iterator

import failpoint_layer
import outage_layer
import pytest
from blows import Blow
from homes import Databases
from outage_layer import SENT
from postgres_server import is_there, shared
from programs import ORDER
from trial import Crashless, Stage

SEED = int(os.environ.get("SEED", "1"))

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not is_there(), reason="no wheel that brings a PostgreSQL server is installed"),
]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage(1, Databases(shared())) as stage:
        yield stage


@pytest.fixture(scope="module")
def crashless(stage: Stage) -> Crashless:
    return stage.crashless(ORDER)


@pytest.fixture
def sent(crashless: Crashless) -> str:
    print(f"SEED={SEED}")
    return f"{SENT}:{random.Random(SEED).randint(2, crashless.passed[SENT] - 4)}"


def test_a_kill_during_an_unanswered_commit_leaves_the_end_unchanged(
    stage: Stage, crashless: Crashless, sent: str
) -> None:
    trial = failpoint_layer.trial(stage, ORDER, crashless.end, failpoint_layer.Position(sent))
    assert trial.violations == ()
    assert trial.kills == 1


def test_a_commit_with_a_lost_answer_is_a_pause(stage: Stage, crashless: Crashless, sent: str) -> None:
    trial = outage_layer.trial(stage, ORDER, crashless.end, outage_layer.Position(sent, Blow.ANSWER))
    assert trial.violations == ()
    assert trial.errors == 1
