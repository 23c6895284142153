# SPDX-License-Identifier: Apache-2.0
"""The report as one page: everything inline, nothing loaded, nothing evaluated, nothing of a session executed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

import vl_convert

from steelyard.judge import rules
from steelyard.judge.answers import WORTH_A_SCREEN
from steelyard.judge.replication import Replication
from steelyard.judge.report import Judged, Report
from steelyard.judge.simulation import Simulated
from steelyard.limits import V8_BYTES, require_addresses
from steelyard.show import naming, void
from steelyard.show.page import (
    answers,
    claims,
    comparing,
    doubts,
    explained,
    method,
    results,
    simulation,
    studies,
    study,
)
from steelyard.show.page.document import Part, document, sections
from steelyard.show.page.markup import Markup, definitions, fold, joined, tag

#: Signs of a command in the head of the page.
_LONGEST_COMMAND = 160
_ASSETS = resources.files("steelyard.show.page")


@cache
def _script() -> Markup:
    """Vega with all it needs and the page's own script, once for all figures."""
    bundle = vl_convert.javascript_bundle(snippet=(_ASSETS / "script.js").read_text())
    return Markup(bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def page(report: Report, outcomes: tuple[rules.RuleOutcome, ...]) -> str:
    """The whole page; ``outcomes`` is what its check against the rules gave. Raises OutOfMemoryError as charts do."""
    return _document(_title(report), *_body(report, outcomes))


def study_page(found: Sequence[Replication]) -> str:
    """Studies that were run again, as one page."""
    several = len(found) > 1
    parts = [
        Part(name, f"{one.source.name}: {title}" if several else title, contents)
        for one in found
        for name, title, contents in study.parts(one)
    ]
    header = joined(piece for one in found for piece in study.head(one))
    footer = f"Made by Steelyard from {found[0].session.path}."
    title = f"Steelyard: {', '.join(one.source.name for one in found)}"
    return _document(title, *sections(header, parts, footer))


def simulation_page(found: Sequence[Simulated], typed: str) -> str:
    """Loads under several schedulers, as one page; ``typed`` is the command that made it."""
    names = [f"load-{number}" for number in range(len(found))]
    parts = [Part(name, one.title, simulation.load(one, name)) for name, one in zip(names, found, strict=True)]
    footer = f"Made by Steelyard from {', '.join(one.load for one in found)}."
    return _document("Steelyard: simulated schedulers", *sections(joined(simulation.head(found, typed)), parts, footer))


def _document(title: str, *body: Markup) -> str:
    """A page that draws its figures itself."""
    require_addresses(V8_BYTES, "the page")
    return document(title, *body, tag("div", id="tip", role="presentation"), script=_script())


def _title(report: Report) -> str:
    first = report.sessions[0].findings
    return f"Steelyard: {first.machine.get('cpu', 'a machine')}, {first.started[:10]}"


def _body(report: Report, outcomes: tuple[rules.RuleOutcome, ...]) -> list[Markup]:
    several = len(report.sessions) > 1
    parts = [Part("comparison", "Compared", comparing.comparisons(report))] if several else []
    for number, judged in enumerate(report.sessions):
        own = _session_parts(judged)
        if number == 0 and _answered(judged):
            # The first screenful is that of the answers.
            own[0] = Part(own[0].name, own[0].title, joined([own[0].contents, _facts(report)]))
        if number == 0:
            parts += own
        else:
            inside = [tag("section", tag("h3", part.title), part.contents, id=part.name) for part in own]
            title = naming.capital(judged.label)
            parts.append(Part(f"session-{number}", title, fold(f"All of {judged.label}, {_when(judged)}", *inside)))
    parts += [
        Part("error-rates", "How often we are wrong", method.error_rates(report)),
        Part("rules", "Twelve rules", method.self_check(outcomes)),
        Part("repeat", "How to repeat it", _repeat(report)),
    ]
    footer = (
        f"Made by Steelyard {report.sessions[0].setup.versions.get('steelyard', '')} from "
        f"{', '.join(judged.findings.path for judged in report.sessions)}."
    )
    return sections(joined(_head(report)), parts, footer)


def _session_parts(judged: Judged) -> list[Part]:
    prefix = judged.prefix
    return [
        *(
            [Part(f"{prefix}answers", "In short", answers.answers(judged.answers, judged.picture))]
            if _answered(judged)
            else []
        ),
        Part(f"{prefix}prices", "The price list", results.prices(judged)),
        *(Part(name, title.capitalize(), contents) for name, title, contents in results.questions(judged)),
        *(
            [Part(f"{prefix}made-of", "What costs are made of", explained.explained(judged.explanations))]
            if explained.whole(judged.explanations)
            else []
        ),
        Part(
            f"{prefix}claims",
            "What others say",
            joined([claims.claims(judged.claims), studies.studies(judged.findings.tables, judged.studies)]),
        ),
        Part(f"{prefix}doubts", "Doubts", doubts.doubts(judged.findings)),
    ]


def _answered(judged: Judged) -> bool:
    return judged.answers.prices >= WORTH_A_SCREEN and not judged.findings.void


def _of(judged: Judged) -> str:
    return f"{naming.capital(judged.label)}, {_when(judged)}"


def _when(judged: Judged) -> str:
    return judged.findings.started[:16].replace("T", " ")


def _repeat(report: Report) -> Markup:
    if len(report.sessions) == 1:
        return method.repeat(report.sessions[0], report)
    return joined(
        piece for judged in report.sessions for piece in (tag("h3", _of(judged)), method.repeat(judged, report))
    )


# --- the head ---------------------------------------------------------------------------------------------------------


def _head(report: Report) -> list[Markup]:
    first = report.sessions[0]
    voids = [note for judged in report.sessions for note in void.note(judged.findings.void, judged.label)]
    return [
        tag("p", "Steelyard", class_="mark"),
        tag("h1", first.findings.machine.get("cpu", "a machine")),
        tag("p", _lede(report), class_="lede"),
        *voids,
        *([] if _answered(first) else [_facts(report)]),
    ]


def _lede(report: Report) -> str:
    findings = report.sessions[0].findings
    shown = [case for case in findings.cases if not case.control]
    mechanisms = len({case.probe for case in shown})
    words = (
        f"What {mechanisms} mechanisms cost on this machine, in {len(shown)} cases, measured "
        f"{_when(report.sessions[0])} UTC in {findings.blocks} blocks of fresh processes in random order."
    )
    others = [judged.label for judged in report.sessions[1:]]
    if others:
        words += f" It is session A; {' and '.join(others)} {'stands' if len(others) == 1 else 'stand'} beside it."
    return words


def _facts(report: Report) -> Markup:
    first = report.sessions[0]
    findings = first.findings
    machine, environment = findings.machine, findings.environment
    virtual = ", a virtual machine" if machine.get("hypervisor") == "yes" else ""
    facts = [
        (
            "Machine",
            f"{machine.get('logical cpus', '?')} CPUs, {machine.get('memory', '? GiB')}, "
            f"kernel {environment.get('kernel', '?')}{virtual}; machine key {findings.machine_key}",
        ),
        ("Asked", tag("code", _cut(first.setup.command))),
        ("How sure", _sure(first)),
        *((_of(judged), tag("code", judged.setup.command)) for judged in report.sessions[1:]),
    ]
    return definitions(facts, "facts")


def _cut(command: str) -> str:
    """A command that fits into two lines; how to repeat the session says it whole."""
    return command if len(command) <= _LONGEST_COMMAND else f"{command[:_LONGEST_COMMAND]} …"


def _sure(judged: Judged) -> str:
    findings = judged.findings
    shown = [case for case in findings.cases if not case.control]
    bounded = sum(case.main.low is not None for case in shown)
    states = ", ".join(f"{control.name} {control.state}" for control in findings.controls)
    unfinished = "" if findings.complete else "The session is not complete. "
    return (
        f"{unfinished}{bounded} of {len(shown)} figures have a 95 % interval; "
        f"{findings.disturbed_runs} of {findings.runs} runs were disturbed. Controls: {states or 'none'}."
    )
