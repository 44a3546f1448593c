"""A bar chart as SVG text: attributes and classes only, for pages without inline styles."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

WIDTH, HEIGHT = 480, 120
_TOP, _BOTTOM = 20, 20  # room above the bars, and for the labels below
_LEAST = 2  # height of a bar that is not zero
_GAP = 0.25  # part of a bar's place


class ChartBar(Struct, frozen=True):
    """`label` is drawn below unless it is empty, `words` are its title. `is_open`: the true value may be higher."""

    value: float
    label: str
    words: str
    is_open: bool = False


def draw_bars(bars: Sequence[ChartBar], title: str, scale: str = "") -> str:
    """Return the SVG. The highest bar fills the height; `scale` is its value in words."""
    most = max((one.value for one in bars), default=0.0)
    place = WIDTH / max(len(bars), 1)
    drawn = "".join(_bar(one, number * place, place, most) for number, one in enumerate(bars))
    base = HEIGHT - _BOTTOM
    line = f'<line class="base" x1="0" y1="{base}" x2="{WIDTH}" y2="{base}"/>'
    line += f'<text class="scale" x="0" y="12">{escape(scale)}</text>' if scale else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="bar-chart" role="img" aria-label={quoteattr(title)} '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{drawn}{line}</svg>'
    )


def _bar(bar: ChartBar, x: float, place: float, most: float) -> str:
    room = HEIGHT - _TOP - _BOTTOM
    height = max(bar.value / most * room, _LEAST) if bar.value > 0 else 0.0
    width, top = place * (1 - _GAP), HEIGHT - _BOTTOM - height
    mark = " open" if bar.is_open else ""
    rect = (
        f'<rect class="value{mark}" x="{x + place * _GAP / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}"><title>{escape(bar.words)}</title></rect>'
    )
    label = f'<text x="{x + place * _GAP / 2:.1f}" y="{HEIGHT - 5}">{escape(bar.label)}</text>' if bar.label else ""
    return rect + label
