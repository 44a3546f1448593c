"""A sample of `make followers`: each event is seen once, while its writers pause and are killed."""

from followers import prove
from postgres_server import Server


async def test_followers_see_every_event_once(postgres: Server) -> None:
    found = await prove(postgres, events=240, processes=3, kills=2)
    assert (found.events >= 240, found.missed, found.doubled) == (True, 0, 0)


async def test_followers_would_miss_events_without_marks(postgres: Server) -> None:
    found = await prove(postgres, events=240, processes=3, kills=0, planted=True)
    assert found.missed > 0
