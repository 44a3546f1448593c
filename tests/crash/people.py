"""Two people answer every question at the same moment, until cancelled. One answer counts."""

import asyncio
from collections.abc import Callable
from typing import Any

from life import Life

from soorma_ai import Platform, Wait
from soorma_ai.errors import TransientError

Answers = Callable[[Wait], dict[str, Any] | None]


async def answer_all(platform: Platform, life: Life, answers: Answers, pause: float = 0.002) -> None:
    """`answers` returns the answer to a wait, or None for no answer. `pause`: seconds between two looks."""
    while True:
        try:
            for wait in await platform.waits():
                said = answers(wait)
                if said is not None:
                    await _both_answer(platform, life, wait.wait_id, said)
        except TransientError:
            pass  # they press the button again
        await asyncio.sleep(pause)


async def _both_answer(platform: Platform, life: Life, wait_id: str, said: dict[str, Any]) -> None:
    people = ("ann", "bob")
    life.point("answer.before")
    outcomes = await asyncio.gather(*(platform.answer(wait_id, said, answer_id=f"{who}:{wait_id}") for who in people))
    life.point("answer.after")
    for who, outcome in zip(people, outcomes, strict=True):
        life.outside.note("answered", wait=wait_id, who=who, outcome=str(outcome))
