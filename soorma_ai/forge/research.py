"""Research: a topic becomes questions, each is answered from an archive, the answers become insights."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, StrEnum
from typing import ClassVar, cast

from pydantic import Field
from typing_extensions import Unpack

from soorma_ai.features.phases.agent import PhaseOptions
from soorma_ai.features.phases.hooks import PhaseTool
from soorma_ai.features.phases.records import (
    BasePhaseContext,
    Checkpoint,
    CheckpointKind,
    DataEvent,
    PhaseTransition,
    SSEEvent,
)
from soorma_ai.forge.archive import READ, SEARCH
from soorma_ai.forge.base import NAMES, BaseForgeAgent, Work, changes_of
from soorma_ai.kernel.domain.values import Json, JsonObject

# How long a person may look at what was answered before the journey goes on.
COVERAGE_TIME = timedelta(hours=1)


# What a person may change about the questions: ids to remove, and questions to add.
CHANGES = changes_of(
    remove=NAMES,
    add={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("id", "category_id", "text")},
            "required": ["id", "category_id", "text"],
            "additionalProperties": False,
        },
    },
)


class Phase(StrEnum):
    DECOMPOSE = "DECOMPOSE"
    ANSWER = "ANSWER"
    RISE_ABOVE = "RISE_ABOVE"
    EXPAND = "EXPAND"
    COMPLETE = "COMPLETE"


class CategoryQuestion(Work):
    """A part of the topic, by the question that it answers."""

    id: str
    question: str


class Question(Work):
    id: str
    category_id: str
    text: str


class Quote(Work):
    source_id: str
    quote: str = Field(description="word for word, as the source has it")


class Answer(Work):
    question_id: str
    text: str
    quotes: list[Quote] = Field(min_length=1)


class Source(Work):
    id: str
    title: str


class AdjacentQuestion(Work):
    question: str
    why: str


class Decomposition(Work):
    """The work of DECOMPOSE: what is new in this visit."""

    categories: list[CategoryQuestion]
    questions: list[Question]


class Answers(Work):
    """The work of ANSWER. `new_category` is empty where no reading showed one."""

    answers: list[Answer]
    new_category: str = Field(description="a part of the topic that no category covers; empty for none")


class Insight(Work):
    category_id: str
    insight: str


class Synthesis(Work):
    """The work of RISE_ABOVE: an insight for each category, or what is missing for that."""

    insights: list[Insight]
    missing_answers: str = Field(description="what has to be answered before; empty for nothing")
    missing_category: str = Field(description="the part of the topic that no category covers; empty for none")


class Frontier(Work):
    """The work of EXPAND."""

    adjacent_questions: list[AdjacentQuestion]


WORKS: Mapping[Enum, type[Work]] = {
    Phase.DECOMPOSE: Decomposition,
    Phase.ANSWER: Answers,
    Phase.RISE_ABOVE: Synthesis,
    Phase.EXPAND: Frontier,
}


@dataclass
class ResearchPhaseContext(BasePhaseContext):
    """Knowledge of a research journey. `answers` are by the ids of their questions; gaps are those of the last visit of
    a phase."""

    categories: list[CategoryQuestion] = field(default_factory=list[CategoryQuestion])
    questions: list[Question] = field(default_factory=list[Question])
    answered_questions: list[str] = field(default_factory=list[str])
    sources: list[Source] = field(default_factory=list[Source])
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    category_insights: dict[str, str] = field(default_factory=dict[str, str])
    adjacent_questions: list[AdjacentQuestion] = field(default_factory=list[AdjacentQuestion])
    new_category: str = ""
    missing_answers: str = ""
    missing_category: str = ""
    titles: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def open_questions(self) -> list[Question]:
        return [one for one in self.questions if one.id not in self.answered_questions]


class ResearchAgent(BaseForgeAgent):
    """Finds out the contents of an archive about a topic, with exact quotes only: each quote has to stand, word for
    word, in a text read by the journey. People approve the questions, and may look at the answers for as long as
    `coverage_time`. `search_event` and `read_event` are those of a tool of yours; see `archive`."""

    Phase: ClassVar[type[Enum]] = Phase
    prompts = "forge/research"

    def __init__(
        self,
        name: str = "research",
        description: str = "Researches a topic in an archive.",
        *,
        search_event: str = SEARCH,
        read_event: str = READ,
        coverage_time: timedelta = COVERAGE_TIME,
        **options: Unpack[PhaseOptions],
    ) -> None:
        self._search, self._read = search_event, read_event
        self._coverage_time = coverage_time
        super().__init__(name, description, **options)

    @property
    def phase_transitions(self) -> list[PhaseTransition]:
        return [
            PhaseTransition(Phase.DECOMPOSE, Phase.ANSWER, "questions_ready", False),
            PhaseTransition(Phase.ANSWER, Phase.RISE_ABOVE, "questions_answered", False),
            PhaseTransition(Phase.RISE_ABOVE, Phase.EXPAND, "insights_found", False),
            PhaseTransition(Phase.EXPAND, Phase.COMPLETE, "frontier_found", False),
            PhaseTransition(Phase.ANSWER, Phase.DECOMPOSE, "new_category_discovered", True),
            PhaseTransition(Phase.RISE_ABOVE, Phase.ANSWER, "synthesis_requires_more_answers", True),
            PhaseTransition(Phase.RISE_ABOVE, Phase.DECOMPOSE, "synthesis_reveals_missing_category", True, priority=1),
        ]

    @property
    def initial_phase(self) -> Enum:
        return Phase.DECOMPOSE

    @property
    def complete_phase(self) -> Enum:
        return Phase.COMPLETE

    @property
    def _context(self) -> ResearchPhaseContext:
        return cast("ResearchPhaseContext", self.phase_context)

    def _create_phase_context(self) -> BasePhaseContext:
        return ResearchPhaseContext()

    def _get_phase_tools(self, phase: Enum) -> Sequence[PhaseTool]:
        return [self._search, self._read] if phase.value == Phase.ANSWER else []

    def _get_work_schema(self, phase: Enum) -> type[Work] | None:
        return WORKS.get(phase)

    def _evaluate_transition_condition(self, transition: PhaseTransition) -> bool:
        known = self._context
        match transition.condition:
            case "questions_ready":
                return bool(known.open_questions)
            case "questions_answered":
                return not known.open_questions
            case "insights_found":
                return all(one.id in known.category_insights for one in known.categories)
            case "new_category_discovered":
                return bool(known.new_category)
            case "synthesis_requires_more_answers":
                return bool(known.missing_answers)
            case "synthesis_reveals_missing_category":
                return bool(known.missing_category)
            case _:
                return True

    def _get_trigger_detail(self, transition: PhaseTransition) -> str:
        known = self._context
        return {
            "new_category_discovered": known.new_category,
            "synthesis_requires_more_answers": known.missing_answers,
            "synthesis_reveals_missing_category": known.missing_category,
        }.get(transition.condition, "")

    def _get_checkpoint(self, phase: Enum) -> Checkpoint | None:
        known = self._context
        if phase.value == Phase.DECOMPOSE:
            asked: list[Json] = [one.text for one in known.questions]
            words = "Are these the questions to answer?"
            return Checkpoint("question_tree", words, about={"questions": asked}, changes=CHANGES)
        if phase.value == Phase.ANSWER:
            read: list[Json] = [one.title for one in known.sources]
            about: JsonObject = {"answered": len(known.answered_questions), "sources": read}
            kind, words = CheckpointKind.OPTIONAL, "Do these answers and sources cover the topic?"
            return Checkpoint("coverage", words, kind=kind, timeout=self._coverage_time, about=about)
        return None

    def _tell_context(self, phase: Enum) -> JsonObject:
        """Return the questions, and the knowledge about them as far as the phase needs it."""
        known = self._context
        categories: JsonObject = {one.id: one.question for one in known.categories}
        told: JsonObject = {**self._brief(), "categories": categories}
        if phase.value == Phase.DECOMPOSE:
            questions: JsonObject = {one.id: one.text for one in known.questions}
            return {**told, "questions": questions}
        answered = [one for one in known.questions if one.id in known.answers]
        answers: JsonObject = {one.text: known.answers[one.id].text for one in answered}
        if phase.value == Phase.ANSWER:
            asked: JsonObject = {one.id: one.text for one in known.open_questions or known.questions}
            return {**told, "questions to answer": asked, "answers": answers}
        insights: JsonObject = {**known.category_insights}
        return {**told, "answers": answers, "insights": insights}

    def _take_work(self, phase: Enum, work: JsonObject) -> Iterable[SSEEvent]:
        known, made = self._context, WORKS[phase].model_validate(work)
        match made:
            case Decomposition():
                known.new_category = known.missing_category = ""
                known.categories += made.categories
                known.questions += made.questions
                return [DataEvent(name="question.added", value=one.model_dump()) for one in made.questions]
            case Answers():
                return [*self._take_answers(known, made)]
            case Synthesis():
                known.category_insights |= {one.category_id: one.insight for one in made.insights}
                known.missing_answers, known.missing_category = made.missing_answers, made.missing_category
                return [DataEvent(name="insight.found", value=one.model_dump()) for one in made.insights]
            case Frontier():
                known.adjacent_questions += made.adjacent_questions
            case _:
                pass
        return []

    def _take_answers(self, known: ResearchPhaseContext, made: Answers) -> Iterator[SSEEvent]:
        """Keep answers. A visit requested by the synthesis answers its gaps anew."""
        known.new_category, known.missing_answers = made.new_category, ""
        for answer in made.answers:
            known.answers[answer.question_id] = answer
            if answer.question_id not in known.answered_questions:
                known.answered_questions.append(answer.question_id)
            yield DataEvent(name="question.answered", value={"id": answer.question_id})
            for quote in answer.quotes:
                if quote.source_id not in [one.id for one in known.sources]:
                    known.sources.append(Source(id=quote.source_id, title=known.titles.get(quote.source_id, "")))
                    yield DataEvent(name="source.found", value={"id": quote.source_id})

    async def _check_work(self, phase: Enum, work: JsonObject) -> str:
        known, made = self._context, WORKS[phase].model_validate(work)
        match made:
            case Decomposition():
                return _fault_of_questions(known, made)
            case Answers():
                texts = await self._texts_read()
                known.titles |= {name: str(text.get("title", "")) for name, text in texts.items()}
                return _fault_of_answers(known, made, texts)
            case Synthesis():
                strange = sorted({one.category_id for one in made.insights} - {one.id for one in known.categories})
                return f"there is no category {strange[0]!r}" if strange else ""
            case _:
                return ""

    async def _texts_read(self) -> dict[str, JsonObject]:
        read = [one for one in await self._answers_of(self._read) if isinstance(one, dict)]
        return {str(one.get("source_id")): one for one in read}

    def _apply_user_modifications(self, modifications: JsonObject) -> None:
        """`remove` names questions by their ids, `add` holds new ones as a decomposition does."""
        known, removed = self._context, modifications.get("remove")
        gone = [str(one) for one in removed] if isinstance(removed, list) else []
        known.questions = [one for one in known.questions if one.id not in gone]
        added = modifications.get("add")
        for one in added if isinstance(added, list) else ():
            question = Question.model_validate(one)
            if question.id not in [other.id for other in known.questions]:
                known.questions.append(question)

    def _generate_completion_summary(self) -> Json:
        known = self._context
        answers = [_describe(known, one) for one in known.questions if one.id in known.answers]
        return cast(
            "Json",
            {
                "topic": self._brief().get("topic"),
                "answers": answers,
                "insights": [
                    {"question": one.question, "insight": known.category_insights.get(one.id, "")}
                    for one in known.categories
                ],
                "sources": [one.model_dump() for one in known.sources],
                "adjacent_questions": [one.model_dump() for one in known.adjacent_questions],
            },
        )


def _describe(known: ResearchPhaseContext, question: Question) -> JsonObject:
    answer = known.answers[question.id]
    quotes: list[Json] = [one.model_dump() for one in answer.quotes]
    return {"question": question.text, "answer": answer.text, "quotes": quotes}


def _fault_of_questions(known: ResearchPhaseContext, made: Decomposition) -> str:
    categories = {one.id for one in (*known.categories, *made.categories)}
    ids = [one.id for one in (*known.questions, *made.questions)]
    if double := sorted({one for one in ids if ids.count(one) > 1}):
        return f"the id {double[0]!r} is that of several questions, or of one that is there already: give only new ones"
    strange = next((one for one in made.questions if one.category_id not in categories), None)
    return f"question {strange.id!r} names the category {strange.category_id!r}, which is none" if strange else ""


def _fault_of_answers(known: ResearchPhaseContext, made: Answers, texts: Mapping[str, JsonObject]) -> str:
    """Return the fault of answers: to unasked questions, or with quotes of unread texts."""
    asked = {one.id for one in known.questions}
    for answer in made.answers:
        if answer.question_id not in asked:
            return f"there is no question {answer.question_id!r}; there are {', '.join(sorted(asked))}"
        for quote in answer.quotes:
            if quote.source_id not in texts:
                read = ", ".join(sorted(texts)) or "none"
                return f"source {quote.source_id!r} was not read; read were {read}"
            if quote.quote not in str(texts[quote.source_id].get("text", "")) or not quote.quote.strip():
                return f"source {quote.source_id!r} does not say {quote.quote!r}: quote it word for word"
    return ""
