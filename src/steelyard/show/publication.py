# SPDX-License-Identifier: Apache-2.0
"""What of a session is published, shown before it is written."""

from __future__ import annotations

from steelyard.judge.gallery import probe_of
from steelyard.judge.publication import Prepared
from steelyard.records import Publication
from steelyard.show.console import Console, grid, headed, words
from steelyard.show.doubts import listed
from steelyard.units import counted

_WIDTH = 22


def show(prepared: Prepared, console: Console) -> None:
    """Every field of the file, then what is left out."""
    of = prepared.publication
    console.print(words(("what is published", "bold")))
    console.print(headed(_fields(of), _WIDTH))
    console.print()
    table = grid(["mechanism", "cases", "metrics", "compiler or runtime, and flags"], ["cases", "metrics"])
    for probe in of.probes:
        cases = [case for case in of.cases if probe_of(case.case) == probe.probe]
        built = dict.fromkeys(f"{case.compiler} {case.flags}".strip() for case in cases)
        table.add_row(probe.probe, str(len(cases)), str(len(probe.metrics)), "; ".join(built))
    console.print(table)
    console.print(
        "of each mechanism also its title, what one operation is and the SHA-256 of its program; of each case the "
        "median, the interval and the number of runs of each metric",
        style="dim",
        soft_wrap=True,
    )
    console.print()
    listed(console, "what is left out", left_out(prepared))


def _fields(of: Publication) -> list[tuple[str, str]]:
    controls = "; ".join(f"{control.name} {control.state}" for control in of.controls)
    said = {
        "measured on": of.date,
        "Steelyard": of.steelyard,
        "seed": str(of.seed),
        "blocks": str(of.blocks),
        "runs": f"{of.runs}, of which {of.disturbed_runs} disturbed",
        "hired as": of.instance,
        "USD an hour": "" if of.usd_an_hour is None else f"{of.usd_an_hour:g}",
        **of.facts,
        "controls": controls,
        "digest": of.digest,
    }
    return [(name, text) for name, text in said.items() if text]


def left_out(prepared: Prepared) -> list[str]:
    """What of the session is not published, beside what never is."""
    always = "the command, the moment, values and runs one by one, caveats, disturbances, names of processes and paths"
    facts = f"all of these facts, or a part: {', '.join(prepared.unlisted)}" if prepared.unlisted else ""
    number = len(prepared.strangers)
    cases = ", ".join(prepared.strangers[:3]) + (" …" if number > 3 else "")
    strangers = f"{counted(number, 'case')} not of probes as they come with this Steelyard: {cases}" if number else ""
    return [said for said in (always, facts, strangers) if said]


def summary(of: Publication) -> str:
    """What a file holds, in few words."""
    return f"{counted(len(of.cases), 'case')} of {counted(len(of.probes), 'mechanism')}, {len(of.text.encode())} bytes"
