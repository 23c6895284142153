# SPDX-License-Identifier: Apache-2.0
"""How often identical programs are called different on this machine, and how often a planted 5 % is found.

Each comparison runs every pinned case twice per block, as two variants that differ in nothing, and judges all as one
family; the planted difference is the one that every session carries among its controls.

    .venv/bin/python -m benchmarks.live_aa
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from steelyard.judge.comparisons import compare_cases
from steelyard.judge.proving import binomial_bound
from steelyard.lab.compare import measure_pairs
from steelyard.lab.session import Lab
from steelyard.measure import plan
from steelyard.records import Case, Variant
from steelyard.settings import Settings

#: A run of one of these takes as long as a block of all others.
_LARGEST_CONTEXTS = 64
_LARGEST_RESIDENT_MIB = 0


def pinned(lab: Lab) -> list[Case]:
    """Every case on one CPU whose setup is short."""
    return [
        case
        for case in lab.select(["call/*", "create/*", "switch/*", "lock/mutex", "lock/handoff"], [], ["same"])
        if int(case.parameters.get("contexts", 0)) <= _LARGEST_CONTEXTS
        and int(case.parameters.get("resident_mib", 0)) <= _LARGEST_RESIDENT_MIB
    ]


def main() -> int:
    """Run the comparisons and print what they found; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--target", default="2ms")
    parser.add_argument("--values", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lab = Lab()
    chosen = pinned(lab)
    variants = [Variant(label=label) for label in ("a", "b")]
    both = {
        case.name: [msgspec.structs.replace(case, variant=variant.label) for variant in variants] for case in chosen
    }
    pairs = [(name, a.name, b.name) for name, (a, b) in both.items()]
    null = plan.controls()
    planted = [("planted", null[0].name, null[2].name)]
    flagged: Counter[str] = Counter()
    families = alone = found = void = compared = 0
    for number in range(options.comparisons):
        settings = Settings(blocks=options.blocks, target=options.target, values=options.values)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "aa.session.jsonl"
            cases = [case for sides in both.values() for case in sides]
            session, result = measure_pairs(lab, cases, variants, pairs, ("a", "b"), settings, 0.0, path)
            single = [compare_cases(session, [pair], ("a", "b"), margin=0.0).cases for pair in pairs]
            control = compare_cases(session, planted, ("0", "5"), margin=0.0).cases
        different = [case.case for case in result.cases if case.verdict == "different"]
        flagged.update(different)
        families += bool(different)
        alone += sum(case.verdict == "different" for cases in single for case in cases)
        compared += sum(len(cases) for cases in single)
        found += any(case.verdict == "different" and case.worse for case in control)
        void += result.void is not None
        print(f"{number + 1} of {options.comparisons}: {different or 'none different'}", file=sys.stderr)
    report = {
        "comparisons": options.comparisons,
        "cases": len(chosen),
        "blocks": options.blocks,
        "families with a false positive": families,
        "cases compared one by one": compared,
        "false positives one by one": alone,
        "their 95 % bound": binomial_bound(alone, compared),
        "planted 5 % found": found,
        "void": void,
        "flagged": dict(flagged),
    }
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        for name, value in report.items():
            print(f"{name}: {value:.2%}" if isinstance(value, float) else f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
