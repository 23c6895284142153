# SPDX-License-Identifier: Apache-2.0
"""The figures of others: every one can be read, stands beside the right case, and a mistake in the file is named."""

import pytest

from steelyard.errors import InstallationError
from steelyard.judge import published
from steelyard.records import CasePattern
from tests.making import a_case

GOOD = """
[source]
id = "example"
title = "An example"
year = 2000
url = "https://example.org"
machine = "none"
[[figure]]
mechanism = "something"
case = "question/way"
value = 1.0
unit = "s"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "published").mkdir()
    monkeypatch.setattr(published.resources, "files", lambda _package: tmp_path)
    return tmp_path / "published"


@pytest.mark.parametrize("item", published.library(), ids=lambda item: item.figure.mechanism)
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
    seconds = {item.figure.value for item in published.library() if item.source.id == "shell909090/context"}
    for value in (2.343e-9, 4.362e-9, 49.48e-9, 50.99e-6, 46.74e-6, 9.53e-6, 398.2e-9, 1315e-9, 54.74e-6):
        assert value in seconds
    for value in (76.43e-9, 535.3e-9, 113.75e-9, 567.7e-9, 250e-9, 60e-9, 70e-9, 30e-9, 20e-9, 5.715e-9, 167.3e-9):
        assert value in seconds


def test_no_two_figures_of_a_source_have_one_name():
    names = [(item.source.id, item.figure.mechanism) for item in published.library()]
    assert len(set(names)) == len(names)


def test_a_figure_stands_beside_its_case_and_metric():
    fork = a_case("create/fork_burst", placement="free", first="child", outstanding=100)
    assert [item.figure.value for item in published.beside(fork, "fork", "fork")] == [46.74e-6]
    assert [item.figure.value for item in published.beside(fork, "child_first_fraction", "fork")] == [0.403]
    assert published.beside(fork, "fork_cpu", "fork") == ()
    assert published.beside(a_case("create/vfork"), "fork", "fork") == ()


def test_files_are_read_in_order_of_name_and_others_are_left_alone(folder):
    (folder / "b.toml").write_text(GOOD.replace("something", "second"))
    (folder / "a.toml").write_text(GOOD.replace("something", "first"))
    (folder / "notes.txt").write_text("no figures")
    assert [item.figure.mechanism for item in published.library.__wrapped__()] == ["first", "second"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (GOOD.replace("unit =", "units ="), "units"),
        (GOOD.replace("value = 1.0", ""), "value"),
        (GOOD.replace("question/way", "question way"), "question way"),
        (GOOD.replace("[source]", "[sauce]"), "sauce"),
        ("no TOML", "line 1"),
    ],
    ids=["unknown field", "missing field", "no case", "no source", "no TOML"],
)
def test_a_mistake_is_named_with_its_file(folder, text, named):
    (folder / "wrong.toml").write_text(text)
    with pytest.raises(InstallationError, match=r"library/published/wrong\.toml") as raised:
        published.library.__wrapped__()
    assert named in str(raised.value)
