# SPDX-License-Identifier: Apache-2.0
"""A session in which every text acts on a terminal, through everything that shows it."""

import io
import json
import xml.etree.ElementTree as ET

import msgspec
import pytest

from steelyard.__main__ import main
from steelyard.errors import SteelyardError
from steelyard.judge import comparisons, rules, studies
from steelyard.judge.advice import judge_advice
from steelyard.judge.explain import explain, library
from steelyard.judge.findings import judge
from steelyard.judge.history import history
from steelyard.judge.ledger import ledger
from steelyard.judge.replication import replicate
from steelyard.judge.report import report
from steelyard.judge.studies import Library
from steelyard.judge.verdicts import judge_claims
from steelyard.records import Histogram
from steelyard.show import (
    advice,
    catalog,
    charts,
    claims,
    comparison,
    formats,
    html,
    machine,
    machine_code,
    session,
    study,
    ui,
)
from steelyard.show import explain as explained
from steelyard.show import history as over_time
from steelyard.show.console import Console
from tests.reporting import ACTS, a_full_session, acting, hostile, the_golden_session
from tests.studies import a_study
from tests.unit.judge.test_history import stepped
from tests.unit.judge.test_studies import CLAIM

#: What acts, as TOML has it in a text.
ESCAPED = "".join(f"\\U{ord(sign):08x}" for sign in ACTS)


@pytest.fixture(scope="module")
def full():
    session = a_full_session("a" + ACTS)
    late = Histogram(name="late", unit="s", scale=1e-9, buckets=((1000, 7),))
    runs = tuple(msgspec.structs.replace(run, histograms=(late,)) for run in session.runs)
    return hostile(msgspec.structs.replace(session, runs=runs), ACTS)


@pytest.fixture(scope="module")
def golden():
    return hostile(the_golden_session(), ACTS)


def printed(do) -> str:
    out = io.StringIO()
    do(Console(file=out, width=200))
    return out.getvalue()


def shown(text: str) -> None:
    assert "␛]0;pwn" in text
    assert acting(text) == "", ascii(text)


def test_a_session_is_shown(full, golden):
    for one in (full, golden):
        shown(printed(lambda console, one=one: session.show(judge(one), console)))
        shown(printed(lambda console, one=one: machine_code.show(judge(one), console)) + "␛]0;pwn")


def test_the_machine_and_the_catalog_are_shown(golden):
    header, found = golden.header, judge(golden)
    descriptors = [facts.descriptor for facts in header.probes.values()]
    shown(printed(lambda console: machine.show(header.machine, found.disturbances, found.skips, console)))
    shown(printed(lambda console: catalog.show(descriptors, found.skips, console)))


def test_claims_and_advice_are_shown(full):
    found = judge_claims(full)
    for do in (claims.show, claims.show_short):
        shown(printed(lambda console, do=do: do(found, console)) + "␛]0;pwn")
    shown(printed(lambda console: advice.show(judge_advice(found.findings), console, ACTS)))
    shown(advice.markdown(found, judge_advice(found.findings), f"steelyard claims {ACTS}"))


def test_a_study_is_shown_and_made_a_page(full):
    hostile_study = a_study(
        about=f'title = "t{ESCAPED}"\nyear = 2000\nurl = "javascript:x{ESCAPED}"\nmachine = "m{ESCAPED}"\n',
        claims=CLAIM.replace("A costs", f"A{ESCAPED} costs").format(id="c"),
        errata=f'right="r"\n[[erratum]]\nsection="a{ESCAPED}"\nconcluded="b{ESCAPED}"\nso="c"\nfault="fact"',
    )
    library_ = Library([*studies.library().studies, hostile_study])
    found = replicate(full, judge(full, library_), hostile_study, library_)
    for do in (study.show, study.show_summary):
        shown(printed(lambda console, do=do: do(found, console)) + "␛]0;pwn")
    shown(printed(lambda console: study.show_overview([found], console)) + "␛]0;pwn")
    page = html.study_page([found]).replace(html._script(), "")
    shown(page)
    assert 'href="javascript' not in page


def test_costs_taken_apart_are_shown(full):
    found = explain(full, library())
    for do in (explained.show, explained.show_short):
        shown(printed(lambda console, do=do: do(found, console)))


def test_a_comparison_is_shown_and_written(full):
    found = comparisons.compare_sessions(full, hostile(a_full_session("b" + ACTS, slower=2.0), ACTS), margin=0.02)
    assert found.cases
    shown(printed(lambda console: comparison.show(found, console)))
    for name in ("junit", "markdown"):
        shown(formats.modules()[name].comparisons(found) + "␛]0;pwn")


def test_a_page_and_its_figures_hold_nothing_that_acts(full, golden):
    for sessions in ([full], [golden], [full, hostile(a_full_session("b" + ACTS, slower=2.0), ACTS)]):
        made = report(sessions)
        # Vega's own script, which stands in every page, is not ours to change.
        text = html.page(made, rules.check(made)).replace(html._script(), "")
        shown(text)
        for spec in charts.files(made).values():
            assert acting(json.dumps(spec, ensure_ascii=False)) == ""


@pytest.mark.parametrize("name", sorted(set(formats.exporters()) - {"parquet", "csv", "openmetrics"}))
def test_a_format_of_text_holds_nothing_that_acts_and_json_says_it_exactly(name, full):
    try:
        text = formats.export(ledger(full), name).contents
    except SteelyardError:  # this one takes no case of such a session
        assert name == "github-bigger-is-better"
        return
    assert acting(text) == "", ascii(text)
    if text.startswith(("{", "[")):
        assert any(ACTS in found for found in _texts(json.loads(text)))
    elif name == "junit":
        ET.fromstring(text)
    elif name != "benchstat":  # which has an encoding of its own
        shown(text)


def _texts(node):
    match node:
        case str():
            yield node
        case dict():
            for key, item in node.items():
                yield from (key, *_texts(item))
        case list():
            for item in node:
                yield from _texts(item)


def test_a_history_is_shown_and_drawn():
    bad = f"x{ACTS}"
    facts = {"kernel": bad, bad: bad}
    found = history(bad, stepped(machine=bad, machine_key=bad, path=bad, facts=facts), margin=0.02)
    shown(printed(lambda console: over_time.show(found, console)))
    assert acting(over_time.drawing(found.series[0])) == ""
    shown(ui.case_history(found, [bad], {one.path: bad for series in found.series for one in series.sessions}))


def test_the_pages_of_the_browser_hold_nothing_that_acts(full):
    found = comparisons.compare_sessions(full, full, margin=0.02)
    listed = ui.Listed(name=ACTS, header=full.header, blocks=None)
    for text in (
        ui.message(ACTS, ACTS),
        ui.sessions([listed], ACTS, 1, ACTS, [ACTS]),
        ui.session(ACTS, judge(full)),
        ui.compared((ACTS, ACTS), found),
        ui.ask_history([ACTS], ACTS, ACTS),
    ):
        shown(text)


def test_an_error_says_what_was_typed_without_obeying_it(capfd, tmp_path):
    assert main(["show", str(tmp_path / f"no{ACTS}")]) == 66
    shown(capfd.readouterr().err)
    assert main([f"no{ACTS}"]) == 64
    shown(capfd.readouterr().err)
