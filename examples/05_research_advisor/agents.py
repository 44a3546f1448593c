"""An archive of articles that can be searched and read."""

from typing import NamedTuple

from pydantic import BaseModel, Field

from soorma_ai import InvocationContext, PlatformContext, Reject, Tool


class Article(NamedTuple):
    title: str
    words: frozenset[str]
    text: str


ARTICLES = {
    "city-test": Article(
        "Ten city bicycles with a motor",
        frozenset({"city", "work", "light"}),
        "Seven of ten weigh over 24 kg. Testers carried those under 18 kg up the stairs without help.",
    ),
    "charge-test": Article(
        "How far does a charge go?",
        frozenset({"battery", "work", "tours"}),
        "On flat ways of 8 km, 400 Wh lasted for a week. With 1,000 m of climbing, they were gone after 40 km.",
    ),
    "alps-diary": Article(
        "Across the Alps in six days",
        frozenset({"tours", "mountains"}),
        "Whoever had 700 Wh or more came home with charge left. Brakes with four pistons stayed cool with luggage.",
    ),
}


class Search(BaseModel):
    query: str = Field(description="one or a few words")


class Entry(BaseModel):
    article: str
    title: str


class Entries(BaseModel):
    entries: list[Entry]


class Reading(BaseModel):
    article: str = Field(description="the name of an article, as a search tells it")


class Text(BaseModel):
    title: str
    text: str


def archive() -> Tool:
    tool = Tool("archive")

    @tool.on_invoke("archive.search.requested", description="Find articles by words.")
    async def search(request: InvocationContext[Search], context: PlatformContext) -> Entries:
        wanted = set(request.data.query.lower().split())
        found = [Entry(article=name, title=a.title) for name, a in ARTICLES.items() if wanted & a.words]
        return Entries(entries=found)

    @tool.on_invoke("archive.read.requested", description="Read an article.")
    async def read(request: InvocationContext[Reading], context: PlatformContext) -> Text:
        article = ARTICLES.get(request.data.article)
        if article is None:
            raise Reject(f"there is no article {request.data.article!r}", code="no_article")
        return Text(title=article.title, text=article.text)

    return tool
