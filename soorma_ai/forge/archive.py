"""The two events for the search and the reading of texts. A tool of the user's takes both."""

from pydantic import BaseModel, Field

SEARCH = "archive.search.requested"
READ = "archive.read.requested"


class Search(BaseModel):
    query: str = Field(description="one or a few words")


class Entry(BaseModel):
    source_id: str
    title: str


class Found(BaseModel):
    entries: list[Entry]


class Reading(BaseModel):
    source_id: str = Field(description="the id of a text, as a search tells it")


class Text(BaseModel):
    source_id: str
    title: str
    text: str
