"""Printed trials: a line for each plan, the diff of its first difference, and the figures of all."""

from soorma_ai.features.trials.figures import Share, TrialReport, report_of, share_of
from soorma_ai.features.trials.records import DecisionTrial, ModelTrial, Outcome, PlanTrial, Usage
from soorma_ai.features.trials.shadow.records import ShadowReport
from soorma_ai.surfaces.terminal.escapes import one_line, printable
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, WAITING, Part, Printer
from soorma_ai.surfaces.terminal.wording import short_id

_STYLES = {Outcome.SAME: GOOD, Outcome.REWORDED: WAITING, Outcome.DIFFERENT: BAD, Outcome.REFUSED: BAD}
_INDENT = 3


def print_plan_trials(printer: Printer, found: list[PlanTrial]) -> None:
    for one in found:
        unread = f", {one.unreadable} unreadable" if one.unreadable else ""
        _print_plan(printer, one, f"{one.tried} of {one.count} decisions compared{unread}")
    if not found:
        printer.line("no plans")
    elif len(found) > 1:
        printer.line(*_share_of_plans(share_of(sum(one.is_same for one in found), len(found))))


def print_model_trial(printer: Printer, trial: ModelTrial) -> None:
    asked = len(trial.scores)
    beside = [f"{asked} {'question' if asked == 1 else 'questions'} asked"]
    beside += [f"{trial.unreadable} unreadable"] if trial.unreadable else []
    beside += [f"{trial.unasked} not comparable"] if trial.unasked else []
    beside += [_dollars(trial.now.usd)] if trial.now.calls else []
    _print_plan(printer, trial, ", ".join(beside))


def _print_plan(printer: Printer, one: PlanTrial | ModelTrial, compared: str) -> None:
    outcome = one.first.outcome if one.first else Outcome.SAME
    said = "incomplete" if isinstance(one, ModelTrial) and one.stopped else outcome
    style = WAITING if said == "incomplete" else _STYLES[outcome]
    about = f"  {one_line(one.planner)}  {one_line(one.goal_event)}"
    printer.line((short_id(one.plan_id), BOLD), about, "  ", (said, style), (f"  {compared}", DIM))
    if one.first is not None:
        _print_difference(printer, one.first)


def print_report(printer: Printer, report: TrialReport, model: str, counted: str) -> None:
    """Print the figures of a model beside those of the recorded answers."""
    if report.plans.count == 0:
        printer.line(f"no {counted.split()[0]}")
        return
    printer.line(*_share_of_plans(report.plans, counted))
    if report.pass_at_1.count == 0:
        printer.line("no question of a step was asked")
        return
    printer.line(*_pass(1, report.pass_at_1))
    if report.times > 1:
        printer.line(*_pass(report.times, report.pass_power))
    rows = [_usage("recorded", report.then), _usage(one_line(model), report.now)]
    if printer.is_plain:
        printer.rows(rows)
    else:
        printer.table(("answers of", "calls", "tokens", "US dollars", "ms a call"), rows)
    printer.line((f"new calls cost {_dollars(report.paid_usd)}; kept answers cost nothing again", DIM))


def print_shadow(printer: Printer, report: ShadowReport) -> None:
    """Print the outcomes of a shadow, their figures, and its costs by day."""
    for trial in report.trials:
        print_model_trial(printer, trial)
    for model in dict.fromkeys(trial.model for trial in report.trials):
        trials = [trial for trial in report.trials if trial.model == model]
        print_report(printer, report_of(trials, 1), model, "decisions same")
    if not report.trials:
        printer.line("no outcomes")
    if report.unanswered:
        printer.line(f"{report.unanswered} calls without an answer")
    for day in report.days:
        printer.line(day.day, f"  {_dollars(day.usd)}")


def _pass(times: int, share: Share) -> tuple[Part, ...]:
    return (f"pass^{times}" if times > 1 else "pass@1", BOLD), f"  {share.value:.1%}", _interval(share, "questions")


def _share_of_plans(share: Share, counted: str = "plans same") -> tuple[Part, ...]:
    return (f"{share.good:.0f} of {share.count} {counted}", BOLD), f"  {share.value:.1%}", _interval(share)


def _interval(share: Share, counted: str = "") -> str:
    beside = f", {share.count} {counted}" if counted else ""
    return f"  (95 % interval {share.low:.1%} to {share.high:.1%}{beside})"


def _usage(name: str, usage: Usage) -> tuple[str, str, str, str, str]:
    usd = "unknown" if usage.usd is None else f"{usage.usd:.4f}"
    latency = usage.latency_ms / usage.calls if usage.calls else 0.0
    return name, f"{usage.calls:,}", f"{usage.tokens:,}", usd, f"{latency:,.0f}"


def _dollars(usd: float | None) -> str:
    return "an unknown number of US dollars" if usd is None else f"{usd:.4f} US dollars"


def _print_difference(printer: Printer, first: DecisionTrial) -> None:
    reason = one_line(first.reason)
    printer.line((f"decision {first.number}: ", BOLD), (reason, _STYLES[first.outcome]), indent=_INDENT)
    for line in (*first.answer, *first.question):
        style = GOOD if line.startswith("+") else BAD if line.startswith("-") else DIM
        printer.line((printable(line), style), indent=2 * _INDENT)
