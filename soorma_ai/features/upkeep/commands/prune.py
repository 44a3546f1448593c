"""`soorma prune`: remove ended plans and old events."""

import sys
from datetime import timedelta

import click
from msgspec.structs import asdict

from soorma_ai.features.upkeep.retention import FINAL, add
from soorma_ai.features.upkeep.service import upkeep_of
from soorma_ai.kernel.ports import Pruned
from soorma_ai.surfaces.options import Access, Age, as_json, must_mean_a_store, with_access
from soorma_ai.surfaces.store_access import open_store
from soorma_ai.surfaces.terminal.printing import Printer, print_json
from soorma_ai.surfaces.terminal.wording import span

BATCHES_AT_ONCE = 20


@click.command()
@click.option(
    "--older-than",
    type=Age(),
    default="30d",
    show_default=True,
    metavar="AGE",
    help="Least age, such as 36h, 30d or 8w.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([str(status) for status in FINAL]),
    help="Only plans with this end; repeatable.  [default: every end]",
)
@click.option("--dry-run", is_flag=True, help="Print the counts, and remove nothing.")
@click.option("--yes", "-y", is_flag=True, help="Remove without confirmation.")
@as_json
@with_access
def prune(
    access: Access, *, older_than: timedelta, statuses: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Remove plans that have ended, with all their events, and old events of no plan.

    Goes through the application that runs on the store, if one does. Of one tenant, see --tenant. A plan stays with its
    whole tree while anything in it runs, is queued or on its way, is in doubt, or lies in the dead letters. AGE is
    counted from a tree's last change, and is a day or more. Removed ids are forgotten: a repeated event or idempotency
    key then counts as new. The file keeps its size; its free space is used again.
    """
    must_mean_a_store()
    statuses = statuses or FINAL
    if not dry_run and not yes:
        _confirm(access, older_than, statuses, as_json=as_json)
    pruned = (_count if dry_run else _prune)(access, older_than, statuses)
    if as_json:
        counts = asdict(pruned)
        del counts["after"]
        print_json({**counts, "dry_run": dry_run})
    else:
        Printer().line(f"{'would remove' if dry_run else 'removed'} {_what(pruned)}")
        _print_kept(pruned)


def _confirm(access: Access, older_than: timedelta, statuses: tuple[str, ...], *, as_json: bool) -> None:
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError("this removes plans for good: give --yes, or --dry-run for the counts")
    pruned = _count(access, older_than, statuses)
    _print_kept(pruned)
    click.confirm(f"Remove {_what(pruned)}, older than {span(older_than)}?", abort=True, err=True)


def _count(access: Access, older_than: timedelta, statuses: tuple[str, ...]) -> Pruned:
    return open_store(access).look_into_store(
        lambda client: upkeep_of(client).prune(older_than, statuses, dry_run=True)
    )


def _prune(access: Access, older_than: timedelta, statuses: tuple[str, ...]) -> Pruned:
    """Remove part after part, so each call to the owner is short."""
    store, total = open_store(access), Pruned()
    while True:
        part = store.keep(
            lambda client, after=total.after: client.prune(older_than, statuses, after=after, batches=BATCHES_AT_ONCE)
        )
        total = add(total, part)
        if total.after is None:
            return total


def _what(pruned: Pruned) -> str:
    def count(number: int, what: str) -> str:
        return f"{number:,} {what}{'' if number == 1 else 's'}"

    return f"{count(pruned.plans, 'plan')} and {count(pruned.events, 'event')}"


def _print_kept(pruned: Pruned) -> None:
    if pruned.kept:
        Printer(stderr=True).line(
            f"{pruned.kept:,} more are old enough and stay: parts of their trees have not ended "
            "(a plan, a delivery, a dead letter)"
        )
