"""A short history on a PostgreSQL server; `make machine` with SOORMA_TEST_STORE=postgresql tries any number."""

import os

import pytest
from hypothesis import Phase, settings
from postgres_server import is_there

from machine.rules import Machine, histories

SEED = int(os.environ.get("SEED", "1"))
STEPS = 5


@pytest.mark.timeout(1200)
@pytest.mark.skipif(not is_there(), reason="no wheel that brings a PostgreSQL server is installed")
def test_the_invariants_hold_in_a_database_of_a_server() -> None:
    from machine.servers import OneThreadServerStore

    class OnServer(Machine):
        make_store = OneThreadServerStore

    print(f"SEED={SEED}")
    histories(OnServer, SEED, settings(max_examples=1, stateful_step_count=STEPS, phases=[Phase.generate]))
