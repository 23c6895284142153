# SPDX-License-Identifier: Apache-2.0
"""What the library names exists: where a probe is built, its parameters, placements and metrics are as named there.

Claims and figures may name probes that do not exist yet; those are passed over here and not measured there.
"""

import pytest

from steelyard.judge import claims, published, tables
from steelyard.judge.claims import Figure, Flat, Growth
from steelyard.measure import catalog, protocol
from steelyard.records import CasePattern


@pytest.fixture(scope="module")
def probes():
    return catalog.load(catalog.probe_folders()).probes


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


@pytest.mark.parametrize("item", claims.library(), ids=lambda item: item.claim.id)
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
        if isinstance(test, Figure):
            assert metric.unit == test.unit


@pytest.mark.parametrize("item", published.library(), ids=lambda item: item.figure.mechanism)
def test_a_figure_stands_beside_what_its_probe_has(probes, item):
    figure = item.figure
    pattern = CasePattern.parse(figure.case or "")
    probe = probes.get(pattern.probe) if pattern else None
    if probe is not None:
        named(probe.descriptor, figure.case)
        assert metric_of(probe.descriptor, figure.metric).unit == figure.unit


@pytest.mark.parametrize("item", tables.library(), ids=lambda item: item[1].title)
def test_a_column_of_ours_names_cases_whole(probes, item):
    _, table = item
    for case in (case for column in table.column for case in tables.cases_of(table, column)):
        probe = probes.get(CasePattern.parse(case).probe)
        if probe is not None:
            pattern = named(probe.descriptor, case)
            assert {*pattern.parameters} == {parameter.name for parameter in probe.descriptor.parameters}, case
            assert pattern.placement, f"{case} leaves the placement open: a session's case has one"
