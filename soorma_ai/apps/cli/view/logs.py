"""Records of the log, as lines for people or as JSON objects for machines."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import cast

from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.tracebacks import traceback_lines
from soorma_ai.surfaces.terminal.wording import short_id

_PACKAGE = str(Path(__file__).parents[2])


def describe(message: str, fields: Mapping[str, object]) -> str:
    """Return a record in words; its own message, where its name is not in the table of newcomers' messages."""
    name = message.partition(" ")[0]
    match name:
        case "delivery_failed" if "then" in fields:
            attempt = f", attempt {fields['attempt']}" if fields.get("attempt") != 1 else ""
            return f"{fields['agent']} failed at {fields['event_type']}{attempt}: {fields['reason']}; {fields['then']}"
        case "event_set_aside" if "event_type" in fields:
            event_type, reason = fields["event_type"], fields["reason"]
            return f"{event_type} is a dead letter: {reason} (soorma dead-letters ls)"
        case "event_not_taken" if fields.get("reason") == "untaken":
            return f"no agent takes {fields['event_type']} yet; it waits for a taker (soorma events untaken)"
        case "model_away":
            return f"{fields['reason']} (it will be retried)"
        case "embedder_away":
            return f"{fields['reason']} (search by words alone)"
        case "plan_parked":
            plan = short_id(str(fields["plan_id"]))
            return f"plan {plan} of {fields['agent']} is parked: {fields['reason']} (soorma plans show {plan})"
        case _:
            return message


class ForPeople(logging.Formatter):
    """Format each record as one line, with the traceback of a bug indented below. No text of an error begins a line."""

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        lines = [one_line(f"{record.levelname.lower()}: {describe(record.message, fields_of(record))}")]
        if record.exc_info and record.exc_info[1] is not None:
            lines += [f"  {line}" for line in traceback_lines(record.exc_info[1])]
        return "\n".join(lines)


def frames_of(record: logging.LogRecord) -> list[str]:
    """Return the lines of a bug's traceback, from the author's first frame on: the frames before are the platform's,
    and the line of the log has the error."""
    if not record.exc_info or record.exc_info[1] is None:
        return []
    told = TracebackException.from_exception(record.exc_info[1])
    own = [number for number, frame in enumerate(told.stack) if not frame.filename.startswith(_PACKAGE)]
    frames = told.stack[own[0] :] if own else told.stack
    return "".join(StackSummary.from_list(frames).format()).splitlines()


def record_as_json(record: logging.LogRecord) -> JsonObject:
    message, fields = record.getMessage(), fields_of(record)
    found: JsonObject = {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
        "kind": "log",
        "level": record.levelname.lower(),
        "what": message.partition(" ")[0],
        "note": describe(message, fields),
        "fields": {name: one if isinstance(one, int | float) else str(one) for name, one in fields.items()},
    }
    if record.exc_info:
        found["traceback"] = logging.Formatter().formatException(record.exc_info)
    return found


def fields_of(record: logging.LogRecord) -> Mapping[str, object]:
    return cast("Mapping[str, object]", vars(record).get("fields") or {})
