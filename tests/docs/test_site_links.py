"""The check of the built site names every broken link."""

from pathlib import Path

from site_links import broken_links


def test_a_link_to_a_missing_file_or_anchor_or_outside_the_site_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "guides").mkdir(parents=True)
    (tmp_path / "secret.html").write_text("")
    (site / "index.html").write_text('<h1 id="top">Top</h1><a href="guides/a.html#begin">a</a><img src="gone.png">')
    (site / "guides" / "a.html").write_text(
        '<h1 id="begin">A</h1> <a href="../index.html#top"> <a href="#begin"> <a href="https://example.com/x#y">'
        '<a href="../index.html#gone"> <a href="#gone"> <a href="b.html"> <a href="../../secret.html"> <a href="..">'
    )
    assert broken_links(site) == [
        "guides/a.html: ../index.html#gone",
        "guides/a.html: #gone",
        "guides/a.html: b.html",
        "guides/a.html: ../../secret.html",
        "index.html: gone.png",
    ]
