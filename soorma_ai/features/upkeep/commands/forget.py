"""`soorma forget`: delete all data of a user."""

import sys

import click
from msgspec.structs import asdict

from soorma_ai.features.upkeep.retention import add_forgotten
from soorma_ai.kernel.ports import Forgotten
from soorma_ai.surfaces.options import Access, as_json, must_mean_a_store, with_access
from soorma_ai.surfaces.store_access import open_store
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import Printer, print_json

BATCHES_AT_ONCE = 20
STAYS = (
    "Kept: audit rows of the user's changes (proof, removed with age), rows of their API keys (revoked, to refuse the "
    "tokens for good; hashes only), revoked links (until their end), data of other users or shared data (such as an "
    "approval in another user's plan), and backups and logs."
)


@click.command()
@click.argument("user", metavar="USER")
@click.option("--yes", "-y", is_flag=True, help="Delete without confirmation.")
@as_json
@with_access
def forget(access: Access, user: str, *, yes: bool, as_json: bool) -> None:
    """Delete all data of USER: plans, done or not, with journals and events, sessions, and memories.

    Goes through the application that runs on the store, if one does. Of one tenant, see --tenant. After a kill, the
    next application continues, as does the same command; it prints the rows of its own work only. Kept, with the
    reason: rows of the audit, as proof of changes, until they are old; rows of API keys, revoked, since a token must be
    refused for good (with a hash only); revoked links, until their end; data of other users or shared by the tenant,
    such as an approval in another user's plan; backups and logs, since the store does not have them.
    """
    must_mean_a_store()
    if not user:
        raise click.UsageError("a name has at least one character")
    if not yes:
        if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError("this deletes all data of a user for good: give --yes")
        click.confirm(f"Delete all data of {one_line(user)}, of tenant {access.tenant_id}?", abort=True, err=True)
    store, total = open_store(access), Forgotten()
    while not total.is_done:
        total = add_forgotten(total, store.keep(lambda client: client.forget(user, batches=BATCHES_AT_ONCE)))
    if as_json:
        counts = asdict(total)
        del counts["is_done"]
        print_json(counts)
    else:
        removed = f"{total.plans:,} plans, {total.events:,} events, {total.memos:,} memos"
        Printer().line(f"removed {removed}; revoked {total.keys:,} keys")
        Printer(stderr=True).line(STAYS)
