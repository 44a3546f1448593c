"""An archive of 200 texts on disk, made by a few tables, and the tool that searches and reads it."""

from pathlib import Path
from typing import Any

from soorma_ai import InvocationContext, PlatformContext, Reject, Tool
from soorma_ai.forge.archive import READ, SEARCH, Entry, Found, Reading, Search, Text

BIRDS = (
    *("barn owl", "tawny owl", "eagle owl", "little owl", "snowy owl", "kestrel", "sparrowhawk", "buzzard", "red kite"),
    *("peregrine", "raven", "magpie", "jay", "heron", "stork", "swift", "swallow", "kingfisher", "nightjar", "hoopoe"),
)
PREY = ("voles", "mice", "beetles", "frogs", "small birds", "fish", "moths", "earthworms", "lizards", "grasshoppers")
PLACES = ("barns", "hollow trees", "cliffs", "church towers", "reed beds", "old nests", "river banks", "hedges")
LANDS = ("Lapland", "Wales", "Tuscany", "Poland", "Anatolia", "Galicia", "Bohemia", "Jutland", "Normandy")
DANGERS = ("traffic", "poisoned prey", "the loss of old barns", "wet springs", "power lines", "glass fronts")
SUBJECTS = ("food", "nests", "eggs", "calls", "flight", "winter", "range", "size", "age", "dangers")


def make_archive(folder: Path) -> Path:
    """Write each text into a file of its own, the same ones every time."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, bird in enumerate(BIRDS):
        for subject in SUBJECTS:
            title = f"The {bird}: {subject}"
            name = f"{bird}-{subject}".replace(" ", "-")
            (folder / f"{name}.txt").write_text(f"{title}\n{write(bird, subject, number)}\n", encoding="utf-8")
    return folder


def write(bird: str, subject: str, number: int) -> str:
    """Return the archive's text on one bird."""

    def one(table: tuple[str, ...], step: int = 1) -> str:
        return table[(number * step + len(subject)) % len(table)]

    the = f"The {bird}"
    match subject:
        case "food":
            return f"{the} eats {one(PREY)} above all. In bad years it takes {one(PREY, 3)}, which are easier to find."
        case "nests":
            return f"{the} nests in {one(PLACES)}. It builds little, and comes back to the same place for years."
        case "eggs":
            return f"{the} lays {2 + number % 6} eggs. They are brooded for {20 + number} days."
        case "calls":
            return f"{the} is heard most in the {3 + number % 3} weeks before it broods. Its call carries far at night."
        case "flight":
            return f"{the} flies at {30 + 3 * number} kilometres an hour when it hunts. It is quick to turn."
        case "winter":
            return f"In winter {the.lower()} hunts by day as well, when snow covers {one(PREY)}. Many starve then."
        case "range":
            return f"{the} is found from {one(LANDS)} to {one(LANDS, 4)}. It avoids high mountains."
        case "size":
            return f"{the} is {20 + 2 * number} centimetres long. Females are heavier than males."
        case "age":
            return f"{the} lives for {4 + number % 9} years in the wild. In care it may live twice as long."
        case _:
            return f"{the} is endangered by {one(DANGERS)} more than by hunters. Young birds are hit most."


def archive(folder: Path) -> Tool:
    # One after the other: recorded answers are to prompts that tell results in this order.
    tool = Tool("archive", max_in_flight=1)
    files = {path.stem: path for path in sorted(folder.glob("*.txt"))}

    def read_file(name: str) -> tuple[str, str]:
        title, _, text = files[name].read_text(encoding="utf-8").partition("\n")
        return title, text.strip()

    @tool.on_invoke(SEARCH, description="Find texts by words; the best come first.")
    async def search(request: InvocationContext[Search], context: PlatformContext) -> Found:
        wanted = set(request.data.query.lower().split())
        found: list[tuple[int, str]] = [(-len(wanted & set(name.split("-"))), name) for name in files]
        best = [name for points, name in sorted(found) if points][:5]
        return Found(entries=[Entry(source_id=name, title=read_file(name)[0]) for name in best])

    @tool.on_invoke(READ, description="Read a text.")
    async def read(request: InvocationContext[Reading], context: PlatformContext) -> Text:
        name = request.data.source_id
        if name not in files:
            raise Reject(f"there is no text {name!r}", code="no_text")
        title, text = read_file(name)
        return Text(source_id=name, title=title, text=text)

    return tool


def faults_of(report: dict[str, Any], folder: Path) -> list[str]:
    """Return the faults of a report: sources and quotes missing from the archive."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
    faults = [f"no source {one['id']}" for one in report["sources"] if one["id"] not in texts]
    quotes = [quote for answer in report["answers"] for quote in answer["quotes"]]
    return faults + [
        f"{one['source_id']}: {one['quote']}" for one in quotes if one["quote"] not in texts[one["source_id"]]
    ]
