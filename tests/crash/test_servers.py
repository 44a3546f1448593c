"""A small sample of the crash proof in databases of a PostgreSQL server, drawn by SEED; `make crash ARGS="--store
postgresql"` is the whole of it."""

import os
import random
from collections.abc import Iterator

import failpoint_layer
import outage_layer
import pytest
from blows import Blow
from homes import databases
from outage_layer import COMMITTING, SENT
from planted import ON_A_SERVER, UNANSWERED
from postgres_server import is_there
from programs import ORDER
from trial import Crashless, Stage

SEED = int(os.environ.get("SEED", "1"))

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not is_there(), reason="no wheel that brings a PostgreSQL server is installed"),
]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with databases(with_nats=False) as homes, Stage(4, homes) as stage:
        yield stage


@pytest.fixture(scope="module")
def crashless(stage: Stage) -> Crashless:
    return stage.crashless(ORDER)


def test_a_kill_around_a_commit_changes_nothing(stage: Stage, crashless: Crashless) -> None:
    rng = random.Random(SEED)
    chosen = [
        failpoint_layer.Position(f"{name}:{rng.randint(1, crashless.passed[name])}")
        for name in ("lock.had", COMMITTING, SENT)
    ]
    trials = failpoint_layer.run(stage, ORDER, crashless.end, chosen)
    assert [trial.violations for trial in trials if trial.violations] == []
    assert sum(trial.kills for trial in trials) > 1


def test_an_outage_is_a_pause(stage: Stage, crashless: Crashless) -> None:
    rng = random.Random(SEED)
    sent = f"{SENT}:{rng.randint(1, crashless.passed[SENT])}"
    outages = [outage_layer.Position(sent, blow) for blow in (Blow.CONNECTION, Blow.ANSWER)]
    trials = outage_layer.run(stage, ORDER, crashless.end, outages)
    trials += outage_layer.run(stage, ORDER, crashless.end, [outage_layer.Position(sent, Blow.SERVER)])
    assert [trial.violations for trial in trials if trial.violations] == []
    assert sum(trial.errors for trial in trials) > 1


def test_a_commit_that_is_told_before_the_server_answers_is_caught(stage: Stage, crashless: Crashless) -> None:
    assert UNANSWERED in ON_A_SERVER
    position = outage_layer.Position(f"{COMMITTING}:{crashless.passed[COMMITTING] // 2}", Blow.CONNECTION)
    caught = outage_layer.trial(stage, ORDER, crashless.end, position, UNANSWERED)
    assert any("missing" in violation for violation in caught.violations)
