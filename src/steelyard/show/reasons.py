# SPDX-License-Identifier: Apache-2.0
"""The sentences of what judge means: why there is no figure or verdict, and what makes one doubtful."""

from __future__ import annotations

import string
from typing import Any

import msgspec

from steelyard.judge.reasons import Reason, Said, Why
from steelyard.units import counted, format_change

#: A word behind a number is what it counts; `change` prints a ratio as one.
_SENTENCES = {
    Why.OF_ONE: "{subject}: {said}",
    Why.ALL: "{parts}",
    Why.COPIES_DIFFER: "two copies of one program differ by {ratio:change} over {n:block}",
    Why.PLANTED: "planted {planted:change}, measured {ratio:change} over {n:block}",
    Why.DRIFT: "from first to last its cost changed by {ratio:change}",
    Why.LEVELS_DRIFTED: "from first to last its cost changed by {ratio:change}; compare within blocks only",
    Why.NO_TIME: "a run of it took no time at all: its clock is wrong, or the file is",
    Why.VOID: "void: {reason}",
    Why.UNPINNED: "unpinned: a mixture of one CPU and several",
    Why.UNPINNED_ON_ONE: "unpinned, and yet on one CPU in all runs",
    Why.UNPINNED_ON_SEVERAL: "unpinned: a mixture of one CPU and several; {several} of {n} runs were on several",
    Why.SHAPES: "shape of its {n} runs: {shapes}",
    Why.SHAPES_UNSTEADY: "shape of its {n} runs: {shapes}; {unsteady:run} without a steady state: no number",
    Why.UNSTEADY: "no number, as most runs came to no steady state ({shapes}): give longer ones (--values, --target)",
    Why.FEW_RUNS: "{n:run}: at least 6 are needed for an interval at 95 %",
    Why.OVERHEAD_LARGER: "its overhead {baseline} measures larger than itself: do not subtract it here",
    Why.DISTURBED: "{disturbed} of {n} runs were disturbed, also when repeated",
    Why.FAILED_RUNS: "{failed} of {n} runs failed",
    Why.WITHOUT_KERNEL: "{counters}: {whose}, without the kernel",
    Why.NOT_COUNTED: "not counted: {what}",
    Why.COUNTED_BY_TURNS: "{counters}: counted by turns, some for {share:.0%} of the time, and scaled",
    Why.NO_CASE: "the session has no {case}",
    Why.NO_METRIC: "{case} has no metric {metric} in this session",
    Why.NO_OVERHEAD: "the overhead of {case} was not measured",
    Why.NEVER_HAPPENED: "{case} has no {metric}: what it is per never happened",
    Why.SEVERAL_CASES: "{case} stands for {n} cases of the session: {names} …",
    Why.OTHER_CASES: "the session has {n:other case} of its probe, the first {near}; what can be explained is {case}",
    Why.OTHER_CASES_PLACED: "the session has {n:other case} of its probe, the first {near}; what can be explained is "
    "{case}: `steelyard run {probe} --placement {placement}` measures it",
    Why.A_CHOICE_LEFT: "{case} leaves a choice at {parameter}={x} of the session",
    Why.IMPORTED: "imported from {tool}: its cases were not measured in common blocks",
    Why.RUN_FAILED: "{case} failed: {error}",
    Why.OTHER_UNIT: "{case} {metric} is in {unit!r}, and {wanted!r} is needed",
    Why.NOT_ABOVE_ZERO: "{case} can't be told from zero in every block: a ratio of it would say nothing",
    Why.NO_COMMON_BLOCK: "no block has both {of} and {over}",
    Why.NO_BLOCK_WITH_ALL: "no block has all that is needed",
    Why.FEW_POINTS: "{points} values of {parameter} from {smallest} in the session, and {needed} are needed: give more "
    "by --param {parameter}=…",
    Why.FEW_POINTS_WITHIN: "{points} values of {parameter} from {smallest} to {largest} in the session, and {needed} "
    "are needed: give more by --param {parameter}=…",
    Why.FEW_BLOCKS_AT_A_POINT: "a point has {n:block} and needs {needed}",
    Why.POINT_NOT_ABOVE_ZERO: "a point can't be told from zero: its growth would say nothing",
    Why.NO_ONE_FORM: "no one form can be told: more values of the parameter over a wider range, or a quieter machine, "
    "would help",
    Why.FORM_CHANGES: "the form changes when one block is left out: more blocks would help",
    Why.FEW_BLOCKS: "{n} blocks are too few for an interval: {needed} give the first",
    Why.NOT_IN_THE_FAMILY: "sure by itself, but not yet in a family of {edges} ends of ranges that are judged together",
    Why.ACROSS_AN_END: "the interval lies across an end of the range",
    Why.NOT_MEASURED: "{case} was not measured",
    Why.ONLY_IN: "only in {where}",
    Why.NOT_BOTH_HAVE: "not both have {metric}",
    Why.NO_BLOCK_OF_BOTH: "no block has {metric} of both",
    Why.NO_PARTNER: "{other} has no case with the same parameters",
    Why.NO_SENTINEL: "a session has no sentinel: the machine's own change cannot be divided out",
    Why.TWO_MACHINES: "the sessions are of two machines ({a}, {b}): the ratio is of machines as well as of cases",
    Why.MACHINES_OF_KEY: "{n} machines of key {key} ({about})",
    Why.WHATEVER_CHANGED: "whatever else changed on all machines between the two counts as a difference",
    Why.PROCESSES_UNKNOWN: "the file does not say what belongs to which process; values of one process share its "
    "memory layout and its luck, so {share:.0%} a process was allowed for: run it in several processes to know",
    Why.NOT_INTERLEAVED: "the sides were not interleaved: whatever the machine did between them counts as a difference",
    Why.OTHER_METRIC: "{n} sessions have another main metric and take no part in the changes",
    Why.VOID_SESSIONS: "{n} sessions are void and take no part in the changes",
    Why.FEW_SESSIONS: "{n} sessions: at least {needed} are needed to find a change",
    Why.ZERO_MEDIAN: "a median is zero: changes are found in positive figures only",
    Why.NOT_COMPLETE: "not complete",
    Why.FEW_MACHINES: "{n} machines of this kind are too few to call one unlike the others: it takes {needed}",
    Why.ONE_SESSION_EACH: "one session a machine: what was wrong on that day looks like the machine; measure it again",
    Why.NOT_ON_ONE_CPU: "makes no sense on one CPU",
    Why.NOT_PLACED_THERE: "is not measured there",
    Why.HAS_NOT: "{what}: {has}, not {wanted}",
    Why.NOT_BETWEEN_PROCESSES: "is not between processes",
    Why.NOT_BETWEEN_THREADS: "is not between threads",
    Why.NOT_OF_THIS_SIZE: "is not measured with messages of {size} bytes",
    Why.NOT_MEASURED_AT: "is not measured at {parameter}={value}",
    Why.OF_ANOTHER_MACHINE: "of machine {key}, and this is {here}",
    Why.NO_CURVE_OF_SWITCHES: "no switch by contexts on one CPU: `steelyard run switch/yield` measures it",
}


class _Sentence(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Reason):
            return said(value)
        if isinstance(value, tuple):
            return "; ".join(map(said, value))
        if format_spec == "change":
            return format_change(value)
        return (
            counted(value, format_spec)
            if format_spec.replace(" ", "").isalpha()
            else str(super().format_field(value, format_spec))
        )


def said(what: Said) -> str:
    """What is meant in words; a text is one already."""
    return what if isinstance(what, str) else _Sentence().format(_SENTENCES[what.why], **what.facts)


def said_if(what: Said | None) -> str | None:
    """The same, or None of nothing."""
    return None if what is None else said(what)


def builtins(value: Any) -> Any:
    """Records as objects for programs, with a sentence for each reason."""
    return msgspec.to_builtins(value, enc_hook=said)
