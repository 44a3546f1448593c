"""`soorma why`: the recorded decisions of a plan."""

from collections.abc import Iterator

import click

from soorma_ai.apps.cli.store_access import look_up
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.errors import LimitExceeded
from soorma_ai.features.tracking.lines import thought_of
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.history import JournalEntry, SentPrompt, StepKind
from soorma_ai.kernel.domain.plans import PlanDetails, PlanStatus
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.rules.plans.waiting import describe_state
from soorma_ai.surfaces.completion import PlanId
from soorma_ai.surfaces.ids import find_plan, types_of
from soorma_ai.surfaces.options import Access, as_json, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line, printable
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, QUOTE, WAITING, Printer, print_json
from soorma_ai.surfaces.terminal.wording import call_facts, offset, short_id


@click.command()
@click.argument("plan", type=PlanId())
@click.option(
    "--prompt", "of_prompt", is_flag=True, help="Show the sent messages; exit code 1 if they cannot be rebuilt."
)
@click.option(
    "--decision", type=click.IntRange(1), metavar="N", help="Number of the decision, from 1 on; by default the last."
)
@as_json
@with_platform
def why(access: Access, plan: str, of_prompt: bool, decision: int | None, as_json: bool) -> None:
    """Show the decisions of a plan and their prompts.

    For each answer: prompt, offer, model, raw answer, reason of a refusal, tokens, cost, latency. With --prompt the
    messages of one decision: rebuilt from the store, and compared with the sent ones.
    """
    if of_prompt:
        _show_prompt(look_up(access, lambda client: _load_prompt(client, plan, decision)), as_json=as_json)
        return
    if decision is not None:
        raise click.UsageError("--decision selects the decision of --prompt: give both")
    details, causes = look_up(access, lambda client: _load(client, plan))
    if as_json:
        print_json(details.decisions)
        return
    printer = Printer()
    if details.fork is not None:
        printer.line((one_line(details.fork.title), WAITING))
        printer.line((f"the decisions before: soorma why {details.fork.plan_id}", DIM))
    if not details.decisions:
        Printer(stderr=True).line("this plan made no model call")
    for number, entry in enumerate(details.decisions, 1):
        if number > 1:
            printer.line()
        cause = causes.get(entry.key.cause_id, "")
        when = f"{offset(entry.at - details.created_at)} because of {one_line(cause)}"
        _print_entry(printer, number, entry, when, details.shown.get(entry.shown))
    if not details.status.is_final:
        state = describe_state(details.status, details.expectations, details.untaken, details.rest, details.blocked)
        printer.line((one_line(state), WAITING))
    for told in _trips(details):
        printer.line((one_line(told), BAD))


async def _load(client: PlatformClient, plan: str) -> tuple[PlanDetails, dict[str, str]]:
    """Return the plan, and the types of its decisions' triggers by their ids."""
    details = await client.plan(await find_plan(client, plan))
    causes = [entry.key.cause_id for entry in details.decisions]
    return details, await types_of(client, details.plan_id, causes)


def _trips(details: PlanDetails) -> Iterator[str]:
    """Yield the limits that tripped, in the cascade of the plan and in the plan itself."""
    for step in details.steps:
        error = step.data if isinstance(step.data, dict) and step.kind is StepKind.REPLIED else {}
        if LimitExceeded.code in (error.get("code"), str(error.get("message")).partition(":")[0]):
            yield f"{step.name}: {error.get('message')}"
    if details.status is PlanStatus.FAILED and details.reason:
        yield f"{details.status}: {details.reason}"


async def _load_prompt(client: PlatformClient, plan: str, decision: int | None) -> SentPrompt:
    return await client.prompt(await find_plan(client, plan), decision)


def _show_prompt(sent: SentPrompt, *, as_json: bool) -> None:
    """Print the messages, with control characters escaped; JSON has them to the byte. Remarks go to standard error."""
    if as_json:
        print_json(sent)
    else:
        faults = Printer(stderr=True)
        about = f"decision {sent.number} of {sent.count}, {sent.prompt_id} version {sent.prompt_version}, {sent.model}"
        faults.line((one_line(about), DIM))
        for fault in sent.faults:
            faults.line(("not as it was sent: ", BAD), one_line(fault))
        printer = Printer()
        for message in sent.messages:
            printer.line((f"--- {one_line(message.role)} ---", BOLD))
            for line in message.content.split("\n"):
                printer.line(printable(line))
    if sent.faults:
        raise click.exceptions.Exit(1)


def _print_entry(printer: Printer, number: int, entry: JournalEntry, when: str, showing: Showing | None) -> None:
    thought = thought_of(entry)
    style = BAD if entry.is_refused else GOOD
    printer.line(f"{number}. ", (entry.verdict, style), (f" {one_line(thought.action)}", BOLD), (f"  {when}", DIM))
    prompt = f"{one_line(entry.prompt_id)} version {one_line(entry.prompt_version)}, hash {entry.prompt_hash[:12]}"
    details = (
        ("reasoning", thought.reasoning, QUOTE),
        ("refusal", thought.refusal, BAD),
        ("answer", entry.raw, ""),
        ("found", entry.found, ""),
        ("prompt", prompt, ""),
        ("offer", f"{short_id(entry.offer_digest)}{_extent(showing) if showing else ''}", ""),
        ("memory", compact([*entry.remembered]) if entry.remembered else "", ""),
        ("model", call_facts(thought), ""),
    )
    for name, text, text_style in details:
        if text:
            printer.line((one_line(text), text_style), indent=3, label=f"{name:<10}")


def _extent(showing: Showing) -> str:
    """Return how much of the offer was shown."""
    named = len(showing.lines) + len(showing.added)
    return f", {named:,} named, {len(showing.schemas):,} of them with schemas, {showing.hidden:,} hidden"
