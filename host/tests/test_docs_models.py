"""docs/models.md: its examples give what it prints, and its tables hold what the models have."""

import doctest
import re
from pathlib import Path

import pytest

from idmkit.dynamics.axes import axes_graph
from idmkit.dynamics.delta import DeltaGeometry, delta_graph
from idmkit.dynamics.puma import PumaGeometry, puma_graph
from idmkit.dynamics.scara import scara_graph
from idmkit.dynamics.two_link import two_link_graph

PAGE = Path(__file__).resolve().parents[2] / "docs/models.md"
GEOMETRY = DeltaGeometry(0.2, 0.05, 0.3, 0.8)
FOUR = ("j1", "j2", "j3", "j4")
GRAPHS = {
    "Rotary 1: a plain axis": [axes_graph([("a", "revolute", 1)])],
    "Rotary 2: a horizontal crank": [axes_graph([("a", "revolute", 2)])],
    "Rotary 3: a vertical crank": [axes_graph([("a", "revolute", 3)])],
    "Linear 1: a horizontal axis": [axes_graph([("a", "prismatic", 1)])],
    "Linear 2: a vertical or tilted axis": [axes_graph([("a", "prismatic", 2)])],
    "Linear 3: a vertical axis with a spring": [axes_graph([("a", "prismatic", 3)])],
    "Two-link": [two_link_graph(0.4, 0.3)],
    "SCARA 1": [scara_graph(0.35, 0.25, spline=True)],
    # The shaft stands in the first table alone.
    "DELTA 1": [delta_graph(GEOMETRY, FOUR), delta_graph(GEOMETRY, rods="lumped")],
    "PUMA 1": [puma_graph(PumaGeometry())],
    "PUMA 2": [puma_graph(PumaGeometry(), model=2)],
}


def sections() -> dict[str, str]:
    """Text by heading."""
    _, *parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_examples_give_what_the_page_prints():
    text = PAGE.read_text(encoding="utf-8")
    examples = []
    for block in re.finditer(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, block.start(1))
        found = doctest.DocTestParser().get_examples(block[1], PAGE.name)
        for example in found:
            example.lineno += line
        examples += found
    shown = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF)
    runner.run(doctest.DocTest(examples, {}, PAGE.name, str(PAGE), 0, text), out=shown.append)
    if runner.failures:
        pytest.fail("".join(shown), pytrace=False)
    assert runner.tries > 70


@pytest.mark.parametrize("name", [name for name in sections() if name not in ("What all models share", "Payloads")])
def test_every_model_has_an_example(name):
    assert "```pycon\n>>> " in sections()[name]


@pytest.mark.parametrize("name", GRAPHS)
def test_the_tables_are_the_models_parameters(name):
    table = re.findall(r"^\| (\d+|-) \| (\w+) \| (\S[^|]*?) \| [^|]+ \|$", sections()[name], re.MULTILINE)
    expected = [
        (str(parameter.number or "-"), parameter.name, parameter.unit)
        for graph in GRAPHS[name]
        for parameter in graph.parameters
        if parameter.kind == "model"
    ]
    assert table == expected
