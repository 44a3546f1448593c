"""Real tokens of the prompt of a decision after many steps, and the share unchanged from one decision to the next.

Tokens are those of the tokenizer inside litellm (cl100k). Prints one JSON line.

    python bench/prompt_tokens.py [STEPS ...]
"""

import asyncio
import importlib
import json
import logging
import os
import statistics
import sys
from itertools import pairwise
from typing import Any

from decisions import alike, spell_request, tools

from soorma_ai import ChoreographyPlanner, Limits, Platform
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION")
EVENTS = 43


async def measure(steps: int) -> dict[str, object]:
    encoding: Any = importlib.import_module("litellm.litellm_core_utils.default_encoding").encoding
    thing: Any = {f"order_{number}": "x" for number in range(10)}
    asked = [publish("order.create.0", data={**thing, "order_0": str(number)}) for number in range(steps)]
    model = ScriptedReasoner([*asked, complete({})])
    limits = Limits(max_actions=2 * steps, max_llm_calls=2 * steps, max_tokens=None, max_repeats=None)
    async with Platform("sqlite://") as platform:
        planner = ChoreographyPlanner("planner", goals=["goal"], reasoner=model, limits=limits)
        await platform.start(*tools(EVENTS), planner)
        await (await platform.submit("goal", {"order": "x"})).result(timeout=300)
    texts = ["".join(spell_request(question)) for question in model.questions]
    tokens = [len(encoding.encode(part)) for part in spell_request(model.questions[-1])]
    stays = [alike(one, other) / len(other) for one, other in pairwise(texts)]
    return {
        "schema": tokens[0],
        "system": tokens[1],
        "user": tokens[2],
        "stays_mean": round(statistics.mean(stays), 3),
        "median_characters": int(statistics.median(map(len, texts))),
    }


def main() -> None:
    logging.getLogger("soorma_ai").setLevel(logging.CRITICAL)
    counts = [int(given) for given in sys.argv[1:]] or [30, 100]
    print(json.dumps({"bench": "prompt_tokens", "steps": {str(n): asyncio.run(measure(n)) for n in counts}}))


if __name__ == "__main__":
    main()
