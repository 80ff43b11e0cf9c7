"""What the documentation names exists."""

from __future__ import annotations

from pathlib import Path

import check_docs
import pytest


@pytest.mark.parametrize("page", check_docs.pages(), ids=lambda page: page.name)
def test_everything_a_page_names_exists(page: Path) -> None:
    found = list(check_docs.problems(page))
    if found:
        pytest.fail("\n".join(found), pytrace=False)
