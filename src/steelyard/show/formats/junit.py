# SPDX-License-Identifier: Apache-2.0
"""JUnit XML: a test a case.

Of a session: what failed is a failure, what could not be measured is skipped, and a void session is an error; the
figures are in the output of each test. Of comparisons: worse is a failure, undecided is skipped.
"""

from __future__ import annotations

from datetime import datetime
from xml.etree import ElementTree as ET

from steelyard.judge.cases import CaseFinding
from steelyard.judge.comparisons import Comparisons
from steelyard.judge.ledger import Ledger
from steelyard.show import figure_text, reasons, void
from steelyard.show.comparison import verdict
from steelyard.show.visible import visible, visible_lines
from steelyard.units import format_quantity


def comparisons(found: Comparisons) -> str:
    """The document as text."""
    worse = sum(case.worse for case in found.cases)
    undecided = sum(case.verdict == "undecided" for case in found.cases)
    suite = ET.Element(
        "testsuite",
        name="steelyard check",
        tests=str(len(found.cases)),
        failures=str(worse),
        errors=str(int(found.void is not None)),
        skipped=str(undecided),
    )
    for case in found.cases:
        test = ET.SubElement(suite, "testcase", classname="steelyard", name=case.case)
        said = verdict(case, found.margin)
        if found.void is not None:
            ET.SubElement(test, "error", message=void.said(found.void))
        elif case.worse:
            ET.SubElement(test, "failure", message=said)
        elif case.verdict == "undecided":
            ET.SubElement(test, "skipped", message=said)
    return _text(suite)


def export(ledger: Ledger) -> str:
    """A session: its cases, then what failed, what was skipped, and whether it is void."""
    findings = ledger.findings
    figures = {entry.case.name: entry for entry in ledger.cases}
    failed_only = [case for case in findings.failures if case not in figures]
    suite = ET.Element(
        "testsuite",
        name="steelyard",
        tests=str(len(figures) + len(failed_only) + len(findings.skips) + (findings.void is not None)),
        failures=str(len(failed_only) + sum(case in findings.failures for case in figures)),
        errors=str(int(findings.void is not None)),
        skipped=str(len(findings.skips)),
        timestamp=datetime.fromisoformat(findings.started).replace(tzinfo=None).isoformat(),
        time=f"{findings.wall_s or 0:.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in {"session": ledger.id, "machine": findings.machine_key, **findings.machine}.items():
        ET.SubElement(properties, "property", name=name, value=value)
    for name, entry in figures.items():
        test = _test(suite, name, sum(run.duration_s for run in entry.runs))
        if name in findings.failures:
            ET.SubElement(test, "failure", message=findings.failures[name])
        ET.SubElement(test, "system-out").text = _said(entry.finding)
    for name in failed_only:
        ET.SubElement(_test(suite, name, 0.0), "failure", message=findings.failures[name])
    for skip in findings.skips:
        ET.SubElement(_test(suite, skip.subject, 0.0), "skipped", message=reasons.said(skip.reason))
    if findings.void is not None:
        ET.SubElement(_test(suite, "controls", 0.0), "error", message=void.said(findings.void))
    return _text(suite)


def _test(suite: ET.Element, name: str, seconds: float) -> ET.Element:
    group = name.partition("/")[0]
    return ET.SubElement(suite, "testcase", classname=f"steelyard.{group}", name=name, time=f"{seconds:.3f}")


def _said(case: CaseFinding) -> str:
    lines = []
    for figure in (case.main, *case.others):
        line = f"{figure.metric}: {format_quantity(figure.median, figure.unit)} {figure_text.interval(figure)}"
        lines.append(f"{line.rstrip()}, {figure.n} runs")
    return "\n".join([*lines, *map(reasons.said, case.caveats)])


def _text(suite: ET.Element) -> str:
    """XML 1.0 can hold neither controls nor halves of characters, not even escaped: they are made visible."""
    for element in suite.iter():
        element.text = element.text and visible_lines(element.text)
        element.attrib.update({name: visible(value) for name, value in element.attrib.items()})
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
