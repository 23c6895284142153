# SPDX-License-Identifier: Apache-2.0
"""Comparisons as JUnit XML: a test a case; worse is a failure, undecided is skipped."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from steelyard.judge.comparisons import Comparisons
from steelyard.show.comparison import verdict


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
            ET.SubElement(test, "error", message=f"void: {found.void}")
        elif case.worse:
            ET.SubElement(test, "failure", message=said)
        elif case.verdict == "undecided":
            ET.SubElement(test, "skipped", message=said)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
