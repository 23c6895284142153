# SPDX-License-Identifier: Apache-2.0
"""What the library names exists: where a probe is built, its parameters, placements and metrics are as named there.

Claims and figures may name probes that do not exist yet; those are passed over here and not measured there. Composites
may name no such probe.
"""

import re
from pathlib import Path

import pytest

from benchmarks.peers import will_it_scale
from steelyard.judge import explain, studies
from steelyard.judge.claims import Flat, Growth, Range
from steelyard.lab import studies as lab_studies
from steelyard.measure import catalog, protocol
from steelyard.records import CasePattern


@pytest.fixture(scope="module")
def catalogued():
    return catalog.load(catalog.probe_folders())


@pytest.fixture(scope="module")
def probes(catalogued):
    return catalogued.probes


def named(descriptor, text):
    """The case by this name, after checking that the probe can be run so."""
    pattern = CasePattern.parse(text)
    assert pattern is not None
    for name, value in pattern.parameters.items():
        protocol.parse_parameter(descriptor, name, value)
    assert pattern.placement in (None, *descriptor.placements), text
    return pattern


def metric_of(descriptor, name):
    found = [metric for metric in descriptor.metrics if name in (None, metric.name)]
    assert found, f"{descriptor.probe} has no metric {name}"
    return found[0]


@pytest.mark.parametrize("item", studies.library().claims, ids=lambda item: item.claim.id)
def test_a_claim_names_what_its_probes_have(probes, item):
    test = item.claim.test
    for operand in test.operands:
        probe = probes.get(operand.pattern.probe)
        if probe is None:
            continue
        pattern = named(probe.descriptor, operand.case)
        metric = metric_of(probe.descriptor, operand.metric)
        swept = {test.along.parameter} if isinstance(test, Flat | Growth) else set()
        assert {*pattern.parameters, *swept} == {parameter.name for parameter in probe.descriptor.parameters}, (
            f"{operand.case} leaves a choice: a session may hold several such cases"
        )
        if isinstance(test, Range):
            assert metric.unit == test.unit


@pytest.mark.parametrize("item", studies.library().figures, ids=lambda item: item.figure.mechanism)
def test_a_figure_stands_beside_what_its_probe_has(probes, item):
    figure = item.figure
    pattern = CasePattern.parse(figure.case or "")
    probe = probes.get(pattern.probe) if pattern else None
    if probe is not None:
        named(probe.descriptor, figure.case)
        assert metric_of(probe.descriptor, figure.metric).unit == figure.unit


@pytest.mark.parametrize("item", studies.library().tables, ids=lambda item: item.outline.title)
def test_a_column_of_ours_names_cases_of_their_probes(probes, item):
    ours = [column for column in item.outline.column if column.era == "now"]
    for case in (case for column in ours for case in item.outline.cases(column)):
        probe = probes.get(CasePattern.parse(case).probe)
        if probe is not None:
            pattern = named(probe.descriptor, case)
            assert {*pattern.parameters} <= {parameter.name for parameter in probe.descriptor.parameters}, case
            assert pattern.placement, f"{case} leaves the placement open: a session's case has one"


def test_the_page_about_lebench_has_the_operations_and_cases_of_its_table():
    page = Path(__file__).parents[2] / "docs/reference/lebench.md"
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`|]+)` \|", page.read_text(), re.MULTILINE)
    (table,) = (item.outline for item in studies.library().tables if item.source.name == "lebench")
    (ours,) = (column for column in table.column if column.era == "now")
    assert rows == list(zip(table.rows, table.cases(ours), strict=True))


def test_the_page_about_will_it_scale_has_the_programs_that_ours_are_held_against():
    page = Path(__file__).parents[2] / "docs/reference/will-it-scale.md"
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| `(\w+/\w+)", page.read_text(), re.MULTILINE)
    assert rows == [(name, case.partition("[")[0]) for name, case in will_it_scale.PROGRAMS.items()]


def test_every_case_that_a_study_names_can_be_one_of_its_probe(probes):
    lab_studies.check([mention for study in studies.library().studies for mention in study.mentions()], probes)


def the_case(found, text):
    """The one case that a part stands for; None where its probe cannot be built here."""
    pattern = CasePattern.parse(text)
    if pattern.probe not in found.probes:
        assert pattern.probe in {skip.subject for skip in found.skips}, f"there is no probe {pattern.probe}"
        return None
    cases = catalog.select(found, [text], {}, [])
    assert [case.name for case in cases] == [text], f"{text} leaves a choice: a session may hold several such cases"
    return found.probes[pattern.probe].descriptor


def check_times(composite, part, whole):
    """That what a part is taken times of is a number of the composite."""
    if part.per is None or part.per in explain.ACCOUNTED:
        return
    parameter = whole.parameter(part.per)
    assert parameter is None or parameter.type == "integer", f"{part.per} of {composite.case} is not a number"
    assert parameter or metric_of(whole, part.per).unit == "1"


@pytest.mark.parametrize("name", explain.library())
def test_a_composite_is_made_of_what_its_probes_have(catalogued, name):
    composite = explain.library()[name]
    if composite.pattern.probe not in catalogued.probes:
        pytest.skip(f"{composite.pattern.probe} cannot be built here")
    whole = catalogued.probes[composite.pattern.probe].descriptor
    unit = metric_of(whole, composite.metric).unit
    cases = [case for case in catalog.select(catalogued, [composite.case], {}, []) if composite.pattern.matches(case)]
    assert cases
    for part in composite.part:
        check_times(composite, part, whole)
        for case in cases:
            found = the_case(catalogued, explain.bound(part.case, case))
            if part.less:
                the_case(catalogued, explain.bound(part.less, case))
            if found is not None:
                assert (metric_of(found, part.metric).unit, unit) in {(unit, unit), ("B/s", "s")}
                assert not part.net or found.baseline


def test_at_least_a_dozen_costs_are_taken_apart_across_families():
    families = {composite.pattern.probe.partition("/")[0] for composite in explain.library().values()}
    assert families >= {"create", "switch", "lock", "message", "memory", "depth", "file", "cache", "call"}
    assert len(explain.library()) >= 12
