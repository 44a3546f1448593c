"""The applications: `first_project.app:agents`, and without a model `first_project.app:offline`."""

from soorma_ai import Agent
from soorma_ai.testing.scripted import ScriptedReasoner

from first_project.agents import orders, till
from first_project.planner import planner
from first_project.script import answer


def agents() -> tuple[Agent, ...]:
    return planner(), orders, till


def offline() -> tuple[Agent, ...]:
    return planner(ScriptedReasoner(answer)), orders, till
