# SPDX-License-Identifier: Apache-2.0
"""`steelyard claims`: hold what is said elsewhere against a session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import NothingMeasuredError, UsageError
from steelyard.judge.advice import judge_advice
from steelyard.judge.verdicts import ClaimFindings, judge_claims
from steelyard.keep import session as sessions
from steelyard.lab import studies as lab_studies
from steelyard.lab.output import write
from steelyard.show import advice as show_advice
from steelyard.show import claims

#: More probes than these are not named one by one: a first session has most of them.
_PROBES = 6


def command(
    session: Path | None = None,
    *,
    source: str | None = None,
    studies: list[Path] | None = None,
    advice: bool = False,
    short: bool = False,
    every: Annotated[bool, Parameter(name="--all")] = False,
    markdown: Path | None = None,
    json: bool = False,
) -> None:
    """Say which published statements hold on this machine, which fail, and where they were wrong.

    Parameters
    ----------
    session
        Session file; the newest one of the sessions folder when left out.
    source
        Only what this study says, by its name or the beginning of its id: ``linux-ipc``, ``wzxue/code``, ``wzxue``.
    studies
        A folder of a study of your own, or of several; may be repeated. Those that STEELYARD_STUDIES names and those in
        the data folder (``~/.local/share/steelyard/studies``) are read without being named.
    advice
        Print what becomes of the advice that claims carry: still worth following here, done by the compiler, no longer
        true, or undecided.
    short
        Print a line for each claim that the session answers, without the evidence.
    every
        Also print the claims that the session does not answer, each with the reason.
    markdown
        With --advice: write it here, as a page in Markdown.
    json
        Print one object a claim, figures in base units (seconds, bytes, bytes per second).
    """
    library = lab_studies.library(studies or [])
    findings = judge_claims(sessions.read(session or sessions.latest()), library.claims)
    if source is not None:
        kept = tuple(finding for finding in findings.findings if finding.source.is_meant_by(source))
        if not kept:
            known = ", ".join(dict.fromkeys(finding.source.id for finding in findings.findings))
            raise UsageError(f'no claim is from "{source}"; there are those of {known}')
        findings = msgspec.structs.replace(findings, findings=kept)
    if markdown is not None and not advice:
        raise UsageError("--markdown writes a page of advice: give --advice with it")
    if advice:
        found = judge_advice(findings.findings)
        if markdown is not None:
            command = f"steelyard claims --advice{f' --source {source}' if source else ''} --markdown {markdown}"
            write(markdown, show_advice.markdown(findings, found, command))
        elif json:
            output.print_json(show_advice.as_json(found))
        else:
            show_advice.show(found, output.console(), findings.void)
    elif json:
        output.print_json(claims.as_json(findings))
    elif not every and not any(map(claims.decided_here, findings.findings)):
        raise NothingMeasuredError(_nothing(findings))
    elif short:
        claims.show_short(findings, output.console())
    else:
        claims.show(findings, output.console(), every=every)


def _nothing(findings: ClaimFindings) -> str:
    """That a session answers no claim, and what to measure."""
    probes = dict.fromkeys(
        operand.pattern.probe for finding in findings.findings for operand in finding.claim.test.operands
    )
    named = f" {' '.join(list(probes)[:_PROBES])}" if len(probes) <= _PROBES else ""
    return (
        f"{findings.path} answers none of these {len(findings.findings)} claims: `steelyard run{named}` measures what "
        "is asked, and --all says of each claim what it lacks"
    )
