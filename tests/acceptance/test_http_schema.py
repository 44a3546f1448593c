"""No call ends in a 500 or off its schema, whether it fits the document or not."""

import os

from schema_run import run


def test_some_of_what_can_be_asked_is_answered_as_the_document_says() -> None:
    ran = run(examples=4, phases="fuzzing", seed=int(os.environ.get("SEED", "1")))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "60 passed" in ran.stdout
