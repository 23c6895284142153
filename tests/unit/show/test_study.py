# SPDX-License-Identifier: Apache-2.0
"""A study run again, on a terminal, as an object and as a page."""

import io
import json

import msgspec
import pytest

from steelyard.judge import studies
from steelyard.judge.findings import judge
from steelyard.judge.replication import Outlook, replicate
from steelyard.records import Skip
from steelyard.show import html
from steelyard.show import study as shown
from steelyard.show.console import Console
from steelyard.show.page.markup import text
from steelyard.show.visible import json_text
from tests.making import a_case
from tests.unit.judge.sessions import steady, weighed

COSTS = {
    "create/fork[resident_mib=0]@same": 60e-6,
    "create/thread[form=join]@same": 9e-6,
    **{f"switch/yield[contexts={n},kind=process]@same": (9 + n / 40) * 1e-7 for n in (2, 4, 8, 10, 20, 40)},
    "switch/yield[contexts=40,kind=thread]@same": 5e-7,
}


@pytest.fixture(scope="module")
def found():
    """The scheduler's study of 1999 on a session of made-up figures."""
    library = studies.library()
    [study] = [one for one in library.studies if one.source.name == "linux-scheduler-1999"]
    session = weighed({name: steady(cost) for name, cost in COSTS.items()}, skips={"switch/gosched": "no Go compiler"})
    return replicate(session, judge(session, library), study, library)


def printed(do, *arguments, width=100) -> str:
    out = io.StringIO()
    do(*arguments, Console(file=out, width=width))
    return out.getvalue()


def test_the_study_is_printed_in_its_own_tables_with_times_behind_ours(found):
    said = printed(shown.show, found, width=140)
    row = next(line for line in said.splitlines() if line.startswith("creating a process"))
    assert "1.00 ms" in row
    assert "60.0 µs" in row
    assert "×0.06" in row
    assert "Table 2: a yield among so many threads" in said


def test_each_statement_has_its_verdict_and_both_figures(found):
    said = printed(shown.show, found, width=140)
    for one in found.claims.findings:
        assert one.claim.statement in said or one.claim.id in said
    fails = said[said.index("✗ fails  Creating a process takes about a millisecond.") :]
    assert fails.splitlines()[1].split() == ["then", "1.0", "ms"]
    assert "60.0 µs" in fails.splitlines()[2]


def test_an_erratum_stands_with_what_is_so_and_what_was_found_here(found):
    said = printed(shown.show, found, width=140)
    assert found.errata
    assert "It got right:" in said
    for seen in found.errata:
        assert seen.erratum.so[:40] in said


def test_the_summary_is_one_screen_that_ends_with_what_to_do_next(found):
    said = printed(shown.show_summary, found)
    assert len(said.splitlines()) <= 50
    assert f"{len(found.claims.findings)} statements: " in said
    assert f"steelyard study linux-scheduler-1999 --session {found.session.path} --report" in said
    assert f"steelyard explain '{found.explained}' --measure" in said


def test_a_void_session_has_no_summary(found):
    void = msgspec.structs.replace(found, session=msgspec.structs.replace(found.session, void="a control failed"))
    said = printed(shown.show_summary, void)
    assert "VOID" in said
    assert "statements" not in said


def test_the_object_has_all_of_it(found):
    object_ = json.loads(json_text(shown.as_json(found)))
    assert object_["study"] == "linux-scheduler-1999"
    assert sum(object_["counts"].values()) == len(object_["statements"]) == len(found.claims.findings)
    assert {table["title"] for table in object_["tables"]} == {table.title for table in found.tables}
    assert len(object_["errata"]) == len(found.errata)


def test_the_page_has_its_sections_and_every_statement(found):
    page = html.study_page([found])
    for part in ("In short", "Its figures, then and now", "Its statements", "Where it was wrong"):
        assert f"<h2>{part}</h2>" in page
    assert all(text(one.claim.scope) in page for one in found.claims.findings)
    assert page.count("<h1>") == 1


def test_the_list_says_what_each_study_needs_and_what_is_missing():
    [study] = [one for one in studies.library().studies if one.source.name == "linux-ipc"]
    outlook = Outlook(
        study=study,
        run_s={a_case("message/latency_pipe"): 0.5},
        blocks_of={a_case("message/latency_pipe"): 12},
        languages=("c", "go"),
        missing=(Skip(subject="call/go", reason="no Go compiler: apt-get install golang"),),
    )
    said = printed(shown.show_list, [outlook])
    line = next(line for line in said.splitlines() if line.startswith("linux-ipc"))
    assert "6.8 s" in line, "12 blocks and the pilot"
    assert line.endswith("1 mechanism")
    assert "call/go (linux-ipc): no Go compiler: apt-get install golang" in said
    [object_] = shown.list_as_json([outlook])
    assert (object_["name"], object_["seconds"], object_["cases"]) == ("linux-ipc", 6.75, ["message/latency_pipe@same"])
    assert "nothing" in printed(shown.show_list, [msgspec.structs.replace(outlook, missing=())])
