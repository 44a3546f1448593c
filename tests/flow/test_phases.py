"""A journey through phases is a plan: it goes back, stops for people, tells what it thinks, and goes on after a kill."""

from datetime import timedelta
from typing import Any

import pytest
from kit import PATIENCE, ended, the_wait, until
from phased import BRIEF, Phase, Writer, library, seen, stranger

from soorma_ai import Limits, PlanFailed, Platform
from soorma_ai.domain.phases import Checkpoint, CheckpointKind
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

SEARCH = publish("library.search.requested", words="owls")
PLANNED = complete({"questions": ["What do owls eat?"]})
FOUND = complete({"answers": ["mice"]})
WRITTEN = complete({"text": "Owls eat mice."})
STRAIGHT = [PLANNED, SEARCH, FOUND, WRITTEN]


async def test_phases_follow_each_other_and_the_last_one_ends_the_plan(platform: Platform) -> None:
    agent = Writer(STRAIGHT)
    await platform.start(agent, library(), stranger())
    journey = await agent.initialize(BRIEF)
    summary = await journey.plan.result(timeout=5)
    assert summary == {
        "PLAN": {"questions": ["What do owls eat?"]},
        "FIND": {"answers": ["mice"]},
        "WRITE": {"text": "Owls eat mice."},
    }
    changes = [(e.data["from_phase"], e.data["to_phase"]) for e in await seen(platform) if e.type == "phase.changed"]
    assert changes == [("PLAN", "FIND"), ("FIND", "WRITE"), ("WRITE", "COMPLETE")]
