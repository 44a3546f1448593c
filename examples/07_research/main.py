"""An agent researches a topic in phases: it goes back when it learns something, and you approve its questions.

python examples/07_research/main.py                    asks you on a terminal
python examples/07_research/main.py --answer approve   answers for you: approve or modify

Runs from recordings; SOORMA_CASSETTES=live asks the model instead.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from agents import archive, faults_of, make_archive

from soorma_ai import EventEnvelope, JourneyDesignBrief, Limits, Platform
from soorma_ai.forge import ResearchAgent
from soorma_ai.testing.cassettes import cassette

RECORDING = Path(__file__).parents[2] / "cassettes" / "07_research"
BRIEF = JourneyDesignBrief(topic="How does the barn owl live?", purpose="an article")
MODEL = "openai/gpt-4o-mini"
CHANGE = {"remove": ["q2"]}


def researcher() -> ResearchAgent:
    return ResearchAgent(reasoning_model=MODEL, limits=Limits(max_actions=40, max_llm_calls=80))


async def research(store_url: str, answer: str, folder: Path) -> int:
    make_archive(folder)
    async with Platform(store_url) as platform:
        agent = researcher()
        await platform.start(agent, archive(folder))
        journey = await agent.initialize(BRIEF, platform)
        decision: dict[str, Any] = {}
        while True:
            async for event in agent.process_message("", decision):
                show(event)
            details = await journey.load()
            if details.status.is_final:
                break
            decision = await decide(answer, is_first=not decision)
        if details.reason is not None:
            print(details.reason, file=sys.stderr)
            return 3
        report: Any = details.result
        tell(report)
        faults = faults_of(report, folder)
        print(f"not in the archive: {faults or 'nothing'}")
    return 4 if faults else 0


async def decide(answer: str, *, is_first: bool) -> dict[str, Any]:
    """Return the person's answer at a checkpoint; it modifies at most once."""
    said = answer or (await asyncio.to_thread(input, "you [approve/modify/reject]: ")).strip()
    if said == "modify" and is_first:
        return {"decision": "modify", "modifications": CHANGE}
    return {"decision": "reject" if said == "reject" else "approve"}


def show(event: EventEnvelope) -> None:
    data = event.data
    match event.type:
        case "phase.changed":
            print(f"{data['from_phase']} -> {data['to_phase']}: {data['reason']} {data['detail']}".rstrip())
        case "phase.checkpoint":
            print(f"? {data['message']}")
        case "agent.thinking":
            print(f"  {data['message']}")
        case "tool.start":
            print(f"  > {data['tool_name']} {data['parameters']}")
        case _:
            pass


def tell(report: dict[str, Any]) -> None:
    print(f"\n{report['topic']}")
    for one in report["answers"]:
        print(f"- {one['question']} {one['answer']}")
        for quote in one["quotes"]:
            print(f'    "{quote["quote"]}" ({quote["source_id"]})')
    for one in report["insights"]:
        print(f"* {one['insight']}")
    for one in report["adjacent_questions"]:
        print(f"+ {one['question']}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = ("approve", "modify")
    options.add_argument("--answer", choices=choices, default="" if sys.stdin.isatty() else "approve")
    store = os.environ.get("SOORMA_STORE_URL", "sqlite:///research.db")
    options.add_argument("--store", default=store, help="where everything is kept")
    options.add_argument("--archive", type=Path, default=Path("archive"), help="where the texts are written")
    given = options.parse_args()
    with cassette(RECORDING, allow_unplayed=True):
        return asyncio.run(research(given.store, given.answer, given.archive))


if __name__ == "__main__":
    sys.exit(main())
