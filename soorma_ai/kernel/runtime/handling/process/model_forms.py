"""Refused forms of models in the store, for new processes. They last a day: by then a provider may take them."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.history import PromptPart
from soorma_ai.kernel.domain.values import Json, JsonObject, compact, derived_id
from soorma_ai.kernel.ports import Clock, Store

KEPT_FOR = timedelta(days=1)
# One text for all models. It goes like any unused text of questions.
TENANT = Lineage().tenant_id
DIGEST = derived_id("model forms")
_UNTIL = "until"


class StoredForms:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def load(self) -> Mapping[str, JsonObject]:
        """Return the known forms of each model; none while the store is away."""
        try:
            return await read_forms(self._store, self._clock.now())
        except SoormaError:
            return {}

    async def keep(self, model: str, known: JsonObject) -> None:
        """Keep the known forms of a model. Of two writers at once, the later one counts."""
        now = self._clock.now()
        forms: JsonObject = {**await self.load(), model: {**known, _UNTIL: (now + KEPT_FOR).isoformat()}}
        part = PromptPart(DIGEST, compact(forms), tenant_id=TENANT)
        try:
            await self._store.plans.keep_part(part, now)
        except SoormaError:
            return


async def read_forms(store: Store, now: datetime) -> dict[str, JsonObject]:
    found = await store.plans.prompt_parts(TENANT, "", [DIGEST])
    forms = cast(Json, json.loads(found.get(DIGEST, "{}")))
    known = {name: one for name, one in forms.items() if isinstance(one, dict)} if isinstance(forms, dict) else {}
    return {name: one for name, one in known.items() if now < datetime.fromisoformat(str(one[_UNTIL]))}
