"""Links of the built site. `python tests/docs/site_links.py FOLDER` exits with 1 for a broken link within the site."""

import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Its links start with the address of the site, since it is shown for any path.
NOT_FOUND_PAGE = "404.html"


class _Page(HTMLParser):
    """Collects the links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is not None and name in ("href", "src"):
                self.links.append(value)
            elif value is not None and name in ("id", "name"):
                self.anchors.add(value)


def broken_links(site: Path) -> list[str]:
    """Return each broken link within the site, after its page."""
    root = site.resolve()
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}
    return [
        f"{path.relative_to(root)}: {link}"
        for path, page in sorted(pages.items())
        if path.name != NOT_FOUND_PAGE
        for link in page.links
        if not _leads(path, link, root, pages)
    ]


def _leads(path: Path, link: str, root: Path, pages: Mapping[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not (target.exists() and target.is_relative_to(root)):
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].anchors


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    sys.exit("\n".join(["broken links:", *found]) if found else 0)
