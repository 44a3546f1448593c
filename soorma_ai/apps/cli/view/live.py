"""Live log on stderr: lines for people, or JSON objects for machines."""

import json
import logging
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime

from msgspec import Struct

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.apps.cli.view.logs import describe, fields_of, frames_of, record_as_json
from soorma_ai.features.tracking.lines import LineKind
from soorma_ai.features.tracking.live import LiveLine
from soorma_ai.features.tracking.sentences import merge_lines, sentence, terms
from soorma_ai.features.tracking.story import explanation, headline
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.surfaces.options import Access
from soorma_ai.surfaces.terminal.escapes import one_line, printable
from soorma_ai.surfaces.terminal.printing import BAD, DIM, Part, Printer
from soorma_ai.surfaces.terminal.waits import commands, print_commands, print_wait
from soorma_ai.surfaces.terminal.wording import OFFSET_WIDTH, SHORT_ID, offset_cell, short_id

WIDE = 72
COMMAND_INDENT = 2

# Lines whose words do not say who: a tree of them stands below its planner.
_NAMELESS = frozenset({LineKind.DECISION, LineKind.GATE, LineKind.WAIT, LineKind.END, LineKind.EXPIRY, LineKind.CLOSED})


class Manner(Struct, frozen=True):
    """Manner of a voice. `is_timed`: with the time of day, for many plans at once. `is_brief`: in sentences, without
    payloads."""

    is_quiet: bool = False
    as_json: bool = False
    is_timed: bool = False
    is_brief: bool = False


class VoiceHandler(logging.Handler):
    """Log handler that passes records to a voice."""

    def __init__(self, voice: "Voice") -> None:
        super().__init__()
        self._voice = voice

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._voice.log(record)
        except (OSError, ValueError):  # nobody reads it any more
            self.handleError(record)


class Voice:
    """Prints the live log in the manner of the options."""

    def __init__(self, manner: Manner, access: Access) -> None:
        self.printer = Printer(stderr=True)
        self._manner = manner
        self._access = access
        self._day: date | None = None

    def remark(self, *parts: Part) -> None:
        """Print a line about the command itself."""
        if not self._manner.is_quiet:
            self.insist(*parts)

    def insist(self, *parts: Part) -> None:
        """Print a notice, also in quiet mode."""
        if self._manner.as_json:
            text = "".join(part if isinstance(part, str) else part[0] for part in parts)
            write_json({"at": SystemClock().now().isoformat(), "kind": "remark", "note": text})
        else:
            self.printer.line(*((part, DIM) if isinstance(part, str) else part for part in parts))

    def ask(self, wait: Wait, goal: str, now: datetime, *, is_known: bool) -> None:
        """Print the commands that answer a question, and the whole question where it has not been printed."""
        if self._manner.as_json:
            write_json(question_as_json(wait, self._access, now))
            return
        if is_known and not self._manner.is_quiet:
            print_commands(self.printer, wait, self._access, OFFSET_WIDTH)
        else:
            print_wait(self.printer, wait, goal, now)
            print_commands(self.printer, wait, self._access)

    def log(self, record: logging.LogRecord) -> None:
        """Print a log record, with the traceback of a bug."""
        if self._manner.as_json:
            write_json(record_as_json(record))
            return
        label = _clock(datetime.fromtimestamp(record.created, UTC)) if self._manner.is_timed else ""
        words = describe(record.getMessage(), fields_of(record))
        style = BAD if record.levelno >= logging.WARNING else DIM
        self.printer.line((f"{record.levelname.lower()}: {one_line(words)}", style), label=label)
        for line in frames_of(record):
            self.printer.line(printable(line), indent=len(label))

    def tell_event(self, lines: Sequence[LiveLine]) -> None:
        """Print the lines of one event, by the time of day."""
        if not self._manner.is_brief or self._manner.as_json:
            for one in lines:
                self.tell(one)
            return
        for one in () if self._manner.is_quiet else merge_lines(lines):
            self._turn_to(one.at.astimezone().date())
            label = brief_label(one, self.printer.console.width)
            self.printer.line(*_tenant(one), *sentence(one), label=label)
            if one.wait is not None:
                self.printer.line((terms(one), DIM), indent=len(label))
                print_commands(self.printer, one.wait, self._access, COMMAND_INDENT)

    def tell(self, told: LiveLine, start: datetime | None = None) -> None:
        """Print one entry: of a plan with its beginning at `start`, or of the whole store by the time of day."""
        if self._manner.is_quiet:
            return
        if self._manner.as_json:
            write_json(json_of(told, self._access))
            return
        if start is None:
            self._turn_to(told.at.astimezone().date())
        label = label_of(told, start)
        self.printer.line(*words_of(told, start), label=label)
        if why := explanation(told.line):
            self.printer.line(*why, indent=len(label))
        if told.wait is not None:
            print_commands(self.printer, told.wait, self._access, len(label))

    def _turn_to(self, day: date) -> None:
        """Print the date after a change of day."""
        if self._day is not None and day != self._day:
            self.printer.line((f"{day:%Y-%m-%d}", DIM))
        self._day = day


def label_of(told: LiveLine, start: datetime | None) -> str:
    """Return the prefix of a line: the time since `start`, or the time of day and the plan."""
    if start is not None:
        return offset_cell(told.at - start)
    return _clock(told.at, told.plan_id or "")


def _clock(at: datetime, plan_id: str = "") -> str:
    return f"{at.astimezone():%H:%M:%S}  {short_id(plan_id):<{SHORT_ID}}  "


def words_of(told: LiveLine, start: datetime | None) -> tuple[Part, ...]:
    """Return the text of a line, with its subject where many plans are followed."""
    tenant = _tenant(told) if start is None else ()
    who = f"{one_line(told.line.who)}: " if start is None and told.line.kind in _NAMELESS else ""
    return (*tenant, who, *headline(told.line))


def _tenant(told: LiveLine) -> tuple[Part, ...]:
    """Return the name of a tenant beside the default one."""
    return (f"[{one_line(told.tenant_id)}] ",) if told.tenant_id not in ("", "default") else ()


def brief_label(told: LiveLine, width: int) -> str:
    """Return the time of day, and on a wide terminal the plan."""
    return _clock(told.at, told.plan_id or "") if width >= WIDE else f"{told.at.astimezone():%H:%M:%S} "


def json_of(told: LiveLine, access: Access) -> JsonObject:
    """Return the entry for machines. A question has its answering commands in `commands`; spans are seconds."""
    line = told.line
    thought = line.thought
    found: JsonObject = {
        "at": told.at.isoformat(),
        "kind": line.kind,
        "who": line.who,
        "what": line.what,
        "note": line.note,
        "data": line.data,
        "plan_id": told.plan_id,
        "tenant_id": told.tenant_id,
        "event_id": line.event_id,
        "took": line.took.total_seconds() if line.took is not None else None,
        "is_failure": line.is_failure,
    }
    if thought is not None:
        found |= {"verdict": thought.verdict, "model": thought.model, "cost_usd": thought.cost_usd}
    if told.wait is not None:
        found |= {"wait_id": told.wait.wait_id, "commands": [*commands(told.wait, access)]}
    return found


def question_as_json(wait: Wait, access: Access, now: datetime) -> JsonObject:
    return {
        "at": now.isoformat(),
        "kind": "question",
        "wait_id": wait.wait_id,
        "plan_id": wait.plan_id,
        "who": wait.agent,
        "what": wait.expected_event,
        "note": wait.message,
        "data": wait.proposed_data,
        "response_schema": wait.response_schema,
        "commands": [*commands(wait, access)],
    }


def write_json(found: JsonObject) -> None:
    sys.stderr.write(json.dumps(found) + "\n")
    sys.stderr.flush()
