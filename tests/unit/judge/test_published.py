# SPDX-License-Identifier: Apache-2.0
"""The figures of others: every one can be read, stands beside the right case, and a mistake in the file is named."""

import pytest

from steelyard.errors import StudyError
from steelyard.judge import studies
from steelyard.judge.published import Source
from steelyard.records import CasePattern
from tests.studies import a_study

GOOD = """
[[figure]]
mechanism = "something"
case = "question/way"
value = 1.0
unit = "s"
"""
FILE = r"mine/example/figures\.toml"


@pytest.mark.parametrize("item", studies.library().figures, ids=lambda item: item.figure.mechanism)
def test_a_figure_of_the_library_is_whole(item):
    figure = item.figure
    assert figure.unit in {"s", "B", "B/s", "1/s", "1"}
    assert figure.value > 0
    assert figure.spread is None or 0 < figure.spread < figure.value
    assert figure.corrected is None or figure.error, "a corrected figure says what was wrong"
    assert figure.metric is None or figure.case, "a metric is one of a case"
    if figure.case is not None:
        assert CasePattern.parse(figure.case) is not None


def test_the_figures_of_the_first_study_are_all_there():
    seconds = {item.figure.value for item in studies.library().figures if item.source.id == "shell909090/context"}
    for value in (2.343e-9, 4.362e-9, 49.48e-9, 50.99e-6, 46.74e-6, 9.53e-6, 398.2e-9, 1315e-9, 54.74e-6):
        assert value in seconds
    for value in (76.43e-9, 535.3e-9, 113.75e-9, 567.7e-9, 250e-9, 60e-9, 70e-9, 30e-9, 20e-9, 5.715e-9, 167.3e-9):
        assert value in seconds


def test_a_source_is_meant_by_its_name_and_the_beginning_of_its_id():
    source = Source(name="linux-ipc", id="yunweiku/linux-ipc", title="IPC", year=2014, url="", machine="")
    assert all(map(source.is_meant_by, ("linux-ipc", "yunweiku/linux-ipc", "yunweiku")))
    assert not any(map(source.is_meant_by, ("linux", "ipc")))


def test_a_source_is_cited_with_its_authors():
    source = Source(authors=("A. One", "B. Two"), title="IPC", year=2014, url="", machine="")
    assert source.cited == "A. One, B. Two, IPC"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (GOOD.replace("unit =", "units ="), "units"),
        (GOOD.replace("value = 1.0", ""), "value"),
        (GOOD.replace("question/way", "question way"), "question way"),
        (GOOD.replace("1.0", '"1.0"'), "value"),
        (GOOD + GOOD, "there already"),
        ("no TOML", "line 1"),
    ],
    ids=["unknown key", "missing key", "no case", "wrong type", "twice", "no TOML"],
)
def test_a_mistake_is_named_with_its_file_and_entry(text, named):
    with pytest.raises(StudyError, match=FILE) as raised:
        a_study(figures=text)
    assert named in str(raised.value)
    assert "TOML" in text or "something" in str(raised.value)
