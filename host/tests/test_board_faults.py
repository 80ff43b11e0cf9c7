"""Every fault of the registry has its words, here and in docs/faults.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from idmkit.board.faults import FAULT_TEXTS, REACTIONS, describe_fault, fault_text
from idmwire import faults, scales

PAGE = Path(__file__).resolve().parents[2] / "docs" / "faults.md"


def test_the_texts_are_those_of_the_registry() -> None:
    assert list(FAULT_TEXTS) == [name for _, name, _ in faults.FAULTS]
    assert set(REACTIONS) == {faults.NOTE, faults.CONTROLLED_STOP, faults.QUICK_STOP, faults.DISABLE}


@pytest.mark.parametrize("name", FAULT_TEXTS)
def test_a_text_is_a_meaning_and_a_next_step(name: str) -> None:
    text = fault_text(name)
    # The meaning stands inside a sentence, the next step is one or more.
    assert text.meaning[0].islower()
    assert text.meaning[-1] != "."
    assert text.next_step[0].isupper()
    assert text.next_step[-1] == "."
    assert text.quantity in ("", *scales.SCALES)
    sentence = describe_fault(name, 2)
    assert sentence.startswith(f"Fault {name} on axis 2: {text.meaning}. {text.next_step}")


def test_the_page_has_a_section_for_each_fault_and_no_other() -> None:
    headings = re.findall(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [name for _, name, _ in faults.FAULTS]


@pytest.mark.parametrize("name", FAULT_TEXTS)
def test_a_section_says_more_than_its_table(name: str) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"## {name}\n")[1].split("\n## ")[0]
    assert f"<!-- table fault {name} -->" in section
    assert fault_text(name).next_step in section
    assert len(section.split("<!-- end -->")[1].strip()) > 60


def test_an_unknown_fault_says_so() -> None:
    assert "this package does not know it" in describe_fault("fault 77", 0)
