# SPDX-License-Identifier: Apache-2.0
"""How sure one may be, and how to do it again: error rates, the twelve rules, setup and methods."""

from __future__ import annotations

from steelyard.judge import rules
from steelyard.judge.report import Judged, Report
from steelyard.judge.setup import Technique
from steelyard.show import proof
from steelyard.show.page.markup import Markup, definitions, fold, joined, named, table, tag
from steelyard.units import format_duration, format_quantity

_ORDERS = {
    "shuffled blocks": "every block runs each case once, in a fresh process, one at a time, in an order drawn anew "
    "from the seed",
    "imported": "imported from another tool: its runs were in no blocks",
}
_OF_ORDER_STATISTICS = "Interval: two order statistics of the sample, exact for any distribution; from 6 runs on."
_METHODS = {
    "cost": "median of the runs' numbers, one number a process; a run's number is the lower quartile of its values "
    f"where the cost is pure CPU time, else their median. {_OF_ORDER_STATISTICS}",
    "rate": f"median of the runs' rates, which is the rate of the median run. {_OF_ORDER_STATISTICS}",
    "count": f"median of the runs' counts or shares, each a total divided by a total. {_OF_ORDER_STATISTICS}",
    "ratio": "of one case to itself in another session, divided by what the sentinel changed; never averaged over "
    "cases. Interval: of both medians and of both sentinels, widened for what differs between sessions of one program.",
}


def error_rates(report: Report) -> Markup:
    """The measured error rates: ours in the open, those of others' rules folded."""
    (title, head, rows), *others = proof.sections(report.proof)
    ours = [row for row in rows if row[0].startswith("steelyard")]
    return joined(
        [
            tag(
                "p",
                "How often the verdicts are wrong was measured on synthetic noise whose truth is known; ",
                tag("code", f"steelyard prove --seed {report.proof.seed}"),
                " gives the same tables.",
            ),
            tag("div", table(head, ours, numbers_from=2, caption=title)),
            fold("Beside the rules that other tools ship", table(head, rows, numbers_from=2, caption=title)),
            *(fold(name, table(heads, body, numbers_from=2, caption=name)) for name, heads, body in others),
            fold("What was assumed", tag("p", proof.ASSUMPTIONS)),
        ]
    )


def self_check(outcomes: tuple[rules.RuleOutcome, ...]) -> Markup:
    """The report against the rules of scientific benchmarking."""
    kept = sum(not outcome.broken for outcome in outcomes)
    rows = [
        (
            f"{outcome.number}. {outcome.asks}",
            tag(
                "span",
                "✗ not kept" if outcome.broken else "✓ kept",
                class_=f"verdict {'broken' if outcome.broken else 'kept'}",
            ),
            joined(tag("div", line) for line in outcome.broken) if outcome.broken else outcome.kept_by,
        )
        for outcome in outcomes
    ]
    return joined(
        [
            tag("p", f"This page was held against twelve rules for reporting performance: {kept} of {len(rows)} kept."),
            tag("div", table(("rule", "state", "how, or where not"), rows), class_="prose"),
            tag("p", f"The rules are those of {rules.SOURCE}.", class_="soft"),
        ]
    )


def repeat(judged: Judged, report: Report) -> Markup:
    """The command, what it ran with, and how figures were made of what it measured."""
    setup, findings = judged.setup, judged.findings
    return joined(
        [
            tag("pre", setup.command, tabindex="0"),
            definitions(
                [
                    ("seed", str(setup.seed)),
                    ("blocks", f"{setup.blocks}; {_ORDERS[setup.order]}"),
                    ("values", f"at least {setup.values} a run, each of about {format_quantity(setup.target_s, 's')}"),
                    ("versions", ", ".join(f"{name} {version}" for name, version in setup.versions.items())),
                    *([("took", format_duration(findings.wall_s))] if findings.wall_s else []),
                    ("session file", findings.path),
                ]
            ),
            fold(
                "The machine and its settings", definitions([*findings.machine.items(), *findings.environment.items()])
            ),
            fold(
                "How figures were made",
                definitions((method.of, _METHODS[method.of]) for method in report.methods),
            ),
            fold(
                f"What was timed: {len(setup.techniques)} mechanisms",
                tag("div", table(_TECHNIQUE, (_technique(one) for one in setup.techniques)), class_="prose"),
            ),
        ]
    )


_TECHNIQUE = ("mechanism", "one operation", "a run's number", "varied", "compiled by", "source")


def _technique(technique: Technique) -> tuple[str, ...]:
    levels = [f"{name}: {', '.join(map(str, values))}" for name, values in technique.factors.items() if values]
    return (
        named(technique.title, technique.probe),
        technique.operation,
        technique.statistic,
        "; ".join([*levels, f"placement: {', '.join(technique.placements)}"]),
        "; ".join(technique.compilers),
        technique.source,
    )
