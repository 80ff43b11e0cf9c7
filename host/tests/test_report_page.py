"""The report page: one file with everything in it, and words of a record do not become markup."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from simulated import identification_run, measured

from idmkit.cli.main import main
from idmkit.finding import Finding
from idmkit.fitting import fit_record
from idmkit.holdout import hold_out
from idmkit.report.page import save_report
from idmkit.robot import load_robot


class Page(HTMLParser):
    """Texts and pictures of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.pictures.append(dict(attrs)["src"])

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def fit():
    return fit_record(measured(identification_run("crank"), 1), load_robot("crank"))


def page_of(path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def test_a_page_holds_parameters_findings_hold_out_and_its_pictures(fit, tmp_path):
    robot = load_robot("crank")
    other = hold_out(fit, measured(identification_run("crank"), 2), robot, "other.npz")
    save_report(fit, tmp_path / "r.html", [("other.npz", other)])
    page = page_of(tmp_path / "r.html")
    assert len(page.pictures) == 1
    assert all(source.startswith("data:image/png;base64,") for source in page.pictures)
    for words in ("crank.MgA", "crank.Fc", "accepted", "other.npz", "follows from crank_length", "Axis crank"):
        assert words in page.text
    assert "http" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_words_of_a_record_do_not_become_markup(fit, tmp_path):
    nasty = Finding("x", "warning", "<script>", "a < b & c")
    verdict = replace(fit.result.verdict, findings=(nasty,))
    save_report(replace(fit, result=replace(fit.result, verdict=verdict)), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "a < b & c" in page_of(tmp_path / "r.html").text


def test_the_conventions_of_every_kind_of_model_are_printed(capsys):
    for name, words in (("crank", "[3]"), ("scara", "P6"), ("tx40", "base parameters of")):
        assert main(["model", name]) == 0
        assert words in capsys.readouterr().out
