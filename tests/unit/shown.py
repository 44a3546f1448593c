"""Offers as they are shown when there is room for all of them."""

from soorma_ai.core.offering.form import form_of
from soorma_ai.core.offering.offer import Offer
from soorma_ai.core.offering.showing import show_offer
from soorma_ai.domain.decisions import Room, Showing
from soorma_ai.domain.values import JsonObject

ENDLESS = Room(10**9)


def everything_of(offer: Offer) -> Showing:
    return show_offer(offer, ENDLESS, (), (), None)


def whole_form(offer: Offer, at_once: int | None = None) -> JsonObject:
    return form_of(offer, everything_of(offer), at_once)
