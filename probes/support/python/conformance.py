#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conformance - what tests/protocol/test_conformance.py holds every support to; in each language the same.

Known answer: the sum of the numbers below `operations`.  `trouble` plants what a support has to find.
"""

import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "probes", "support", "python"))

from probe import Choice, Integer, Metric, Probe, fail, main, skip


class Conformance(Probe):
    title = "conformance"
    family = "supports"
    question = "Does the support of this language keep the protocol?"
    operation = "one addition"
    source = "docs/reference/protocol.md"
    statistic = "median"
    placements = ("same", "cross", "free")
    uses = ("cpu",)
    value_ms = 5
    baseline = "null/null"
    metrics = (
        Metric("one", "s", "lower", "wall", "operations", "time of one addition"),
        Metric("half", "1", "neither", "half", "one", 'half of what was given as "number"'),
    )
    parameters = (
        Integer("number", "a number", "B", (3, 4), -2, 9, (4,), ("half",)),
        Choice(
            "trouble",
            "what goes wrong",
            (
                *("none", "more", "caveat", "wrong", "unproven", "unstarted", "idle", "fewer"),
                *("slow", "breaks", "fails", "skips"),
            ),
            ("none",),
            ("none",),
        ),
    )
    batches = 0

    def batch(self, operations, value):
        # The selftest takes no parameters.
        trouble = os.environ.get("CONFORMANCE_TROUBLE", self.given["trouble"])
        done = {"more": 2 * operations, "fewer": operations - 1, "idle": 0}.get(trouble, operations)
        if trouble == "slow":
            time.sleep(0.1)
        if trouble == "breaks":
            raise RuntimeError("it went wrong")
        if trouble == "fails":
            fail("it went wrong")
        if trouble == "skips":
            skip("there is no such thing")
        if trouble == "caveat":
            self.caveat('a "doubt" of 1')
        total = 0
        if trouble != "unstarted":
            value.start()
        for number in range(done):
            total += number
        if trouble != "unstarted":
            value.stop()
        value.operations = done
        value.lanes = 2
        checked = done if total == done * (done - 1) // 2 else 0
        if trouble != "unproven":
            value.counts["checked"] = checked - 1 if trouble == "wrong" else checked
        self.batches += 1
        value.counts["batches"] = self.batches
        value.readings["half"] = self.given["number"] / 2


main(Conformance)
