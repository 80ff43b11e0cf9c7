"""The report of a fit: one self-contained page with the pictures and numbers that a robot engineer would look at."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from idmkit.files import write_text
from idmkit.finding import Finding
from idmkit.fitting import Fit
from idmkit.holdout import HoldOut
from idmkit.report.figure import axis_figure, with_uncertainty

SEVERITIES = {"refusal": "refusal", "warning": "warning", "info": "noticed"}
WIDEST_PERCENT = 20.0
"""A standard deviation of this share of its parameter fills the bar beside it."""

STYLE = """
:root { --ink: #1c2430; --soft: #5c6773; --line: #d9dee5;
  --good: #2e8b57; --bad: #c8402f; --warn: #b7791f; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 1080px; margin: 2.5em auto;
  padding: 0 1.5em; }
h1 { font-size: 1.6em; margin: 0; }
h2 { font-size: 1.15em; margin: 2.2em 0 .6em; border-bottom: 1px solid var(--line); }
.state { display: inline-block; padding: .1em .7em; border-radius: 1em; color: white; font-size: .6em; }
.accepted { background: var(--good); } .refused { background: var(--bad); }
.facts { color: var(--soft); margin: .4em 0 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); }
th:first-child { text-align: left; }
td, th { padding: .25em .8em .25em 0; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-family: ui-monospace, monospace; white-space: pre; }
.words td.number, .words th { white-space: normal; text-align: left; }
.bar { background: #eef1f5; width: 9em; height: .7em; } .bar div { background: #0b6fb8; height: 100%; }
li { margin: .45em 0; } li b { text-transform: uppercase; font-size: .75em; letter-spacing: .04em; }
li.refusal b { color: var(--bad); } li.warning b { color: var(--warn); } li.info b { color: var(--soft); }
img { width: 100%; }
"""


def save_report(
    fit: Fit, path: Path, hold_outs: Sequence[tuple[str, HoldOut]] = (), chapters: Sequence[str] = ()
) -> None:
    """Writes the page, all of it or nothing; `hold_outs` are (name of the record, result).

    `chapters`, made by `chapter` and `verbatim`, come first.
    """
    result = fit.result
    state = "accepted" if result.verdict.accepted else "refused"
    parts = [
        f"<h1>{_text(result.robot)} <span class='state {state}'>{state}</span></h1>",
        f"<p class='facts'>{_text(result.model)}; {_text(result.estimator)}; {result.samples} samples at "
        f"{result.sample_rate_hz:.4g} Hz, low-pass {result.cutoff_hz:g} Hz; gravity {result.gravity:g} m/s²</p>",
        *chapters,
        "<h2>What was found</h2>",
        _findings(result.verdict.findings),
        "<h2>Torque errors</h2>",
        _axes(fit),
    ]
    if hold_outs:
        parts += ["<h2>Records that the model has not seen</h2>", _hold_outs(hold_outs)]
    parts += ["<h2>Parameters</h2>", _parameters(fit)]
    for k, axis in enumerate(fit.observations.axes):
        parts += [f"<h2>Axis {_text(axis)}</h2>", _picture(axis_figure(fit, k), f"torque and errors of {axis}")]
    page = (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{_text(result.robot)}: identification"
        f"</title><style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )
    write_text(path, page)


def chapter(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts under its title, as HTML."""
    escaped = [[_text(cell) for cell in row] for row in rows]
    return f"<h2>{_text(title)}</h2><div class=words>{_table([_text(head) for head in heads], escaped)}</div>"


def verbatim(title: str, lines: Iterable[str]) -> str:
    """Lines as they are, under their title, as HTML."""
    joined = "\n".join(lines)
    return f"<h2>{_text(title)}</h2><pre>{_text(joined)}</pre>"


def _text(words: str) -> str:
    return html.escape(words)


def _findings(findings: Iterable[Finding]) -> str:
    order = list(SEVERITIES)
    items = [
        f"<li class='{finding.severity}'><b>{SEVERITIES[finding.severity]}</b> {_text(str(finding))}</li>"
        for finding in sorted(findings, key=lambda finding: order.index(finding.severity))
    ]
    return f"<ul>{''.join(items)}</ul>" if items else "<p>Nothing that speaks against this result.</p>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are HTML, the first of a row is its name."""
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(
        f"<tr><td>{first}</td>{''.join(f'<td class=number>{cell}</td>' for cell in rest)}</tr>" for first, *rest in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _axes(fit: Fit) -> str:
    rows = [
        (
            _text(axis.name),
            f"{axis.max_relative_error_percent:.2f}",
            f"{axis.mean_relative_error_percent:.2f}",
            f"{axis.relative_error_percent:.2f}",
            f"{axis.moving_samples}",
            f"{axis.velocity_threshold:.4g}",
        )
        for axis in fit.result.axes
    ]
    return _table(("axis", "largest, %", "mean, %", "‖e‖/‖τ‖, %", "samples used", "faster than, rad/s, m/s"), rows)


def _hold_outs(hold_outs: Sequence[tuple[str, HoldOut]]) -> str:
    rows = [
        (_text(name), *(f"{percent:.2f}" for percent in outcome.percent), str(outcome.samples))
        for name, outcome in hold_outs
    ]
    heads = ("record", *(f"{_text(axis)}, %" for axis in hold_outs[0][1].axes), "samples")
    found = [finding for _, outcome in hold_outs for finding in outcome.findings if finding.severity != "info"]
    return _table(heads, rows) + (_findings(found) if found else "")


def _parameters(fit: Fit) -> str:
    rows = []
    for parameter in fit.result.parameters:
        known = parameter.std is not None
        value = with_uncertainty(parameter.value, parameter.std or 0.0) if known else f"{parameter.value:>10.5g}"
        rsd = parameter.rsd_percent
        share = "" if rsd is None else f"{rsd:.2f}"
        width = 0.0 if rsd is None else min(100.0, 100 * rsd / WIDEST_PERCENT)
        bar = f"<div class=bar><div style='width:{width:.0f}%'></div></div>" if known else "not from this record"
        rows.append((_text(parameter.name), value, _text(parameter.unit), share, bar))
    return _table(("parameter", "value ± std", "unit", "std, %", "std, full at 20 %"), rows)


def _picture(figure: Figure, words: str) -> str:
    stream = io.BytesIO()
    figure.savefig(stream, dpi=100, format="png", metadata={"Software": None})
    data = base64.b64encode(stream.getvalue()).decode()
    return f"<img alt='{_text(words)}' src='data:image/png;base64,{data}'>"
