"""Responders: answer the questions of a followed plan by a person at the keyboard, by a fixed answer, or not at all."""

import asyncio
import json
from collections.abc import Callable, Sequence

from soorma_ai.apps.cli.view.live import Voice
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.people import ACCEPTED, INVALID, AnswerDecision, AnswerOutcome
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.waits.answers import say_approved
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.forms import PromptField, fields
from soorma_ai.surfaces.terminal.keyboard import Keyboard
from soorma_ai.surfaces.terminal.printing import BAD, WAITING, Printer
from soorma_ai.surfaces.terminal.waits import print_wait
from soorma_ai.surfaces.terminal.wording import short_id


class Responder:
    """Answers nothing here, and leaves all questions to others."""

    async def attend(self, waits: Sequence[Wait]) -> bool:
        """Handle the open questions, at each call. False: none of these will be answered here."""
        return False

    async def leave(self) -> None:
        """Ask no more."""


class Others(Responder):
    """Waits for the answers of other processes, and prints the commands once for each question."""

    def __init__(self, client: Client, voice: Voice) -> None:
        self._client = client
        self._voice = voice
        self._said: set[str] = set()

    async def attend(self, waits: Sequence[Wait]) -> bool:
        for wait in waits:
            if wait.wait_id not in self._said:
                self._said.add(wait.wait_id)
                self._voice.ask(wait, "", self._client.services.clock.now(), is_known=True)
                self._voice.insist("waits until another process answers; Ctrl-C leaves the question open")
        return True


class Always(Responder):
    """The same answer to every question; a question with another schema stays open."""

    def __init__(self, decision: AnswerDecision, client: Client, printer: Printer) -> None:
        self._decision = decision
        self._client = client
        self._printer = printer
        self._given_up: set[str] = set()

    async def attend(self, waits: Sequence[Wait]) -> bool:
        for wait in waits:
            if wait.wait_id not in self._given_up:
                payload = say_approved(self._decision, {}, wait.response_schema)
                outcome = await self._client.answer(wait.wait_id, payload, decision=self._decision)
                if outcome == INVALID:
                    self._given_up.add(wait.wait_id)
                    _print_refusal(self._printer, wait, outcome)
        return any(wait.wait_id not in self._given_up for wait in waits)


class AtTheKeyboard(Responder):
    """Asks one question after the other. A question is withdrawn when another process answers it."""

    def __init__(self, client: Client, printer: Printer, on_answer: Callable[[], None]) -> None:
        self._client = client
        self._printer = printer
        self._on_answer = on_answer
        self._keyboard = Keyboard()
        self._asking: asyncio.Task[None] | None = None
        self._asked: Wait | None = None
        self._answered: set[str] = set()
        self._has_left = False

    async def attend(self, waits: Sequence[Wait]) -> bool:
        if self._asked is not None and self._asked.wait_id not in {wait.wait_id for wait in waits}:
            await self.leave()
            self._printer.line(
                (f"{short_id(self._asked.wait_id)} was answered by another process, or has expired", WAITING)
            )
            self._asked = None
        if self._asking is not None and self._asking.done():
            if not self._asking.cancelled():
                self._asking.result()
            self._asking = None
        unanswered = [wait for wait in waits if wait.wait_id not in self._answered]
        if self._asking is None and unanswered and not self._has_left:
            self._asked = unanswered[0]
            self._asking = asyncio.create_task(self._ask(unanswered[0]))
        return not self._has_left

    async def leave(self) -> None:
        if self._asking is not None and not self._asking.done():
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
            self._printer.line()

    async def _ask(self, wait: Wait) -> None:
        print_wait(self._printer, wait, "", self._client.services.clock.now())
        while wait.wait_id not in self._answered:
            answer = await _ask_person(wait, self._keyboard, self._printer)
            self._asked = None  # what is being sent is not taken back
            if answer is None:
                self._has_left = True
                self._printer.line()
                break
            decision, payload = answer
            outcome = await self._client.answer(wait.wait_id, payload, decision=decision)
            _print_refusal(self._printer, wait, outcome)
            if outcome == INVALID:
                self._asked = wait
            else:
                self._answered.add(wait.wait_id)
        self._on_answer()


def _print_refusal(printer: Printer, wait: Wait, outcome: AnswerOutcome) -> None:
    if outcome != ACCEPTED:
        printer.line((str(outcome), BAD), f" {short_id(wait.wait_id)}: {one_line(outcome.detail)}")


async def _ask_person(wait: Wait, keyboard: Keyboard, printer: Printer) -> tuple[str | None, JsonObject] | None:
    """Return (decision, payload), or None when the person is gone."""
    if wait.proposed_event is None:
        payload = await _ask_fields(fields(wait.response_schema), keyboard, printer)
        return None if payload is None else (None, payload)
    while True:
        word = await keyboard.line("approve? [y]es, [n]o, [e]dit: ")
        match word.lower() if word is not None else None:
            case None:
                return None
            case "y" | "yes":
                more = [one for one in fields(wait.response_schema) if one.is_required and one.name != "approved"]
                payload = await _ask_fields(more, keyboard, printer) if more else {}
                return None if payload is None else (AnswerDecision.APPROVE, {"approved": True, **payload})
            case "n" | "no":
                return AnswerDecision.REJECT, {"approved": False}
            case "e" | "edit":
                edited = await _ask_object("new payload (JSON): ", keyboard, printer)
                return None if edited is None else (AnswerDecision.EDIT, {"data": edited})
            case _:
                printer.line(("say y, n or e", BAD))


async def _ask_fields(wanted: Sequence[PromptField], keyboard: Keyboard, printer: Printer) -> JsonObject | None:
    if not wanted:
        return await _ask_object("answer (JSON): ", keyboard, printer)
    payload: JsonObject = {}
    for one in wanted:
        while True:
            text = await keyboard.line(f"{one_line(one.name)} ({one.kind}{'' if one.is_required else ', optional'}): ")
            if text is None:
                return None
            if not text and not one.is_required:
                break
            try:
                payload[one.name] = one.parse(text)
                break
            except ValueError as error:
                printer.line((str(error), BAD))
    return payload


async def _ask_object(question: str, keyboard: Keyboard, printer: Printer) -> JsonObject | None:
    while (text := await keyboard.line(question)) is not None:
        try:
            found: Json = json.loads(text)
        except ValueError as error:
            printer.line((f"that is not JSON: {error}", BAD))
            continue
        if isinstance(found, dict):
            return found
        printer.line(("give an object, as in {...}", BAD))
    return None
