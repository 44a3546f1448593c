"""What may be done about a dead letter."""

from soorma_ai.domain.plans import PlanStatus


def hindrance(unreadable: str | None, plan_id: str | None, plan_status: PlanStatus | None) -> str | None:
    """Why handling it again would be in vain, in words; None: nothing hinders it. The plan is the one it came for."""
    if unreadable is not None:
        return f"{unreadable}; redrive it with the version of this program that wrote it, or discard it"
    if plan_status is not None and plan_status.is_final:
        return (
            f"plan {plan_id}, which it came for, has ended ({plan_status}) and takes nothing more; "
            "submit the goal again, and discard this"
        )
    return None
