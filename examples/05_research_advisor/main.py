"""A planner asks for your meaning, gives the research to a second planner, and writes a report of its findings.

python examples/05_research_advisor/main.py                   asks you on a terminal
python examples/05_research_advisor/main.py --answer tours    answers for you: work or tours

Runs from recordings; SOORMA_CASSETTES=live asks the model instead.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Literal

from agents import archive
from pydantic import BaseModel, Field

from soorma_ai import ChoreographyPlanner, EventDefinition, Limits, PlanFailed, Platform, Wait
from soorma_ai.features.tracking.story import print_trace
from soorma_ai.testing.cassettes import cassette

RECORDING = Path(__file__).parents[2] / "cassettes" / "05_research_advisor"
QUESTION = "Which bicycle with a motor should I buy?"

ADVISE = """\
You advise people who want to buy something. Ask the user what it is for before anything else, and only once.
Then have it researched by the researcher: you do not search the archive yourself.
Complete with a report that says nothing which the findings do not say, and names their sources.
"""

RESEARCH = """\
You find out what an archive says about a topic. Search it once, then read all articles that were found, together.
Complete with what they say about the topic, and which article says it. What no article says you do not know.
"""


class Clarification(BaseModel):
    """Form of the user's answer."""

    use: Literal["work", "tours"]


class Topic(BaseModel):
    topic: str
    words: list[str] = Field(description="by which an archive can be searched")


class Finding(BaseModel):
    claim: str
    source: str = Field(description="the name of the article")


class Findings(BaseModel):
    findings: list[Finding]


class Report(BaseModel):
    title: str
    advice: str
    reasons: list[Finding]


def advisor() -> ChoreographyPlanner:
    clarified = EventDefinition(
        event_name="user.clarified",
        topic="notification-events",
        description="The user says what it is for.",
        payload_schema=Clarification,
    )
    return ChoreographyPlanner(
        "advisor",
        goals=[EventDefinition(event_name="advice.wanted", response_schema=Report)],
        external_events=[clarified],
        reasoning_model="openai/gpt-4o-mini",
        system_instructions=ADVISE,
        # They hold for the whole tree: what the researcher spends is spent here as well.
        limits=Limits(max_actions=8, max_llm_calls=12),
    )


def researcher() -> ChoreographyPlanner:
    goal = EventDefinition(
        event_name="research.wanted",
        description="Find out what the archive says about a topic.",
        payload_schema=Topic,
        response_schema=Findings,
    )
    return ChoreographyPlanner(
        "researcher", goals=[goal], reasoning_model="openai/gpt-4o-mini", system_instructions=RESEARCH
    )


async def advise(store_url: str, answer: str) -> int:
    async with Platform(store_url) as platform:
        await platform.start(advisor(), researcher(), archive())
        print(f"you: {QUESTION}")
        plan = await platform.submit("advice.wanted", {"question": QUESTION})
        while question := await plan.next_wait():
            outcome = await platform.answer(question.wait_id, {"use": await ask(question, answer)})
            if outcome != "accepted":
                print(f"{outcome}: {outcome.detail}")
        try:
            show(Report.model_validate(await plan.result(timeout=60)))
        except PlanFailed as failure:
            print(failure, file=sys.stderr)
            return 3
        finally:
            print_trace(await platform.trace(plan.plan_id))
    return 0


async def ask(question: Wait, answer: str) -> str:
    """Return the user's answer. One off the form of `Clarification` is invalid, and the question stays open."""
    print(f"advisor: {question.message} [work/tours]")
    if not answer:
        return (await asyncio.to_thread(input, "you: ")).strip()
    print(f"you: {answer}")
    return answer


def show(report: Report) -> None:
    print(f"\n{report.title}\n  {report.advice}")
    for reason in report.reasons:
        print(f"  - {reason.claim} ({reason.source})")
    print()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--answer", choices=("work", "tours"), default="" if sys.stdin.isatty() else "tours")
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///advice.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    given = options.parse_args()
    with cassette(RECORDING, allow_unplayed=True):
        return asyncio.run(advise(given.store, given.answer))


if __name__ == "__main__":
    sys.exit(main())
