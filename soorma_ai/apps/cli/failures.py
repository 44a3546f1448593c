"""Errors of commands on stderr: one line, red on a terminal; a fault in the user's module with its own frames."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import IO, Any

import click

from soorma_ai.surfaces.terminal.escapes import one_line, printable

_PACKAGE = str(Path(__file__).parents[2])
_IMPORT_SYSTEM = ("<frozen importlib", importlib.__file__)


class CommandFailure(click.ClickException):
    """An error of a command. It is coloured on a terminal, unless NO_COLOR is set."""

    def show(self, file: IO[Any] | None = None) -> None:
        from soorma_ai.surfaces.terminal.printing import BAD, Printer

        Printer(stderr=True).line(("Error: ", BAD), self.message)


class WrongUsage(CommandFailure):
    """Wrong options or arguments: the usage comes before the error."""

    exit_code = click.UsageError.exit_code

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(error.format_message())
        self._context = error.ctx

    def show(self, file: IO[Any] | None = None) -> None:
        from soorma_ai.surfaces.terminal.printing import Printer

        printer = Printer(stderr=True)
        for line in _usage_lines(self._context):
            printer.line(line)
        super().show(file)


class UserCodeError(click.ClickException):
    """An exception from the user's module. It shows their frames alone."""

    def __init__(self, place: str, error: Exception) -> None:
        super().__init__(f"{place} cannot be loaded: {one_line(f'{type(error).__name__}: {error}')}")
        self._error = error

    def show(self, file: IO[Any] | None = None) -> None:
        from soorma_ai.surfaces.terminal.printing import DIM, Printer

        CommandFailure(self.message).show(file)
        printer = Printer(stderr=True)
        for line in own_lines(self._error):
            printer.line((printable(line), DIM))


def failure_of(error: Exception) -> click.ClickException:
    """Return the failure for an error of a command."""
    match error:
        case UserCodeError() | CommandFailure():
            return error
        case click.UsageError():
            return WrongUsage(error)
        case click.ClickException():
            return CommandFailure(error.format_message())
        case _:
            return CommandFailure(one_line(str(error)))


def own_lines(error: Exception) -> list[str]:
    """Return the lines of a traceback without the frames of this package and of the import system."""
    told = TracebackException.from_exception(error, compact=True)
    own = [one for one in told.stack if not one.filename.startswith((_PACKAGE, *_IMPORT_SYSTEM))]
    lines = [*StackSummary.from_list(own).format(), *told.format_exception_only()]
    return [line for text in lines for line in text.splitlines()]


def _usage_lines(context: click.Context | None) -> Iterator[str]:
    if context is None:
        return
    yield context.get_usage()
    if context.command.get_help_option(context) is not None:
        yield f"Try '{context.command_path} {context.help_option_names[0]}' for help."
    yield ""
