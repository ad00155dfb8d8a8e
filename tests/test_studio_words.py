"""What the studio says to somebody who is new to it: reasons with a page to read, notes, names of files."""

from __future__ import annotations

import html
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.studio.panel import why_words
from poise.studio.puppet import Puppet
from poise.studio.reasons import PAGE, REASONS


def test_every_reason_has_its_section_in_the_failure_gallery():
    text = (Path(__file__).parent.parent / PAGE).read_text(encoding="utf-8")
    assert [r.section for r in REASONS if f"\n## {r.section}\n" not in text] == []


@pytest.mark.parametrize(
    ("target", "section"),
    [((2.5, 1.6, 0.3), "Unreachable"), ((-0.9, 0.2, -0.8), "Goals in each other's way")],
)
def test_a_missed_handle_leads_to_the_page_that_explains_it(target, section):
    puppet = Puppet(poise.load("humanoid"))
    puppet.hold("hand_l", np.array(target))
    for _ in range(60):
        puppet.frame()
    told = html.unescape(why_words(puppet.why()))
    assert PAGE in told
    assert f"“{section}”" in told
