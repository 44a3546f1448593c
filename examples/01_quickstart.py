"""A planner, two agents and one question to a person. Runs from a recording; SOORMA_CASSETTES=live asks the model."""

import asyncio

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.testing.cassettes import cassette

TELL = "Check the weather first. Ask the user before you book a table."
DAY = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
weather, parks = Tool("weather"), Tool("parks")
planner = ChoreographyPlanner("assistant", goals=["picnic.wanted"], reasoning_model="openai/gpt-4o-mini",
                              system_instructions=TELL, external_events=["user.replied"])  # fmt: skip


@weather.on_invoke("forecast.requested", payload_schema=DAY)
async def forecast(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
    return {"day": request.data["day"], "sky": "clear", "celsius": 24}


@parks.on_invoke("table.book.requested", payload_schema=DAY)
async def book(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
    return {"day": request.data["day"], "table": 7}


async def main() -> None:
    with cassette("01_quickstart"):
        async with Platform() as platform:
            await platform.start(planner, weather, parks)
            plan = await platform.submit("picnic.wanted", {"day": "Saturday"})
            if question := await plan.next_wait():
                print("assistant:", question.message)
                await platform.answer(question.wait_id, {"text": "Yes, please book it."})
            print("result:", await plan.result(timeout=60))


asyncio.run(main())
