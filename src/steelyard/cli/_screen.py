# SPDX-License-Identifier: Apache-2.0
"""What `run` ends with and `show` prints."""

from __future__ import annotations

from steelyard.cli import _output as output
from steelyard.errors import CasesFailedError
from steelyard.judge.answers import WORTH_A_SCREEN, answer
from steelyard.judge.findings import Findings
from steelyard.judge.verdicts import judge_claims
from steelyard.records import Session
from steelyard.show import answers
from steelyard.show import session as shown


def show_session(session: Session, findings: Findings) -> None:
    """The screen of a first session; the tables and curves of one that measured few of its prices."""
    found = answer(findings, judge_claims(session))
    if found.prices >= WORTH_A_SCREEN:
        answers.show(findings, found, output.console())
    else:
        shown.show(findings, output.console())


def fail_for_failures(findings: Findings) -> None:
    """Raise CasesFailedError if cases of a session failed, with their names."""
    if findings.failures:
        names = ", ".join(sorted(findings.failures)[:3])
        more = f" and {len(findings.failures) - 3} more" if len(findings.failures) > 3 else ""
        raise CasesFailedError(f"{names}{more} failed; the rest is measured and kept in {findings.path}")
