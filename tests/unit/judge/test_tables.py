# SPDX-License-Identifier: Apache-2.0
"""The tables of studies: then, simulated and now, shown where at least one of their cases was measured."""

import pytest

from steelyard.errors import StudyError
from steelyard.judge import studies
from steelyard.judge.findings import judge
from tests.studies import a_study
from tests.unit.judge.sessions import steady, weighed

GOOD = """
[[table]]
title = "a table"
rows_are = "contexts"
rows = ["2", "4"]
[[table.column]]
head = "then"
era = "then"
mechanism = "Linux 2.0.30, a yield among {row} processes"
[[table.column]]
head = "now"
era = "now"
case = "switch/yield[contexts={row},kind=process]@same"
"""


def a_session():
    return weighed({f"switch/yield[contexts={n},kind=process]@same": steady(n * 1e-7) for n in (2, 10, 40)})


def test_a_session_with_none_of_the_cases_has_no_table():
    assert judge(weighed({"call/direct@same": steady(1e-9)})).tables == ()


def test_measured_published_and_simulated_stand_side_by_side():
    found = {table.title: table for table in judge(a_session()).tables}
    table = found["Table 2: a yield among so many processes"]
    assert table.rows == ("2", "4", "8", "10", "20", "40")
    by_head = {(column.era, column.head): column.entries for column in table.columns}
    assert by_head["then", "2.0.30"][0].value == 19e-6
    assert by_head["then", "NT"][5].value == 17e-6
    now = by_head["now", "this machine"]
    assert [entry is not None for entry in now] == [True, False, False, True, False, True]
    assert now[3].value == pytest.approx(1e-6, rel=0.02)
    simulated = by_head["simulated", "changed"]
    assert [entry.fitted for entry in simulated] == [True, False, False, False, False, False]


def test_the_first_table_has_creation_and_its_ways_to_switch():
    table = next(table for table in judge(a_session()).tables if table.title.startswith("Table 1"))
    [now] = [column for column in table.columns if column.era == "now"]
    assert now.entries[2].value == pytest.approx(4e-6, rel=0.02)
    assert now.entries[0] is None
    assert any("fitted" in note for note in table.notes)


def test_what_a_study_drew_as_curves_says_where_its_rows_stand():
    cases = {f"depth/fiber[depth={n}]@same": steady(n * 1e-9) for n in (2, 1024)}
    [table] = judge(weighed(cases)).tables
    assert table.at == tuple(map(int, table.rows))
    [now] = [column for column in table.columns if (column.era, column.head) == ("now", "stackful")]
    assert [entry.of for entry in now.entries if entry] == list(cases)
    [then] = [column for column in table.columns if (column.era, column.head) == ("then", "stackful")]
    assert {entry.value for entry in then.entries} == {1.2e-6}
    assert all(entry.error.startswith("no depth at all") for entry in then.entries)


def test_a_figure_of_the_study_itself_comes_before_one_of_another_study():
    text = '[[figure]]\nmechanism = "Linux 2.0.30, a yield among 2 processes"\nvalue = 3.0\nunit = "s"\n'
    [*_, table] = studies.Library([*studies.library().studies, a_study(figures=text, tables=GOOD)]).tables
    then = table.filled({}).columns[0]
    assert [entry.value for entry in then.entries] == [3.0, 13e-6]


def test_a_column_of_ours_stands_behind_the_one_that_it_is_held_against():
    text = (
        GOOD.replace('head = "then"', 'head = "one"')
        .replace('era = "now"', 'era = "now"\nbeside = "one"')
        .replace(
            '[[table.column]]\nhead = "now"',
            '[[table.column]]\nhead = "two"\nera = "then"\n'
            'mechanism = "Windows NT, a yield among {row} processes"\n[[table.column]]\nhead = "now"',
        )
    )
    [*_, table] = studies.Library([*studies.library().studies, a_study(tables=text)]).tables
    filled = table.filled({"switch/yield[contexts=4,kind=process]@same": {"operation": (26e-6, "s")}})
    assert [column.head for column in filled.columns] == ["one", "now", "two"]
    assert filled.columns[1].times == (None, pytest.approx(2.0))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (GOOD.replace("rows_are", "rows_were"), "rows_were"),
        (GOOD.replace("switch/yield[", "switch yield["), "is not a case"),
        (GOOD.replace("Linux 2.0.30,", "Linux 9,"), "no figure"),
        (GOOD.replace('case = "switch/yield[contexts={row},kind=process]@same"', 'cases = ["a/b@same"]'), "2 rows"),
        (GOOD.replace('era = "then"', 'era = "now"'), "names a case"),
        (GOOD.replace('rows = ["2", "4"]', 'rows = ["2", "4"]\nat = [2]'), "places 1"),
        (GOOD.replace('era = "now"', 'era = "now"\nbeside = "nobody"'), "nobody"),
        ("no TOML", "line 1"),
    ],
    ids=["unknown key", "no case", "no figure", "too few cases", "wrong era", "places", "beside", "no TOML"],
)
def test_a_mistake_is_named_with_its_file(text, named):
    with pytest.raises(StudyError, match=r"mine/example/tables\.toml") as raised:
        studies.Library([*studies.library().studies, a_study(tables=text)])
    assert named in str(raised.value)
    assert "TOML" in text or "a table" in str(raised.value)
