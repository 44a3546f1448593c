"""Calls that read plans, to block. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.features.tracking.client import AsyncPlanReader
from soorma_ai.features.tracking.rows import AsyncTracker

BlockingPlanReaderKind = TypeVar("BlockingPlanReaderKind", bound=AsyncPlanReader, covariant=True)


class BlockingPlanReader(Blocking[BlockingPlanReaderKind]):
    """Reads plans for people."""

    prompt = blocking(AsyncPlanReader.prompt)
    trace = blocking(AsyncPlanReader.trace)


class BlockingTracker(Blocking[AsyncTracker]):
    """Progress of plans. Every call raises NotFound for a plan invisible to its caller."""

    plan_progress = blocking(AsyncTracker.plan_progress)
    actions = blocking(AsyncTracker.actions)
    timeline = blocking(AsyncTracker.timeline)
    plans = blocking(AsyncTracker.plans)
    plan_tree = blocking(AsyncTracker.plan_tree)
    session_plans = blocking(AsyncTracker.session_plans)
    delegation_group = blocking(AsyncTracker.delegation_group)
    untaken = blocking(AsyncTracker.untaken)
