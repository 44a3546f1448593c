"""Working copy of a plan's values by key: results, free state, its state machine, a pause, its phases, the context for
its model."""

from collections.abc import Mapping

from soorma_ai.kernel.domain.effects import DropValue, SaveValue
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.domain.states import StateConfig, states_of
from soorma_ai.kernel.domain.values import Json, JsonObject, copy_json, json_object

_ONLY = ""
_MACHINE = (ValueKind.MACHINE, _ONLY)


class PlanValues:
    """Values of a plan. `results` and `state` are changed in place, by the plan's author as well; `changes` finds the
    changes. A kind is copied when it is first asked for. Effects on the others are kept beside their stored values."""

    def __init__(self, stored: Mapping[tuple[ValueKind, str], Json]) -> None:
        self._stored = stored
        self._taken: dict[ValueKind, dict[str, Json]] = {}
        self._effects: dict[tuple[ValueKind, str], SaveValue | DropValue] = {}
        self._machine: dict[str, StateConfig] | None = None
        self._declares = False

    def copy(self) -> "PlanValues":
        """Return one that goes on from here, and leaves this as it is."""
        again = PlanValues(self._stored)
        again._taken = {kind: copy_json(values) for kind, values in self._taken.items()}
        again._effects, again._machine, again._declares = {**self._effects}, self._machine, self._declares
        return again

    @property
    def results(self) -> dict[str, Json]:
        return self._of(ValueKind.RESULT)

    @property
    def state(self) -> dict[str, Json]:
        return self._of(ValueKind.STATE)

    @property
    def pause(self) -> dict[str, Json]:
        return self._of(ValueKind.PAUSE)

    @property
    def phases(self) -> dict[str, Json]:
        return self._of(ValueKind.PHASE)

    @property
    def session(self) -> dict[str, Json]:
        return self._of(ValueKind.SESSION)

    @property
    def context(self) -> dict[str, Json]:
        return self._of(ValueKind.CONTEXT)

    @property
    def machine(self) -> dict[str, StateConfig]:
        if self._machine is None:
            stored = self._stored.get(_MACHINE)
            written = stored if isinstance(stored, dict) else {}
            configs = {name: config for name, config in written.items() if isinstance(config, dict)}
            self._machine = states_of(configs) if configs else {}
        return self._machine

    def declare(self, machine: Mapping[str, StateConfig]) -> None:
        self._machine, self._declares = dict(machine), True

    def put(self, kind: ValueKind, values: dict[str, Json]) -> None:
        """Put these values in the place of all others of their kind."""
        self._of(kind)
        self._taken[kind] = values

    def apply(self, effect: SaveValue | DropValue) -> None:
        """Apply an effect on anything but the machine, which is declared."""
        if (taken := self._taken.get(effect.kind)) is None:
            self._effects[effect.kind, effect.key] = effect
        else:
            _apply(taken, effect)

    def changes(self, plan_id: str) -> tuple[SaveValue | DropValue, ...]:
        """Return the changes. Raise LocalProtocolError for a value other than JSON."""
        kinds, now = {*self._taken}, dict[tuple[ValueKind, str], Json]()
        if self._declares:
            kinds.add(ValueKind.MACHINE)
        if self._declares and self._machine:
            written: JsonObject = {name: config.model_dump(mode="json") for name, config in self._machine.items()}
            now[_MACHINE] = written
        for kind, values in self._taken.items():
            if values:
                now |= {(kind, key): value for key, value in json_object(f"plan.{kind}", values).items()}
        before = {at: value for at, value in self._stored.items() if at[0] in kinds}
        for at, effect in self._effects.items():
            if isinstance(effect, SaveValue):
                now[at] = json_object(f"plan.{at[0]}", {at[1]: effect.value})[at[1]]
            if at in self._stored:
                before[at] = self._stored[at]
        saved = [SaveValue(plan_id, *at, value) for at, value in now.items() if at not in before or before[at] != value]
        return (*saved, *[DropValue(plan_id, *at) for at in before if at not in now])

    def _of(self, kind: ValueKind) -> dict[str, Json]:
        taken = self._taken.get(kind)
        if taken is None:
            taken = {key: copy_json(value) for (of, key), value in self._stored.items() if of is kind}
            self._taken[kind] = taken
            for at in [at for at in self._effects if at[0] is kind]:
                _apply(taken, self._effects.pop(at))
        return taken


def _apply(values: dict[str, Json], effect: SaveValue | DropValue) -> None:
    if isinstance(effect, SaveValue):
        values[effect.key] = effect.value
    else:
        values.pop(effect.key, None)
