"""`soorma doctor`: configuration and state, with suggested fixes."""

import asyncio

import click
from click.core import ParameterSource

from soorma_ai.apps.cli.diagnosis import Finding, Level, Origin, diagnose, is_well
from soorma_ai.apps.cli.facts import inspect
from soorma_ai.surfaces.options import Access, as_json, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, DIM, GOOD, WAITING, Part, Printer, print_json

_STYLES = {Level.FINE: GOOD, Level.NOTE: WAITING, Level.FAULT: BAD}
_ORIGINS = {ParameterSource.COMMANDLINE: Origin.ARGUMENT, ParameterSource.ENVIRONMENT: Origin.ENVIRONMENT}


@click.command()
@as_json
@with_platform
def doctor(access: Access, as_json: bool) -> None:
    """Check configuration, store and agents, and suggest fixes.

    It changes nothing and shows no key. Exits with 1 for a fault.
    """
    context = click.get_current_context()
    origins = {
        name: _ORIGINS.get(context.get_parameter_source(name) or ParameterSource.DEFAULT, Origin.DEFAULT)
        for name in ("store", "url", "token")
    }
    findings = diagnose(asyncio.run(inspect(access, origins)))
    if as_json:
        print_json({"well": is_well(findings), "findings": findings})
    else:
        _print(findings)
    if not is_well(findings):
        raise click.exceptions.Exit(1)


def _print(findings: list[Finding]) -> None:
    printer = Printer()
    if printer.is_plain:
        printer.rows((one.level, one.subject, one_line(one.found), one_line(one.advice)) for one in findings)
        return
    width = max(len(one.subject) for one in findings) + 2
    for one in findings:
        level: Part = (f"{one.level:<7}", _STYLES[one.level])
        printer.line(level, f"{one.subject:<{width}}", one_line(one.found))
        if one.advice:
            printer.line((one_line(one.advice), DIM), indent=7 + width)
