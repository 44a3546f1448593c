"""Tools for tests of agents: a scripted model, a virtual clock, recordings, a server with the models' wire formats."""

from typing import TYPE_CHECKING

from soorma_ai.late_names import late_names

# Type checkers take a public name only where it is spelled; a test holds both lists together.
if TYPE_CHECKING:
    from soorma_ai.testing.cassettes import Cassette as Cassette
    from soorma_ai.testing.cassettes import UnmatchedModelCall as UnmatchedModelCall
    from soorma_ai.testing.cassettes import cassette as cassette
    from soorma_ai.testing.clock import VirtualClock as VirtualClock
    from soorma_ai.testing.crash.ledger import Ledger as Ledger
    from soorma_ai.testing.model_server import ModelServer as ModelServer
    from soorma_ai.testing.scripted import ScriptedReasoner as ScriptedReasoner
    from soorma_ai.testing.scripted import complete as complete
    from soorma_ai.testing.scripted import delegate as delegate
    from soorma_ai.testing.scripted import draw as draw
    from soorma_ai.testing.scripted import give_up as give_up
    from soorma_ai.testing.scripted import publish as publish
    from soorma_ai.testing.scripted import publish_all as publish_all
    from soorma_ai.testing.scripted import wait as wait

_HOMES = {
    "cassettes": "Cassette UnmatchedModelCall cassette",
    "clock": "VirtualClock",
    "crash.ledger": "Ledger",
    "model_server": "ModelServer",
    "scripted": "ScriptedReasoner complete delegate draw give_up publish publish_all wait",
}

__getattr__, __dir__ = late_names(__name__, _HOMES)
