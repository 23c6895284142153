# SPDX-License-Identifier: Apache-2.0
"""The tables of studies on a terminal."""

import io

from steelyard.judge.findings import judge
from steelyard.show import session as shown
from steelyard.show import tables
from steelyard.show.console import Console
from tests.unit.judge.sessions import steady, weighed
from tests.unit.judge.test_tables import a_session


def printed(show, *arguments, width=120) -> str:
    text = io.StringIO()
    show(*arguments, Console(file=text, width=width))
    return text.getvalue()


def test_fitted_figures_are_marked_and_explained():
    table = next(table for table in judge(a_session()).tables if "processes" in table.title)
    text = printed(tables.show, [table])
    assert "19.0 µs" in text
    assert "18.9 µs*" in text
    assert "8.34 µs " in text
    assert "* marks what its costs are fitted to" in text
    assert "–" in text


def test_a_study_s_curves_stand_below_their_columns_on_one_scale_and_known_errors_are_marked():
    cases = {f"depth/{way}[depth={2**n}]@same": steady(2**n * 1e-9) for way in ("fiber", "call") for n in range(1, 12)}
    text = printed(tables.show, judge(weighed(cases)).tables, width=160)
    assert "1.20 µs!" in text
    assert "158 µs " in text
    *_, then, fiber, call = next(line for line in text.splitlines() if line.startswith("log scale")).split()
    assert then == then[0] * 11, "what the study has for a fiber is flat"
    assert fiber == call, "on one scale what costs the same is drawn at the same height"
    assert fiber[0] == "▁"
    assert fiber == "".join(sorted(fiber))
    assert fiber[-1] < "█", "the largest is the study's"


def test_a_narrow_terminal_gets_the_columns_in_parts_with_the_rows_before_each():
    table = next(table for table in judge(a_session()).tables if "processes" in table.title)
    text = printed(tables.show, [table], width=40)
    assert text.count("processes  ") >= 2
    assert max(len(line) for line in text.splitlines()) <= 40


def test_a_session_shows_its_tables_and_says_once_what_is_to_be_said_of_them():
    text = printed(shown.show, judge(a_session()))
    assert "Table 2: a yield among so many processes" in text
    assert text.count("* marks what its costs are fitted to") == 1
