"""A model with decisions computed from its prompt, so it continues after a restart. Every question is counted."""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from life import Life

from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion


class DecidingModel:
    """`step` turns the last message into a step of the decision schema. The ledger notes each question under a name;
    the answer carries this name as its reasoning into the journal."""

    model = provider = "crash-test"
    max_output_tokens = 500

    def __init__(self, life: Life, step: Callable[[str], dict[str, Any]]) -> None:
        self.life = life
        self._step = step

    def check(self) -> None:
        return

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return 0.001

    def name_of(self, question: ModelQuestion, step: dict[str, Any]) -> str:
        """Return a name by the content of a question, whatever the order of the results in it."""
        words = sorted(word for message in question.messages for word in re.findall(r"\w+", message.content))
        return hashlib.sha256(repr(words).encode()).hexdigest()[:16]

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        step = self._step(question.messages[-1].content)
        name = self.name_of(question, step)
        self.life.outside.note("model", asked=name)
        value: Any = {"reasoning": name, "step": step}
        return ModelAnswer(json.dumps(value), value, "", self.model, 100, 20, 0.001, 1.0)
