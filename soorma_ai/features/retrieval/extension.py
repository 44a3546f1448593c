"""Extension: search of events, and the toolkit of a context."""

from soorma_ai.context_parts import TOOLKIT
from soorma_ai.context_parts.toolkit import Toolkit
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.views.registry import Directory


def _toolkit(handling: Handling) -> Toolkit:
    # Few handlers look through events, and what shows and checks them is large.
    from soorma_ai.features.retrieval.toolkit import EventToolkit

    event = handling.event
    person = Person(event.tenant_id, event.user_id, frozenset())
    return EventToolkit(Directory(handling.services, person), handling.agent)


EXTENSION = Extension(name="retrieval", context={TOOLKIT: _toolkit})
