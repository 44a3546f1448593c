"""Working copy of a plan's values by key: results, free state, its state machine, a pause, its phases, the context for
its model."""

from collections.abc import Mapping
from copy import deepcopy

from soorma_ai.kernel.domain.effects import DropValue, SaveValue
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.domain.states import StateConfig, states_of
from soorma_ai.kernel.domain.values import Json, JsonObject, json_object

_ONLY = ""


class PlanValues:
    """Values of a plan. `results` and `state` are changed in place, by the plan's author as well; `changes` finds the
    changes."""

    def __init__(self, stored: Mapping[tuple[ValueKind, str], Json]) -> None:
        self._stored = stored
        self.results = self._of(ValueKind.RESULT)
        self.state = self._of(ValueKind.STATE)
        self.pause = self._of(ValueKind.PAUSE)
        self.phases = self._of(ValueKind.PHASE)
        self.session = self._of(ValueKind.SESSION)
        self.context = self._of(ValueKind.CONTEXT)
        machine = self._stored.get((ValueKind.MACHINE, _ONLY))
        written = machine.items() if isinstance(machine, dict) else ()
        self.machine = states_of({name: config for name, config in written if isinstance(config, dict)})

    def declare(self, machine: Mapping[str, StateConfig]) -> None:
        self.machine = dict(machine)

    def apply(self, effect: SaveValue | DropValue) -> None:
        """Apply an effect on anything but the machine, which is declared."""
        values = dict(self._by_key())[effect.kind]
        if isinstance(effect, SaveValue):
            values[effect.key] = effect.value
        else:
            values.pop(effect.key, None)

    def changes(self, plan_id: str) -> tuple[SaveValue | DropValue, ...]:
        """Return the changes. Raise LocalProtocolError for a value other than JSON."""
        now: dict[tuple[ValueKind, str], Json] = {}
        if self.machine:
            written: JsonObject = {name: config.model_dump(mode="json") for name, config in self.machine.items()}
            now[ValueKind.MACHINE, _ONLY] = written
        for kind, values in self._by_key():
            now |= {(kind, key): value for key, value in json_object(f"plan.{kind}", values).items()}
        saved = [
            SaveValue(plan_id, *at, value)
            for at, value in now.items()
            if at not in self._stored or self._stored[at] != value
        ]
        return (*saved, *(DropValue(plan_id, *at) for at in self._stored if at not in now))

    def _by_key(self) -> tuple[tuple[ValueKind, dict[str, Json]], ...]:
        return (
            (ValueKind.RESULT, self.results),
            (ValueKind.STATE, self.state),
            (ValueKind.PAUSE, self.pause),
            (ValueKind.PHASE, self.phases),
            (ValueKind.SESSION, self.session),
            (ValueKind.CONTEXT, self.context),
        )

    def _of(self, kind: ValueKind) -> dict[str, Json]:
        return {key: deepcopy(value) for (of, key), value in self._stored.items() if of is kind}
