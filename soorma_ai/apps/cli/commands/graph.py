"""`soorma graph`: a drawing of causes and effects in a plan, or of the events between agents."""

from typing import Literal

import click

from soorma_ai.apps.cli.store_access import look_up
from soorma_ai.apps.console.plan_view import graph_style, states_in
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.errors import NotFound
from soorma_ai.features.retrieval.check import marks_of
from soorma_ai.features.retrieval.reach import check_reach
from soorma_ai.features.tracking.plan_graph import graph_of_machine, graph_of_plan
from soorma_ai.surfaces.completion import PlanId
from soorma_ai.surfaces.drawing.choreography import graph_of_registry
from soorma_ai.surfaces.drawing.graph import Graph
from soorma_ai.surfaces.drawing.layout import Direction
from soorma_ai.surfaces.drawing.mermaid import write
from soorma_ai.surfaces.drawing.svg import draw
from soorma_ai.surfaces.ids import find_plan
from soorma_ai.surfaces.options import Access, with_platform

Drawn = tuple[Graph, str, Direction]


@click.command()
@click.argument("plan", type=PlanId(), required=False)
@click.option("--registry", is_flag=True, help="Draw the events between agents.")
@click.option("--states", is_flag=True, help="Draw the plan's state machine, with its state.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "svg"]),
    default="mermaid",
    show_default=True,
    help="Format of the graph.",
)
@with_platform
def graph(access: Access, plan: str | None, registry: bool, states: bool, form: Literal["mermaid", "svg"]) -> None:
    """Draw causes and effects in a plan, or the choreography of all agents."""
    if (plan is None) is not registry:
        raise click.UsageError("give the id of a plan, or --registry")
    if registry and states:
        raise click.UsageError("--states draws a plan: give its id, and not --registry")

    async def load(client: PlatformClient) -> Drawn:
        return await _of_plan(client, plan, states=states) if plan is not None else await _of_registry(client)

    drawn, title, direction = look_up(access, load)
    click.echo(write(drawn, direction) if form == "mermaid" else draw(drawn, title, direction, graph_style()), nl=False)


async def _of_plan(client: PlatformClient, plan: str, *, states: bool) -> Drawn:
    trace = await client.trace(await find_plan(client, plan))
    if not states:
        return graph_of_plan(trace), f"Causes and effects in plan {trace.plan_id}", Direction.DOWN
    machine = states_in(trace)
    if not machine:
        raise NotFound(f"plan {trace.plan_id} has no states: leave out --states")
    drawn = graph_of_machine(machine, trace.current_state, trace.results.keys())
    return drawn, f"The states of plan {trace.plan_id}", Direction.DOWN


async def _of_registry(client: PlatformClient) -> Drawn:
    registered = await client.registry.events(live=False)
    live = {one.agent_id for one in await client.registry.query()}
    drawn = graph_of_registry(registered, live, marks_of(check_reach(registered, live)))
    return drawn, "Events between agents", Direction.RIGHT
