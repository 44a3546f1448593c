"""Replacements of models, and the use of models."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from soorma_ai.kernel.domain.records import Record

_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
# US dollars per token in and per token out.
TokenPrice = tuple[_Dollars, _Dollars]


class ModelReplacement(Record, frozen=True):
    """Replacement of a `model` by another, since a moment. `price` is that of the other one, if it is given."""

    model: str
    to: str
    at: datetime
    price: TokenPrice | None = None


class ModelUse(Record, frozen=True):
    """Use of a model: the `planners` with this model by their code, and the number of their open plans. Of these, the
    `parked_plans` wait for a person or an agent. `replacement` is in force for all of them."""

    model: str
    planners: tuple[str, ...] = ()
    open_plans: int = 0
    parked_plans: int = 0
    replacement: ModelReplacement | None = None


class ModelSwitch(Record, frozen=True):
    """Switch of planners and their open plans from a `model` `to` another. `resumed` plans were at rest, since their
    model refused its set-up."""

    model: str
    to: str
    planners: tuple[str, ...] = ()
    open_plans: int = 0
    parked_plans: int = 0
    resumed: int = 0
