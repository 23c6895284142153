# SPDX-License-Identifier: Apache-2.0
"""The parts of the page: what is made, and that nothing of a session is markup."""

import json
import re

import pytest
from msgspec.structs import replace

from steelyard.judge import rules
from steelyard.judge.findings import judge
from steelyard.judge.published import Source
from steelyard.judge.report import report
from steelyard.judge.tables import Entry, StudyTable, TableColumn
from steelyard.judge.verdicts import judge_claims
from steelyard.records import Skip
from steelyard.show.page import claims, comparing, doubts, explained, figures, markup, method, results, studies
from steelyard.show.page.markup import Markup, tag
from tests.reporting import BIMODAL, MARKUP, PUBLISHED, a_full_session, a_report, the_golden_session
from tests.unit.judge import test_energy, test_loaded, test_neighbours
from tests.unit.judge.sessions import steady, weighed


@pytest.fixture(scope="module")
def made():
    return a_report()


def test_text_is_escaped_and_markup_is_not():
    assert tag("p", "<b>", Markup("<i>x</i>"), title='"&') == '<p title="&quot;&amp;">&lt;b&gt;<i>x</i></p>'


def test_attributes_that_are_none_are_left_out():
    assert tag("td", "1", class_=None, aria_label="one") == '<td aria-label="one">1</td>'


def test_no_text_ends_a_script_of_data():
    element = markup.data("x", {"text": MARKUP + "</script><!--"})
    inner = re.fullmatch(r'<script type="application/json" data-for="x">(.*)</script>', element).group(1)
    assert "<" not in inner
    assert ">" not in inner
    assert json.loads(inner)["text"].startswith(MARKUP)


def test_every_figure_has_a_caption_a_description_and_its_data_as_a_table(made):
    judged = made.sessions[0]
    drawn = [figures.prices(plot) for plot in judged.prices]
    drawn += [figures.curves(plot) for plot in judged.curves if plot.drawn]
    assert len(drawn) == 2
    for figure in drawn:
        assert "<figcaption" in figure
        assert re.search(r'role="img" aria-label="[^"]{20,}"', figure)
        assert "<details><summary>All " in figure
        assert "<noscript><svg" in figure


def test_a_table_names_its_columns_and_its_rows_for_a_screen_reader():
    element = markup.table(("case", "median"), [("a", "1 ns")], caption="costs")
    assert '<th scope="col">case</th>' in element
    assert '<th scope="row">a</th>' in element
    assert "<caption>costs</caption>" in element


def test_both_modes_of_a_mixture_are_in_the_table(made):
    table = results.prices(made.sessions[0])
    row = re.search(rf"{re.escape(BIMODAL)}</span></th>(.*?)</tr>", table).group(1)
    assert "two modes, 50% / 50%" in row
    assert re.search(r"2\.\d+ µs / 8\d\.\d µs", row)


def test_what_the_processor_counted_has_columns_where_it_did(made):
    case = judge(a_full_session()).cases[0]
    counter = replace(case.main, metric="instructions_per_cycle", unit="1", median=2.5)
    judged = made.sessions[0]
    found = replace(judged, findings=replace(judged.findings, cases=(replace(case, counters=(counter,)), case)))
    [(_, _, contents)] = results.questions(found)
    assert re.search(r">published</th><th [^>]*>IPC</th></tr>", contents)
    assert re.findall(r">([^<]*)</td></tr>", contents) == ["2.50", ""]
    assert "IPC" not in "".join(contents for _, _, contents in results.questions(judged))


def test_a_question_has_its_curves_its_figures_and_what_one_operation_is(made):
    [(name, title, contents)] = [part for part in results.questions(made.sessions[0]) if part[1] == "switch"]
    assert (name, title) == ("a-switch", "switch")
    assert "switch/yield, kind thread, one CPU" in contents
    assert "by contexts" in contents
    assert "Every figure of switch" in contents
    assert "What one operation is" in contents
    assert "at most" in contents or "less overhead" in contents


def test_a_cost_is_taken_apart_where_all_its_parts_were_measured():
    costs = {"call/cached@same": steady(1.3e-9), "call/direct@same": steady(1.4e-9), "call/loop@same": steady(0.3e-9)}
    baselines = {"call/cached@same": "call/loop@same", "call/direct@same": "call/loop@same"}
    found = report([weighed(costs, baselines=baselines)]).sessions[0].explanations
    assert [one.composite for one in explained.whole(found)] == ["call_cached"]
    contents = explained.explained(found)
    assert "call/cached@same operation: 1.00 ns, unexplained -10% [-10, -10], over-explained" in contents
    assert re.search(r'<th scope="row">a call</th>.*<th scope="row">unexplained</th>', contents)
    lacking = report([weighed({"call/cached@same": steady(1.3e-9)})]).sessions[0].explanations
    assert explained.whole(lacking) == ()


def test_the_caches_stand_below_the_curves_of_their_question():
    costs = {f"cache/latency[size={1024 << n}]@same": steady(1e-9 if n < 6 else 4e-9) for n in range(12)}
    session = weighed(costs)
    facts = {**session.header.machine.facts, "caches": "L1d 32K, L2 1024K"}
    header = replace(session.header, machine=replace(session.header.machine, facts=facts))
    [(_, _, contents)] = results.questions(report([replace(session, header=header)]).sessions[0])
    assert "the cache sizes that the machine reports do not agree" in contents
    assert re.search("<li>L1d: [^<]*: they agree</li><li>L2: [^<]*no step was found", contents)


def test_claims_show_verdict_evidence_and_what_was_published(made):
    page = claims.claims(judge_claims(a_full_session()))
    assert re.search(r"\d+ holds, \d+ fails", page)
    assert 'class="verdict' in page
    assert "<dt>said</dt>" in page


def test_verdicts_are_told_apart_by_a_sign_and_a_word():
    page = claims.claims(judge_claims(a_full_session()))
    for word in set(re.findall(r'class="verdict [a-z-]+">([^<]+)<', page)):
        sign, _, name = word.partition(" ")
        assert sign in "✓✗?–"
        assert name


def test_sessions_of_one_machine_are_compared_and_others_stand_beside_them(made):
    page = comparing.comparisons(made)
    assert "Session B against session A" in page
    assert "◆ different by +" in page
    assert "session C of another machine" in page
    assert "not ranked" in page
    apart = page.partition("Different machines")[2]
    assert "different by" not in apart


def test_a_table_of_a_study_keeps_its_shape_with_our_column_beside_it():
    source = Source(id="x", title="A <study>", year=1999, url="", machine="old")
    columns = (
        TableColumn(head="Linux 2.0", era="then", entries=(Entry(value=2e-6, unit="s"), None)),
        TableColumn(head="here", era="now", entries=(Entry(value=1e-7, unit="s", fitted=True), None)),
    )
    study = StudyTable(
        title="Costs", source=source, rows_are="tasks", rows=("one", "two"), columns=columns, notes=("a note",)
    )
    page = studies.studies((study,), ())
    assert "then: Linux 2.0" in page
    assert '<th scope="row">one</th><td class="n">2.00 µs</td><td class="n">100 ns*</td>' in page
    assert '<th scope="row">two</th><td class="n">–</td>' in page
    assert "A &lt;study&gt;, 1999" in page
    assert "a note" in page
    assert studies.studies((), ()) == ""


def test_controls_caveats_failures_skips_and_disturbances_are_all_there():
    session = the_golden_session()
    page = doubts.doubts(judge(session))
    for control in judge(session).controls:
        assert control.name in page
    assert "example/absent: no compiler for it" in page
    assert "was ended by signal 11" in page
    assert "the governor is powersave; set it to performance" in page


def test_known_errors_of_published_figures_are_said():
    assert PUBLISHED in {case.case for case in judge(a_full_session()).cases}
    assert "Known errors of published figures" in doubts.doubts(judge(a_full_session()))


def test_a_session_without_controls_says_so():
    assert "no controls" in doubts.doubts(judge(weighed({"call/loop@same": steady(1e-9)})))


def test_the_error_rates_are_those_that_were_measured(made):
    page = method.error_rates(made)
    rates = [f"{100 * row.false_positive_rate:.1f} %" for row in made.proof.rows]
    assert all(rate in page for rate in rates)
    assert f"steelyard prove --seed {made.proof.seed}" in page


def test_the_self_check_says_which_rule_is_not_kept_and_where(made):
    first = made.sessions[0]
    spoilt = replace(first, findings=replace(first.findings, skips=(Skip(subject="x/y", reason=""),)))
    page = method.self_check(rules.check(replace(made, sessions=(spoilt,), comparisons=())))
    assert "11 of 12 kept" in page
    assert "x/y: left out without a reason" in page


def test_how_to_repeat_it_has_command_versions_seed_and_the_levels_of_each_parameter(made):
    page = method.repeat(made.sessions[0], made)
    assert "steelyard run &#x27;call/*&#x27; --seed 7" in page
    assert "contexts: 1, 2, 16, 128; kind: thread, process" in page
    assert "steelyard 0" in page


def test_a_single_session_needs_no_comparison():
    assert comparing.comparisons(report([a_full_session()])) == ""


TITLES = {"switch/yield": "sched_yield", "create/fork": "process, by fork"}


def titled():
    costs = {f"switch/yield[contexts={n},kind={kind}]@same": steady(n * 1e-9) for n in range(1, 8) for kind in "ab"}
    costs |= {f"create/fork[resident_mib={n}]@same": steady((n + 1) * 1e-6) for n in (0, 64, 256)}
    [judged] = report([weighed(costs, titles=TITLES)]).sessions
    return judged


def test_curves_of_few_points_are_rows_of_a_table_and_not_figures():
    contents = {name: contents for _, name, contents in results.questions(titled())}
    assert contents["switch"].count("<figure") == 1
    assert "<figure" not in contents["create"]
    assert "process, by fork, one CPU</span>" in contents["create"]
    assert re.search(r"<td>by resident_mib</td><td[^>]*>0: 1.00 µs</td>", contents["create"])
    assert re.search(r"256: 257 µs</td>", contents["create"])


def test_a_title_stands_before_every_name_that_can_be_typed():
    judged = titled()
    pages = [results.prices(judged), *(contents for _, _, contents in results.questions(judged))]
    pages.append(method.repeat(judged, report([a_full_session()])))
    for page in pages:
        for probe, title in TITLES.items():
            found = re.findall(rf'<span class="called">{title}[^<]*</span> <span class="case">{probe}', page)
            assert len(found) == page.count(f'<span class="case">{probe}')
    assert "sched_yield, contexts 1, kind a, one CPU" in pages[0]


def test_a_figure_in_parts_has_a_button_for_each_and_all_its_points_in_its_table():
    names = [f"message/channel_{letter}" for letter in "abcdefgh"]
    costs = {
        f"{name}[size={size}]{where}": steady(size * 1e-9)
        for name in names
        for size in (1024, 4096, 65536)
        for where in ("@same", "@free")
    }
    [judged] = report([weighed(costs, family="channel")]).sessions
    figure = figures.curves(judged.curves[0])
    parts = re.findall(r'<button type="button" aria-pressed="(\w+)" data-part="(\d)">([^<]*)<', figure)
    assert parts == [("true", "0", "one CPU"), ("false", "1", "unpinned")]
    assert figure.count('data-series="') == len(names)
    assert all(f">{case}</span>" in figure for case in costs)


def test_what_neighbours_do_energy_and_latency_by_bandwidth_stand_with_their_question():
    def pages(session):
        [judged] = report([session]).sessions
        return {name: contents for _, name, contents in results.questions(judged)}

    beside = pages(test_neighbours.session(steady(1e-6, 12), steady(1.4e-6, 12)))["example"]
    assert "<h3>What neighbours do to it</h3><ul><li>pipe (one CPU) suffers 1.4 times" in beside
    energy = pages(test_energy.session([2.0] * 8))["example"]
    assert "<h3>Energy of one operation, less what idle takes</h3><ul><li>example/steady" in energy
    loaded = pages(test_loaded.session(test_loaded.CURVE))["cache"]
    assert 'id="loaded-cache"' in loaded
    assert "load, size 64, one CPU: at 20.0 GB/s it takes 2 times" in loaded
    assert "neighbours" not in loaded
