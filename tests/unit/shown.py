"""Offers shown without a limit of size."""

from soorma_ai.kernel.domain.decisions import OfferRoom, Showing
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.choices.form import form_of
from soorma_ai.kernel.rules.choices.offer import Offer
from soorma_ai.kernel.rules.choices.showing import show_offer

ENDLESS = OfferRoom(10**9)


def everything_of(offer: Offer) -> Showing:
    return show_offer(offer, ENDLESS, (), (), None)


def whole_form(offer: Offer, at_once: int | None = None) -> JsonObject:
    return form_of(offer, everything_of(offer), at_once)
