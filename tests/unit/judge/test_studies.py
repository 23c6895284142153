# SPDX-License-Identifier: Apache-2.0
"""Studies are found by looking; what is wrong in one is named with its file, entry and key."""

import pytest

from steelyard.errors import StudyError
from steelyard.judge import studies
from tests.making import a_case
from tests.studies import ABOUT, a_study, folder

CLAIM = """
[[claim]]
id = "{id}"
statement = "A costs at most twice B."
said = "twice"
scope = "anywhere"
[claim.test]
rule = "ratio"
of = {{ case = "question/a@same" }}
over = {{ case = "question/b@same" }}
at_most = 2.0
"""


SIMULATED = """
[[claim]]
id = "ghost"
statement = "It is quick."
said = "quick"
scope = "simulated"
test = { rule = "simulated", of = "no such figure", at_most = 1.0 }
"""


def test_every_folder_of_the_library_is_a_study_that_says_something():
    for study in studies.library().studies:
        assert study.claims or study.figures, study.place
        assert study.place == f"library/studies/{study.source.name}"
        assert "/" not in study.source.name
        assert study.source.machine
        assert study.source.url.startswith("http")


def test_a_study_without_an_id_is_cited_by_its_name():
    assert a_study().source.id == "example"
    assert a_study(about=ABOUT + 'id = "some/thing"\n').source.id == "some/thing"


def test_a_figure_stands_beside_its_case_and_metric():
    library = studies.library()
    fork = a_case("create/fork_burst", placement="free", first="child", outstanding=100, reap="waitpid")
    assert [item.figure.value for item in library.beside(fork, "fork", "fork")] == [46.74e-6]
    assert [item.figure.value for item in library.beside(fork, "child_first_fraction", "fork")] == [0.403]
    assert library.beside(fork, "fork_cpu", "fork") == ()
    assert library.beside(a_case("create/vfork"), "fork", "fork") == ()


def test_each_of_the_first_studies_is_said_to_be_right_before_it_is_said_to_be_wrong():
    errata = {study.source.name: study for study in studies.library().studies if study.errata}
    first = {"context-switch", "linux-ipc", "async-simple", "wheatserver", "cache-tuning", "code-tuning"}
    assert errata.keys() >= {*first, "linux-scheduler-1999"}
    assert all(len(study.right) > 100 for study in errata.values())


def test_a_study_mentions_every_case_that_its_files_name():
    figures = '[[figure]]\nmechanism = "m"\ncase = "a/f"\nmetric = "x"\nvalue = 1.0\nunit = "s"\n'
    errata = 'right="r"\n[[erratum]]\nsection="a"\nconcluded="b"\nso="c"\nfault="fact"\ncases=["a/e@same"]'
    study = a_study(figures=figures, claims=CLAIM.format(id="c"), errata=errata)
    found = [(mention.where.removeprefix("mine/example/"), *mention[1:]) for mention in study.mentions()]
    assert found == [
        ("figures.toml: figure 'm'", "a/f", "x"),
        ("claims.toml: claim 'c'", "question/a@same", None),
        ("claims.toml: claim 'c'", "question/b@same", None),
        ("errata.toml: erratum 'a'", "a/e@same", None),
    ]


SERIES = """
[[figure]]
mechanism = "a pipe, {size} bytes"
case = "message/pipe[size={size}]"
unit = "B/s"
error = "MB or MiB is not said"
each = [{ size = 1, value = 5.0 }, { size = 2, value = 7.0, error = "{size} is a guess" }]
"""


def test_a_series_is_a_figure_for_each_of_its_rows():
    first, second = a_study(figures=SERIES).figures
    assert (first.mechanism, first.case, first.value) == ("a pipe, 1 bytes", "message/pipe[size=1]", 5.0)
    assert (second.mechanism, second.case, second.value) == ("a pipe, 2 bytes", "message/pipe[size=2]", 7.0)
    assert (first.error, second.error) == ("MB or MiB is not said", "2 is a guess")


def test_studies_of_a_user_stand_after_ours():
    library = studies.with_others({"mine/example": folder(claims=CLAIM.format(id="mine"))})
    assert library.studies[:-1] == studies.library().studies
    assert library.claims[-1].claim.id == "mine"
    assert library.claims[-1].source.name == "example"


REFUSED = {
    "name of ours": ({"mine/linux-ipc": folder()}, ["mine/linux-ipc", "library/studies/linux-ipc"]),
    "id of ours": (
        {"mine/x": folder(ABOUT + 'id = "wzxue/code"')},
        ["mine/x/study.toml", "library/studies/code-tuning/study.toml"],
    ),
    "one name twice": ({"a/x": folder(), "b/x": folder()}, ["a/x", "b/x"]),
    "claim of ours": (
        {"mine/x": folder(claims=CLAIM.format(id="system-call-negligible"))},
        ["mine/x/claims.toml", "library/studies/context-switch/claims.toml", "system-call-negligible"],
    ),
    "claim twice": ({"mine/x": folder(claims=CLAIM.format(id="one") * 2)}, ["mine/x/claims.toml", "one"]),
    "no study.toml": ({"mine/x": {"claims.toml": b""}}, ["mine/x", "study.toml"]),
    "no name": ({"mine/My Study": folder()}, ["mine/My Study"]),
    "unknown file": ({"mine/x": folder(claim="")}, ["mine/x/claim.toml", "claims.toml"]),
    "unknown key of the study": ({"mine/x": folder(ABOUT + "yaer = 1")}, ["mine/x/study.toml", "yaer"]),
    "missing key of the study": ({"mine/x": folder('title = "a"')}, ["mine/x/study.toml", "year"]),
    "wrong type": ({"mine/x": folder(ABOUT.replace("2000", '"2000"'))}, ["mine/x/study.toml", "year"]),
    "unknown kind of entry": ({"mine/x": folder(claims="[[clam]]")}, ["mine/x/claims.toml", "clam"]),
    "no list of entries": ({"mine/x": folder(claims="claim = 3")}, ["mine/x/claims.toml", "claim"]),
    "entry without a name": ({"mine/x": folder(claims="[[claim]]")}, ["mine/x/claims.toml", "claim 1"]),
    "errata without what is right": (
        {"mine/x": folder(errata='[[erratum]]\nsection="a"\nconcluded="b"\nso="c"\nfault="fact"')},
        ["mine/x/errata.toml", "right"],
    ),
    "unknown fault": (
        {"mine/x": folder(errata='right="r"\n[[erratum]]\nsection="a"\nconcluded="b"\nso="c"\nfault="no"')},
        ["mine/x/errata.toml", "'a'", "fault"],
    ),
    "a simulation of nothing": (
        {"mine/x": folder(claims=SIMULATED)},
        ["mine/x/claims.toml", "'ghost'", "'no such figure'"],
    ),
    "unused key of a row": (
        {"mine/x": folder(figures=SERIES.replace("size = 2", "sise = 2"))},
        ["mine/x/figures.toml", "'a pipe, {size} bytes'", "sise"],
    ),
    "row without a value": (
        {"mine/x": folder(figures=SERIES.replace("value = 5.0", 'note = "none"'))},
        ["mine/x/figures.toml", "'a pipe, {size} bytes'", "value"],
    ),
    "rows that are no rows": (
        {"mine/x": folder(figures=SERIES.replace("{ size = 1, value = 5.0 }", "3"))},
        ["mine/x/figures.toml", "'a pipe, {size} bytes'", "each"],
    ),
    "no text": ({"mine/x": {**folder(), "claims.toml": b"\xff\xfe"}}, ["mine/x/claims.toml", "TOML"]),
}


@pytest.mark.parametrize(("folders", "named"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_said_in_one_sentence_with_its_place(folders, named):
    with pytest.raises(StudyError) as raised:
        studies.with_others(folders)
    said = str(raised.value)
    assert all(name in said for name in named), said
    assert "\n" not in said
    assert "$" not in said, "a path in the notation of a decoder"
