"""Draw the curves of a year as an SVG picture: small panels of one quantity each, a line for each model. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean
from typing import Final

from year_figures import YearFigures, shares
from year_judge import Verdict

COLOURS: Final = {"strong": "#0072b2", "mediocre": "#d55e00", "absent": "#6b6b6b"}
OTHER_COLOURS: Final = ("#009e73", "#cc79a7", "#e69f00")
LABELS: Final = {"strong": "strong model", "mediocre": "mediocre model", "absent": "no model"}
WIDTH, HEIGHT = 960, 890
COLUMNS: Final = 2
PANEL_WIDTH, PANEL_HEIGHT = 400, 140
LEFT, TOP = 60, 124
GAP_X, GAP_Y = 70, 50
LEGEND_CHAR: Final = 8
LEGEND_TOP: Final = 60
LEGEND_LINE: Final = 22
SMOOTH_WEEKS: Final = 4
"""Shares and tokens are those of the last four weeks: the questions of one week alone are noise."""

_MONTHS: Final = ((1, "Jan"), (14, "Apr"), (27, "Jul"), (40, "Oct"))
_TEXT: Final = 'font-family="sans-serif" fill="#222222"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One quantity: its values by week for each model, and how a value is written."""

    title: str
    values: Callable[[YearFigures], Sequence[float]]
    label: Callable[[float], str]
    most: float | None = None


def draw_year(years: Sequence[YearFigures], *, title: str) -> str:
    """Return the picture of one or several models, or of one model with several settings."""
    colours = {
        year.model: COLOURS.get(year.model, OTHER_COLOURS[place % len(OTHER_COLOURS)])
        for place, year in enumerate(years)
    }
    size, label = f"0 0 {WIDTH} {HEIGHT}", escape(title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img" aria-label="{label}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="36" font-size="20" {_TEXT}>{escape(title)}</text>',
        *_legend(colours),
    ]
    for place, panel in enumerate(PANELS):
        column, row = place % COLUMNS, place // COLUMNS
        x, y = LEFT + column * (PANEL_WIDTH + GAP_X), TOP + row * (PANEL_HEIGHT + GAP_Y)
        parts += _panel(panel, years, colours, x, y)
    return "\n".join([*parts, "</svg>", ""])


def _legend(colours: dict[str, str]) -> list[str]:
    """Return the models on one line, and each model with other settings on a line of its own."""
    parts: list[str] = []
    x, y = LEFT, LEGEND_TOP
    for name, colour in colours.items():
        label = LABELS.get(name, name)
        if name not in LABELS and x > LEFT:
            x, y = LEFT, y + LEGEND_LINE
        parts += [
            f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" stroke="{colour}" stroke-width="3"/>',
            f'<text x="{x + 30}" y="{y + 5}" font-size="14" {_TEXT}>{escape(label)}</text>',
        ]
        x += 60 + LEGEND_CHAR * len(label)
    return parts


def _panel(
    panel: Panel, years: Sequence[YearFigures], colours: dict[str, str], x: float, y: float
) -> list[str]:
    lines = {year.model: panel.values(year) for year in years}
    most = panel.most or max((max(values, default=0.0) for values in lines.values()), default=0.0) or 1.0
    weeks = max(len(year.weeks) for year in years)
    bottom = y + PANEL_HEIGHT
    parts = [f'<text x="{x}" y="{y - 8}" font-size="14" {_TEXT}>{escape(panel.title)}</text>']
    for share in (0.0, 0.5, 1.0):
        at, value = bottom - share * PANEL_HEIGHT, escape(panel.label(share * most))
        parts += [
            f'<line x1="{x}" y1="{at:.1f}" x2="{x + PANEL_WIDTH}" y2="{at:.1f}" stroke="#dddddd"/>',
            f'<text x="{x - 6}" y="{at + 4:.1f}" font-size="11" text-anchor="end" {_TEXT}>{value}</text>',
        ]
    for week, month in _MONTHS:
        if week <= weeks:
            at = _across(week - 1, weeks, x)
            parts.append(f'<text x="{at:.1f}" y="{bottom + 15}" font-size="11" {_TEXT}>{month}</text>')
    for model, values in lines.items():
        points = " ".join(
            f"{_across(week, weeks, x):.1f},{bottom - min(value / most, 1.0) * PANEL_HEIGHT:.1f}"
            for week, value in enumerate(values)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[model]}" stroke-width="2"/>')
    return parts


def _across(week: int, weeks: int, x: float) -> float:
    return x + week / max(1, weeks - 1) * PANEL_WIDTH


def _share_of(verdict: Verdict) -> Callable[[YearFigures], Sequence[float]]:
    def values(year: YearFigures) -> Sequence[float]:
        return [
            shares(each for each in year.answerable if week - SMOOTH_WEEKS < each.week <= week)[verdict]
            for week in range(1, len(year.weeks) + 1)
        ]

    return values


def _smooth(values: Sequence[float]) -> Sequence[float]:
    """Return the mean of the last four weeks for each week."""
    return [fmean(values[max(0, week - SMOOTH_WEEKS) : week]) for week in range(1, len(values) + 1)]


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.1f} MB"


PANELS: Final = (
    Panel(title="right answers", values=_share_of(Verdict.RIGHT), label=_percent, most=1.0),
    Panel(title="unknown", values=_share_of(Verdict.UNKNOWN), label=_percent, most=1.0),
    Panel(title="outdated answers", values=_share_of(Verdict.OUTDATED), label=_percent, most=0.2),
    Panel(title="wrong answers", values=_share_of(Verdict.WRONG), label=_percent, most=0.2),
    Panel(title="current memories", values=lambda year: [each.rows for each in year.weeks], label=_number),
    Panel(
        title="size of the databases, beyond an empty home",
        values=lambda year: [each.bytes for each in year.weeks],
        label=_megabytes,
    ),
    Panel(
        title="tokens injected a day",
        values=lambda year: _smooth([each.tokens_a_day for each in year.weeks]),
        label=_number,
    ),
    Panel(
        title="tokens of the model a week",
        values=lambda year: _smooth([each.model_tokens for each in year.weeks]),
        label=_number,
    ),
)
