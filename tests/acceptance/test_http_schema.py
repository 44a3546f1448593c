"""No call ends in a 500 or off its schema, whether it fits the document or not."""

import os

from schema_run import run

from soorma_ai.operations import OPERATIONS


def test_some_of_what_can_be_asked_is_answered_as_the_document_says() -> None:
    ran = run(examples=4, phases="fuzzing", seed=int(os.environ.get("SEED", "1")))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # All but the stream of all events, which has no end.
    assert f"{len(OPERATIONS) - 1} passed" in ran.stdout
